package lint

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	rules "github.com/sqsbatch/sqsbatch/internal/lint"
)

// The link of each rule leads to its section.
func TestDocument_Exists(t *testing.T) {
	for _, r := range rules.Rules() {
		name, _, _ := strings.Cut(document(r.ID), "#")
		text, err := os.ReadFile(filepath.Join("..", "..", "..", "..", "docs", filepath.FromSlash(name)))
		if err != nil {
			t.Fatal(err)
		}
		if !strings.Contains(strings.ReplaceAll(string(text), "\r\n", "\n"), "\n## "+r.ID+"\n") {
			t.Errorf("%s has no section %s", name, r.ID)
		}
	}
}
