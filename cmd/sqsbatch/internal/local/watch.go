package local

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/fsnotify/fsnotify"
)

const (
	// quiet is how long the files are left alone before a build, since editors write several, and
	// longestWait how long a build waits for that.
	quiet       = 200 * time.Millisecond
	longestWait = 2 * time.Second
)

// A watcher builds the function when a file of its packages changes.
type watcher struct {
	*stack
	say     func(line string)
	files   *fsnotify.Watcher
	dirs    []string // with the files that matter
	builds  int
	rebuilt chan string // the path of the program, which replaces one that was not taken
}

// newWatcher watches the folders of the function's packages in this module and in local modules.
func (s *stack) newWatcher(say func(string)) (*watcher, error) {
	files, err := fsnotify.NewWatcher()
	if err != nil {
		return nil, fmt.Errorf("--watch: %w", err)
	}
	w := &watcher{stack: s, say: say, files: files, rebuilt: make(chan string, 1)}
	if err := w.follow(); err != nil {
		_ = files.Close()
		return nil, err
	}
	return w, nil
}

// follow watches the folders that the package has now, and the folders that have these: one that
// is deleted and created again, as by git checkout, is watched again.
func (w *watcher) follow() error {
	w.dirs = slices.Clone(w.pkg.Dirs)
	if path := w.template.Path; path != "" {
		w.dirs = append(w.dirs, filepath.Dir(path))
	}
	for _, dir := range w.dirs {
		if err := w.files.Add(dir); err != nil {
			return fmt.Errorf("--watch: %s: %w", dir, err)
		}
		if err := w.files.Add(filepath.Dir(dir)); err != nil && !errors.Is(err, fs.ErrPermission) {
			return fmt.Errorf("--watch: %s: %w", filepath.Dir(dir), err)
		}
	}
	return nil
}

// watch builds after changes until ctx ends.
func (w *watcher) watch(ctx context.Context) {
	defer w.files.Close()
	for ctx.Err() == nil {
		var source, template bool
		select {
		case e := <-w.files.Events:
			source, template = w.changes(ctx, e)
		case err := <-w.files.Errors:
			w.say("--watch: " + err.Error())
		case <-ctx.Done():
		}
		if template {
			w.say(w.template.Path + " has changed: start the command again to use its settings")
		}
		if source {
			w.build(ctx)
		}
	}
}

// changes waits until the files are left alone, and says what has changed.
func (w *watcher) changes(ctx context.Context, e fsnotify.Event) (source, template bool) {
	end := time.After(longestWait)
	for {
		if e.Op != fsnotify.Chmod {
			source, template = source || w.isSource(e.Name), template || w.isTemplate(e.Name)
		}
		if !source && !template {
			return false, false
		}
		select {
		case e = <-w.files.Events:
		case <-time.After(quiet):
			return source, template
		case <-end:
			return source, template
		case <-ctx.Done():
			return false, false
		}
	}
}

// isSource reports whether a file is a part of the program. The program, and others, may write other
// files into the same folders.
func (w *watcher) isSource(path string) bool {
	if slices.Contains(w.dirs, path) { // deleted, or created again
		_ = w.files.Add(path) // it fails if the folder was deleted
		return true
	}
	if !slices.Contains(w.dirs, filepath.Dir(path)) {
		return false
	}
	switch name := filepath.Base(path); filepath.Ext(name) {
	case ".go":
		return !strings.HasSuffix(name, "_test.go") && !strings.HasPrefix(name, ".") && !strings.HasPrefix(name, "_")
	case ".mod", ".sum", ".work", ".s", ".S", ".c", ".h", ".cc", ".cpp", ".cxx", ".hh", ".hpp":
		return true
	}
	if slices.Contains(w.pkg.Embedded, path) {
		return true
	}
	// A new file may be embedded, in a folder that has embedded files only.
	dir := filepath.Dir(path)
	embeds := slices.ContainsFunc(w.pkg.Embedded, func(file string) bool { return filepath.Dir(file) == dir })
	code, _ := filepath.Glob(filepath.Join(dir, "*.go")) // the pattern is right
	return embeds && len(code) == 0
}

func (w *watcher) isTemplate(path string) bool {
	a, err := os.Stat(path)
	b, errTemplate := os.Stat(w.template.Path)
	return err == nil && errTemplate == nil && os.SameFile(a, b)
}

func (w *watcher) build(ctx context.Context) {
	w.say("building " + w.pkgName)
	pkg, err := w.builder.Find(ctx, w.pkgName)
	if err == nil {
		w.pkg = pkg
		err = w.follow()
	}
	binary := ""
	if err == nil {
		w.builds++
		binary, err = w.builder.Build(ctx, pkg, filepath.Join(w.dir, strconv.Itoa(w.builds)))
	}
	if ctx.Err() != nil {
		return
	}
	if err != nil {
		w.say(err.Error() + "\nit is built again after the next change")
		return
	}
	select {
	case old := <-w.rebuilt: // was not taken
		w.discard(old)
	default:
	}
	w.rebuilt <- binary
}

// run runs the function until ctx ends, and starts it anew after each build, once the records in
// flight are finished. If it cannot start, it waits for the next build.
func (w *watcher) run(ctx, kill context.Context, run func(ctx, kill context.Context) error) error {
	watching, stop := context.WithCancel(ctx)
	var watch sync.WaitGroup
	watch.Go(func() { w.watch(watching) })
	defer watch.Wait()
	defer stop()
	for {
		binary, err := w.runOnce(ctx, kill, run)
		if ctx.Err() != nil {
			return err
		}
		switch {
		case binary == "":
			w.say(fmt.Sprintf("%v\nit starts again after the next change", err))
			select {
			case binary = <-w.rebuilt:
			case <-ctx.Done():
				return nil
			}
		case err != nil:
			w.say(err.Error())
		}
		old := w.binary
		w.binary = binary
		if w.deploy != nil {
			if err := w.deploy(); err != nil {
				return err
			}
		}
		w.discard(old)
		w.say("the new build takes over")
	}
}

// runOnce runs the function until the next build, whose program it returns. It returns "" if the
// function ends before. A build with the same program is none.
func (w *watcher) runOnce(ctx, kill context.Context, run func(ctx, kill context.Context) error) (binary string, err error) {
	ctx, stop := context.WithCancel(ctx)
	var next sync.WaitGroup
	next.Go(func() {
		for binary == "" {
			select {
			case binary = <-w.rebuilt:
			case <-ctx.Done():
				return
			}
			if same(binary, w.binary) {
				w.say("nothing has changed in the program")
				w.discard(binary)
				binary = ""
			}
		}
		w.say("the build is ready: records in flight are finished first")
		stop()
	})
	err = run(ctx, kill)
	stop()
	next.Wait()
	return binary, err
}

// discard removes the folder of a program that this watcher built.
func (w *watcher) discard(binary string) {
	if dir := filepath.Dir(binary); filepath.Dir(dir) == w.dir {
		_ = os.RemoveAll(dir)
	}
}

// same reports whether two files have the same content.
func same(a, b string) bool {
	x, err := os.ReadFile(a)
	y, errB := os.ReadFile(b)
	return err == nil && errB == nil && bytes.Equal(x, y)
}
