package docpage_test

import (
	"testing"

	"github.com/sqsbatch/sqsbatch/internal/docpage"
)

// Pages show files of the repository as they are. After a change of one:
//
//	go test ./internal/docpage -run TestFiles -update
func TestFiles_AreShownAsTheyAre(t *testing.T) {
	all, shown := pages(t), map[string]int{}
	for name, path := range all {
		text := docpage.Read(t, path)
		want, files := docpage.WithFiles(t, path, text)
		docpage.RequireCurrent(t, path, text, want, *update)
		shown[name] = files
	}
	for _, name := range []string{
		"containers", "getting-started", "idempotency", "lifecycles", "pausing", "request-response", "sending", "testing", "workers",
	} {
		if shown["docs/"+name+".md"] == 0 {
			t.Errorf("docs/%s.md shows no files", name)
		}
	}
}
