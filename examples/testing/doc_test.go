package mailer

import (
	"flag"
	"os"
	"path/filepath"
	"regexp"
	"testing"
)

var update = flag.Bool("update", false, "write the files into docs/testing.md")

// The page shows these files as they are. After a change of one:
//
//	go test ./examples/testing -run TestThePageShowsTheseFiles -update
func TestThePageShowsTheseFiles(t *testing.T) {
	const page = "../../docs/testing.md"
	text, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	shown := regexp.MustCompile("(?s)<!-- file: (\\S+) -->\n```go\n(.*?)```\n")
	count := 0
	want := shown.ReplaceAllFunc(text, func(block []byte) []byte {
		name := string(shown.FindSubmatch(block)[1])
		source, err := os.ReadFile(filepath.Join(filepath.Dir(page), name))
		if err != nil {
			t.Fatal(err)
		}
		count++
		return []byte("<!-- file: " + name + " -->\n```go\n" + string(source) + "```\n")
	})
	if count != 4 {
		t.Errorf("%s shows %d files, want 4", page, count)
	}
	if string(want) == string(text) {
		return
	}
	if !*update {
		t.Fatalf("%s shows other code than the files have: run this test with -update", page)
	}
	if err := os.WriteFile(page, want, 0o644); err != nil {
		t.Fatal(err)
	}
}
