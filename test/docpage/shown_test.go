package docpage_test

import (
	"path/filepath"
	"regexp"
	"testing"

	"github.com/sqsbatch/sqsbatch/test/docpage"
)

var fileBlock = regexp.MustCompile("(?s)<!-- file: (\\S+) -->\n```go\n(.*?)```\n")

// Pages show files of the repository as they are. After a change of one:
//
//	go test ./test/docpage -run TestFiles -update
func TestFiles_AreShownAsTheyAre(t *testing.T) {
	all, shown := pages(t), map[string]int{}
	for name, path := range all {
		text := docpage.Read(t, path)
		want := fileBlock.ReplaceAllStringFunc(text, func(block string) string {
			shown[name]++
			file := fileBlock.FindStringSubmatch(block)[1]
			return "<!-- file: " + file + " -->\n```go\n" + docpage.Read(t, filepath.Join(filepath.Dir(path), file)) + "```\n"
		})
		docpage.RequireCurrent(t, path, text, want, *update)
	}
	if shown["docs/getting-started.md"] == 0 {
		t.Error("docs/getting-started.md shows no files")
	}
}
