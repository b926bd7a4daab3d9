// Package golden is for tests that compare a text with a file in their folder testdata, or with
// what it must say, and that need files.
package golden

import (
	"flag"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/fstest"
)

// Update says that the test has the flag -update.
var Update = flag.Bool("update", false, "write golden files and pages of the documentation anew")

// OK ends the test if err is not nil.
func OK(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// Check fails the test unless a file has the text. With the flag -update it writes it.
func Check(t testing.TB, name, text string) {
	t.Helper()
	path := filepath.Join("testdata", name)
	if *Update {
		OK(t, os.WriteFile(path, []byte(text), 0o644))
	}
	file, err := os.ReadFile(path)
	OK(t, err)
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
	OK(t, os.CopyFS(dir, files))
	return dir
}

// File writes one file into a new directory.
func File(t testing.TB, name, text string) (path string) {
	t.Helper()
	return filepath.Join(Files(t, map[string]string{name: text}), name)
}

// Uncalled returns the address of a server that must not be called.
func Uncalled(t *testing.T) (addr string) {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	OK(t, err)
	done := make(chan struct{})
	go func() {
		defer close(done)
		for {
			c, err := listener.Accept()
			if err != nil {
				return
			}
			t.Errorf("%s was called", listener.Addr())
			_ = c.Close()
		}
	}()
	t.Cleanup(func() { _ = listener.Close(); <-done })
	return listener.Addr().String()
}
