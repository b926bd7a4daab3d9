package docpage_test

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/sqsbatch/sqsbatch/test/docpage"
)

var (
	link    = regexp.MustCompile(`\]\(([^)#\s]*)(?:#([^)\s]*))?[^)]*\)`)
	linked  = regexp.MustCompile(`\[([^\]]*)\]\([^)]*\)`)
	heading = regexp.MustCompile(`(?m)^#+ (.*)$`)
	fenced  = regexp.MustCompile("(?ms)^```.*?^```$")
	marks   = regexp.MustCompile(`[^\p{L}\p{N} _-]`)
)

// Every document of the repository links to files and headings that there are.
func TestLinks_PointAtFilesAndHeadingsThatExist(t *testing.T) {
	for _, path := range pages(t) {
		for _, m := range link.FindAllStringSubmatch(fenced.ReplaceAllString(docpage.Read(t, path), ""), -1) {
			file, anchor := m[1], m[2]
			if strings.Contains(file, ":") {
				continue // on the web
			}
			target := path
			if file != "" {
				target = filepath.Join(filepath.Dir(path), file)
			}
			if _, err := os.Stat(target); err != nil {
				t.Errorf("%s links to %s, which is not there", path, file)
			} else if anchor != "" && strings.HasSuffix(target, ".md") && !slices.Contains(anchors(t, target), anchor) {
				t.Errorf("%s links to %s#%s: %s has no such heading", path, file, anchor, target)
			}
		}
	}
}

// anchors are those that GitHub gives the headings of a document.
func anchors(t *testing.T, path string) (list []string) {
	t.Helper()
	for _, m := range heading.FindAllStringSubmatch(fenced.ReplaceAllString(docpage.Read(t, path), ""), -1) {
		text := linked.ReplaceAllString(m[1], "$1")
		text = marks.ReplaceAllString(strings.ToLower(strings.TrimSpace(text)), "")
		list = append(list, strings.ReplaceAll(text, " ", "-"))
	}
	return list
}
