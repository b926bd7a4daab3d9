// Package golden lets tests compare a text with a file in their folder testdata.
package golden

import (
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"
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
