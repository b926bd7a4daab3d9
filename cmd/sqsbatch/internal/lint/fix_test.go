package lint

import (
	"bytes"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/sqsbatch/sqsbatch/cmd/sqsbatch/internal/golden"
	"github.com/sqsbatch/sqsbatch/cmd/sqsbatch/internal/rules"
	"github.com/sqsbatch/sqsbatch/cmd/sqsbatch/internal/samconfig"
	"github.com/sqsbatch/sqsbatch/cmd/sqsbatch/internal/template"
	"github.com/sqsbatch/sqsbatch/test/docpage"
)

const fewAttempts = `Resources:
  Q: {Type: AWS::SQS::Queue, Properties: {RedrivePolicy: {deadLetterTargetArn: !GetAtt D.Arn, maxReceiveCount: 2}}}
  D: {Type: AWS::SQS::Queue, Properties: {MessageRetentionPeriod: 1209600}}
`

// fixing checks a file in which only SB202 has a fix: it replaces old by new.
func fixing(t *testing.T, o *options, path, text, old, new string) *file {
	t.Helper()
	golden.OK(t, os.WriteFile(path, []byte(text), 0o640))
	f := o.check(input{path: path})
	at := strings.Index(text, old)
	for i := range f.Findings {
		x := &f.Findings[i]
		x.Fix = nil
		if x.ID == "SB202" {
			x.Fix = &rules.Fix{Says: "says", Edit: template.Edit{Start: at, End: at + len(old), New: new}}
		}
	}
	if f.err != nil || !few(f) {
		t.Fatal(f.err, f.Findings)
	}
	return f
}

// few says whether SB202 is found.
func few(f *file) bool {
	return slices.ContainsFunc(f.Findings, func(x rules.Finding) bool { return x.ID == "SB202" })
}

func defaults() *options {
	return &options{severity: "warning", configEnv: samconfig.DefaultEnv, used: map[string]bool{}}
}

// A fix is written if its finding is gone afterwards, and never otherwise.
func TestFix_IsProven(t *testing.T) {
	for name, tt := range map[string]struct {
		old, new string
		written  bool
	}{
		"it fixes":            {"maxReceiveCount: 2", "maxReceiveCount: 5", true},
		"it changes nothing":  {"maxReceiveCount: 2", "maxReceiveCount: 2", false},
		"it is of no use":     {"maxReceiveCount: 2", "maxReceiveCount: 3", false},
		"it breaks the text":  {"maxReceiveCount: 2", "maxReceiveCount: }", false},
		"it hides the reason": {"maxReceiveCount: 2", "maxReceiveCount: !ImportValue x", false},
		"it adds an error":    {"Type: AWS::SQS::Queue, Properties: {Redrive", "Type: AWS::SQS::Queue, Properties: {FifoQueue: true, Redrive", false},
	} {
		o, path := defaults(), filepath.Join(t.TempDir(), "t.yaml")
		f := fixing(t, o, path, fewAttempts, tt.old, tt.new)
		o.fixAll(f)
		want := fewAttempts
		if tt.written {
			want = strings.Replace(fewAttempts, tt.old, tt.new, 1)
		}
		got := docpage.Read(t, path)
		if f.err != nil || got != want || len(f.fixed) > 0 != tt.written || few(f) == tt.written {
			t.Errorf("%s: %v, %d fixed, %d left\n%s", name, f.err, len(f.fixed), len(f.Findings), got)
		}
	}
}

// What the command must not change, it leaves alone, and says so. A finding that is not shown
// is not fixed.
func TestFix_LeavesFilesAlone(t *testing.T) {
	const generated = "not fixed: a tool wrote this file and will write it anew; change its source"
	dir := golden.Files(t, map[string]string{"cdk.out/cdk.out": ""})
	for _, tt := range []struct {
		path, severity string
		notes          []string
	}{
		{"shop.template.json", "warning", []string{generated}},
		{"cdk.out/t.yaml", "warning", []string{generated}},
		{"t.yaml", "error", nil},
	} {
		o, path := defaults(), filepath.Join(dir, filepath.FromSlash(tt.path))
		f := fixing(t, o, path, fewAttempts, "maxReceiveCount: 2", "maxReceiveCount: 5")
		o.severity, f.generated = tt.severity, isGenerated(path)
		o.fixAll(f)
		if got := docpage.Read(t, path); got != fewAttempts || len(f.fixed) > 0 || !slices.Equal(f.notes, tt.notes) {
			t.Errorf("%s: %d fixed, notes %q\n%s", tt.path, len(f.fixed), f.notes, got)
		}
	}
}

// The file keeps its mode, and a link stays a link. Nothing is left next to it.
func TestFix_ReplacesTheFile(t *testing.T) {
	dir := t.TempDir()
	path, link := filepath.Join(dir, "t.yaml"), filepath.Join(dir, "link.yaml")
	o := defaults()
	f := fixing(t, o, path, fewAttempts, "maxReceiveCount: 2", "maxReceiveCount: 5")
	if runtime.GOOS != "windows" { // which has neither modes nor links for everyone
		golden.OK(t, os.Symlink("t.yaml", link))
		f.path = link
	}
	if o.fixAll(f); f.err != nil || len(f.fixed) != 1 {
		t.Fatal(f.err, f.fixed)
	}
	entries, err := os.ReadDir(dir)
	golden.OK(t, err)
	for _, e := range entries {
		info, err := os.Lstat(filepath.Join(dir, e.Name()))
		golden.OK(t, err)
		isLink := e.Name() == "link.yaml" && info.Mode()&os.ModeSymlink != 0
		isFile := e.Name() == "t.yaml" && (info.Mode() == 0o640 || runtime.GOOS == "windows")
		if !isLink && !isFile {
			t.Errorf("%s has mode %v", e.Name(), info.Mode())
		}
	}
}

// What another program wrote meanwhile is not lost, and neither is a file that must not
// be written.
func TestFix_CannotWrite(t *testing.T) {
	dir := t.TempDir()
	for name, spoil := range map[string]func(path string) error{
		"changed meanwhile": func(path string) error { return os.WriteFile(path, []byte("new"), 0o640) },
		"read-only":         func(path string) error { return os.Chmod(path, 0o440) },
		"gone":              os.Remove,
	} {
		o, path := defaults(), filepath.Join(dir, name+".yaml")
		f := fixing(t, o, path, fewAttempts, "maxReceiveCount: 2", "maxReceiveCount: 5")
		golden.OK(t, spoil(path))
		before, _ := os.ReadFile(path) // "gone" has none
		o.fixAll(f)
		after, _ := os.ReadFile(path)
		if f.err == nil || len(f.fixed) > 0 || !few(f) || !bytes.Equal(before, after) {
			t.Errorf("%s: %v, %d fixed, %d left\n%s", name, f.err, len(f.fixed), len(f.Findings), after)
		}
	}
}
