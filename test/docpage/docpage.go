// Package docpage lets this module's tests write or read parts of documents, between two
// lines, see [Section]. Its own tests compare documents with the files that they show: a
// block of Go below a line <!-- file: PATH -->, with PATH relative to the document's folder.
package docpage

import (
	"os"
	"regexp"
	"strings"
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

// Section returns what stands in a document between the lines <!-- NAME --> and
// <!-- end of NAME -->, and the text around it, with these lines. The first line may say how
// the section is written: <!-- NAME: go test … -update -->.
func Section(t testing.TB, path, name string) (before, section, after string) {
	t.Helper()
	lines := regexp.MustCompile(`(?s)^(.*?<!-- ` + regexp.QuoteMeta(name) + `(?:: [^\n]*)? -->\n)(.*?)(<!-- end of ` + regexp.QuoteMeta(name) + ` -->.*)$`)
	found := lines.FindStringSubmatch(Read(t, path))
	if found == nil {
		t.Fatalf("%s has no section %q", path, name)
	}
	return found[1], found[2], found[3]
}

// RequireSection is [RequireCurrent] for a [Section], which must be want.
func RequireSection(t testing.TB, path, name, want string, update bool) {
	t.Helper()
	before, section, after := Section(t, path, name)
	RequireCurrent(t, path, before+section+after, before+want+after, update)
}

// Fields returns the names in the first column of the table in a [Section], by the kinds in
// its second column that have them.
func Fields(t testing.TB, path, name string) map[string][]string {
	t.Helper()
	_, table, _ := Section(t, path, name)
	fields := map[string][]string{}
	for _, row := range strings.Split(strings.TrimSpace(table), "\n")[2:] {
		cells := strings.Split(row, "|")
		for _, kind := range strings.Split(cells[2], ",") {
			kind = strings.TrimSpace(kind)
			for _, field := range fieldName.FindAllStringSubmatch(cells[1], -1) {
				fields[kind] = append(fields[kind], field[1])
			}
		}
	}
	return fields
}

var fieldName = regexp.MustCompile("`(\\w+)`")

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
