// Package docpage lets this module's tests compare a document with the files that it shows:
// a block of Go below a line <!-- file: PATH -->, with PATH relative to the document's
// folder.
package docpage

import (
	"os"
	"path/filepath"
	"regexp"
	"testing"
)

// Read returns the text of a document.
func Read(t testing.TB, path string) string {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

var shown = regexp.MustCompile("(?s)<!-- file: (\\S+) -->\n```go\n(.*?)```\n")

// RequireFiles is [RequireCurrent] for the files that a document shows. There must be at
// least one.
func RequireFiles(t testing.TB, path string, update bool) {
	t.Helper()
	text := Read(t, path)
	want, files := WithFiles(t, path, text)
	if files == 0 {
		t.Fatalf("%s shows no files", path)
	}
	RequireCurrent(t, path, text, want, update)
}

// WithFiles returns the text of a document with the current contents of the files that it
// shows, and the number of those files.
func WithFiles(t testing.TB, path, text string) (want string, files int) {
	t.Helper()
	want = shown.ReplaceAllStringFunc(text, func(block string) string {
		name := shown.FindStringSubmatch(block)[1]
		files++
		return "<!-- file: " + name + " -->\n```go\n" + Read(t, filepath.Join(filepath.Dir(path), name)) + "```\n"
	})
	return want, files
}

// RequireCurrent fails the test unless a document has the text want. With update it writes
// that text instead.
func RequireCurrent(t testing.TB, path, text, want string, update bool) {
	t.Helper()
	if want == text {
		return
	}
	if !update {
		t.Fatalf("%s shows other than there is: run this test with -update", path)
	}
	if err := os.WriteFile(path, []byte(want), 0o644); err != nil {
		t.Fatal(err)
	}
}
