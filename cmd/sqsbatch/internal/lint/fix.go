package lint

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/sqsbatch/sqsbatch/cmd/sqsbatch/internal/rules"
)

// notFixed begins the note on a file that --fix left alone.
const notFixed = "not fixed: "

// fixAll writes the fixes of a file's findings, and checks it again. It leaves the file
// alone, with a note, if that is not safe.
func (o *options) fixAll(f *file) {
	if _, fixable := o.nextFix(f, nil); f.err != nil || !fixable {
		return
	}
	if f.generated {
		f.notes = append(f.notes, notFixed+"a tool wrote this file and will write it anew; change its source")
		return
	}
	if f.device {
		f.notes = append(f.notes, notFixed+"it is not a regular file; name the file itself")
		return
	}
	before, result := f.src, f.judged
	refused := map[string]bool{}
	for range 10 * len(result.Findings) { // a fix may show the next finding, but not without end
		x, ok := o.nextFix(f, refused)
		if !ok {
			break
		}
		if !o.fixOne(f, x) {
			refused[key(x)] = true
		}
	}
	if bytes.Equal(before, f.src) {
		return
	}
	o.writing.Lock()
	defer o.writing.Unlock()
	if err := replace(f.path, before, f.src); err != nil {
		f.src, f.judged, f.fixed = before, result, nil
		f.err = fmt.Errorf("--fix cannot write %s: %w", f.path, err)
	}
}

// nextFix is the first finding with a fix that is not refused.
func (o *options) nextFix(f *file, refused map[string]bool) (rules.Finding, bool) {
	for _, x := range f.Findings {
		if x.Fix != nil && o.counts(x) && !refused[key(x)] {
			return x, true
		}
	}
	return rules.Finding{}, false
}

// key names a finding, wherever its lines move to.
func key(x rules.Finding) string { return x.ID + " " + x.Resource + " " + x.Message }

// fixOne changes the text by the fix of a finding. It changes nothing and returns false
// unless the finding is gone afterwards and there is no other error in its place.
func (o *options) fixOne(f *file, x rules.Finding) bool {
	src, err := x.Fix.Apply(f.src)
	if err != nil {
		return false
	}
	t, err := parse(f.path, src)
	if err != nil {
		return false
	}
	said, err := apply(t, f.options())
	result := o.judge(f.path, said)
	like := func(other rules.Finding) bool { return other.ID == x.ID && other.Resource == x.Resource } // the message may have a value
	isError := func(other rules.Finding) bool { return other.Severity == rules.Error }
	if err != nil || number(result.Result, like) >= number(f.Result, like) || number(result.Result, isError) > number(f.Result, isError) || len(result.Unknown) > len(f.Unknown) {
		return false
	}
	f.src, f.judged = src, result
	f.fixed = append(f.fixed, x)
	return true
}

// number is how many findings are of a kind.
func number(r rules.Result, is func(rules.Finding) bool) (n int) {
	for _, x := range r.Findings {
		if is(x) {
			n++
		}
	}
	return n
}

// replace writes a file as a whole or not at all, and keeps its mode. A symbolic link
// stays one. It changes nothing if the file is no longer what it was.
func replace(path string, before, after []byte) (err error) {
	path, err = filepath.EvalSymlinks(path)
	if err != nil {
		return err
	}
	info, err := os.Stat(path)
	if err != nil {
		return err
	}
	now, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	if !bytes.Equal(now, before) {
		return errors.New("it was changed meanwhile")
	}
	if info.Mode().Perm()&0o200 == 0 {
		return os.ErrPermission // to replace it would be allowed
	}
	temporary, err := os.CreateTemp(filepath.Dir(path), ".sqsbatch-*")
	if err != nil {
		return err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, os.Remove(temporary.Name()))
		}
	}()
	_, err = temporary.Write(after)
	if err == nil {
		err = temporary.Chmod(info.Mode().Perm())
	}
	if err == nil {
		err = temporary.Sync()
	}
	if err = errors.Join(err, temporary.Close()); err != nil {
		return err
	}
	return os.Rename(temporary.Name(), path)
}
