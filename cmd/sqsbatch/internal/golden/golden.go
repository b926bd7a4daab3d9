// Package golden is for tests that compare a text with a file in their folder testdata, or with
// what it must say, and that need files.
package golden

import (
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/fstest"
)

var update = flag.Bool("update", false, "write the golden files anew")

// Check fails the test unless a file has the text. With the flag -update it writes it.
func Check(t testing.TB, name, text string) {
	t.Helper()
	path := filepath.Join("testdata", name)
	if *update {
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	file, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if want := strings.ReplaceAll(string(file), "\r\n", "\n"); text != want {
		t.Errorf("%s (go test -update writes it anew):\n%s\nwant\n%s", path, text, want)
	}
}

// Says fails the test unless a text has all of want. name says what the text is.
func Says(t testing.TB, name, text string, want ...string) {
	t.Helper()
	for _, w := range want {
		if !strings.Contains(text, w) {
			t.Errorf("%s: it does not say %q:\n%s", name, w, text)
		}
	}
}

// Files writes files below a new directory.
func Files(t testing.TB, texts map[string]string) (dir string) {
	t.Helper()
	dir = t.TempDir()
	files := fstest.MapFS{}
	for name, text := range texts {
		files[name] = &fstest.MapFile{Data: []byte(text), Mode: 0o644}
	}
	if err := os.CopyFS(dir, files); err != nil {
		t.Fatal(err)
	}
	return dir
}

// File writes one file into a new directory.
func File(t testing.TB, name, text string) (path string) {
	t.Helper()
	return filepath.Join(Files(t, map[string]string{name: text}), name)
}
