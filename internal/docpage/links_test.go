package docpage_test

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/sqsbatch/sqsbatch/internal/docpage"
)

var link = regexp.MustCompile(`\]\(([^)#\s]+)[^)]*\)`)

// Every document of the repository links to files that there are.
func TestLinks_PointAtFilesThatExist(t *testing.T) {
	const root = "../.."
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() && path != root && (strings.HasPrefix(d.Name(), ".") || d.Name() == "node_modules") {
			return filepath.SkipDir
		}
		if !strings.HasSuffix(path, ".md") {
			return nil
		}
		for _, m := range link.FindAllStringSubmatch(docpage.Read(t, path), -1) {
			if strings.Contains(m[1], ":") {
				continue // on the web
			}
			if _, err := os.Stat(filepath.Join(filepath.Dir(path), m[1])); err != nil {
				t.Errorf("%s links to %s, which is not there", path, m[1])
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}
