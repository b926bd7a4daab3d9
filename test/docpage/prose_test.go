package docpage_test

import (
	"go/scanner"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/sqsbatch/sqsbatch/test/docpage"
)

// maxPage is how large a page under docs may be: what is longer is skimmed, not read.
const maxPage = 15 << 10

// worse are words that readers stumble over, most of all those with English as their
// second language, and what to write instead. A word has no group that captures.
var worse = []struct{ word, instead string }{
	{`in vain`, "without effect, without success, for nothing"},
	{`for ever`, "forever"},
	{`whoever`, "anyone who, or name who it is"},
	{`somebody`, "someone, or name who it is"},
	{`mend(?:s|ed|ing)?`, "fix"},
	{`heed(?:s|ed|ing)?`, "follow, read, obey"},
	{`hence`, "so, therefore"},
	{`amid`, "during, among"},
	{`(?:is|are|was|were|be|been|being) told`, "says, informs, reports, is asked"},
	{`shall`, "must, will"},
	{`need not|needn't`, "do not have to, does not need"},
	{`beside`, "next to, besides, in addition to, compared with"},
	{`(?:is|are) none (?:of|that)`, "is not one of, is not a"},
	{`has it not`, "does not have it"},
	{`lacks`, "does not have"},
	{`for want of`, "because there is no, without"},
	{`vouch(?:es|ed|ing)?`, "guarantee"},
	{`lies|lied`, "is, is wrong, is malformed"},
	{`fares|fared`, "goes, does"},
	{`tells whether`, "reports whether"},
}

var (
	block  = regexp.MustCompile("(?ms)^[ \t]*```.*?^[ \t]*```[ \t]*$")
	inline = regexp.MustCompile("`[^`\n]*`")
	notNL  = regexp.MustCompile(`[^\n]`)
)

// files are those of the repository that keep takes, by their paths from its root. The folders
// that skip takes are left out.
func files(t *testing.T, skip, keep func(name string) bool) map[string]string {
	t.Helper()
	list := map[string]string{}
	err := fs.WalkDir(os.DirFS("../.."), ".", func(name string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && name != "." && skip(d.Name()):
			return fs.SkipDir
		case !d.IsDir() && keep(name):
			list[name] = filepath.Join("../..", name)
		}
		return nil
	})
	if err != nil || len(list) == 0 {
		t.Fatal(list, err)
	}
	return list
}

// pages are the documents of the repository, by their paths from its root.
func pages(t *testing.T) map[string]string {
	t.Helper()
	return files(t, func(folder string) bool { return strings.HasPrefix(folder, ".") || folder == "node_modules" },
		func(name string) bool { return strings.HasSuffix(name, ".md") })
}

// The documents have none of the words that we do not write. A change log quotes what was,
// so it is left out.
func TestProse_HasNoneOfTheseWords(t *testing.T) {
	for name, path := range pages(t) {
		if name == "CHANGELOG.md" {
			continue
		}
		for _, found := range badWords(docpage.Read(t, path)) {
			t.Errorf("%s:%d: %q: write %s", name, found.line, found.word, found.instead)
		}
	}
}

func TestProse_PagesAreNotTooLong(t *testing.T) {
	for name, path := range pages(t) {
		if !strings.HasPrefix(name, "docs/") {
			continue
		}
		if size := len(docpage.Read(t, path)); size > maxPage {
			t.Errorf("%s has %d bytes, more than %d: split it", name, size, maxPage)
		}
	}
}

type badWord struct {
	line          int
	word, instead string
}

// worseWords matches each of the words, also over the end of a line: as the group with the
// number of its place in the list, counted from 1.
var worseWords = sync.OnceValue(func() *regexp.Regexp {
	var groups []string
	for _, w := range worse {
		groups = append(groups, "("+w.word+")")
	}
	return regexp.MustCompile(`(?i)\b(?:` + strings.ReplaceAll(strings.Join(groups, "|"), " ", `\s+`) + `)\b`)
})

// badWords finds the words of a document that are in the list of worse ones, also over the
// end of a line. Code is left out.
func badWords(text string) (found []badWord) {
	blank := func(s string) string { return notNL.ReplaceAllString(s, " ") }
	text = block.ReplaceAllStringFunc(text, blank)
	text = inline.ReplaceAllStringFunc(text, func(s string) string { return strings.Repeat("_", len(s)) })
	return wordsIn(text)
}

func wordsIn(text string) (found []badWord) {
	for _, at := range worseWords().FindAllStringSubmatchIndex(text, -1) {
		line := 1 + strings.Count(text[:at[0]], "\n")
		word := strings.Join(strings.Fields(text[at[0]:at[1]]), " ")
		group := slices.IndexFunc(at[2:], func(index int) bool { return index >= 0 }) / 2
		found = append(found, badWord{line, word, worse[group].instead})
	}
	return found
}

// The search itself: words over the end of a line, in any case, and none in code.
func TestProse_FindsWords(t *testing.T) {
	for _, c := range []struct {
		text string
		want []badWord
	}{
		{"Somebody\nmended it.", []badWord{{1, "Somebody", "someone, or name who it is"}, {2, "mended", "fix"}}},
		{"Tried in\n  vain", []badWord{{1, "in vain", "without effect, without success, for nothing"}}},
		{"a hook is told,\nit need not answer", []badWord{{1, "is told", "says, informs, reports, is asked"}, {2, "need not", "do not have to, does not need"}}},
		{"```go\n// whoever\n```\n\nhence", []badWord{{5, "hence", "so, therefore"}}},
		{"1. a list\n   ```sh\n   shall\n   ```\n", nil},
		{"`Poller.heed` recommends shallow amendments, whence ever", nil},
	} {
		got := badWords(c.text)
		slices.SortFunc(got, func(a, b badWord) int { return a.line - b.line })
		if !slices.Equal(got, c.want) {
			t.Errorf("%q: found %v, want %v", c.text, got, c.want)
		}
	}
}

// quoting is the file that has the words in order to forbid them.
const quoting = "test/docpage/prose_test.go"

// The comments and messages of the sources have none of the words that we do not write.
func TestProse_SourcesHaveNoneOfTheseWords(t *testing.T) {
	for name, path := range sources(t) {
		if name == quoting {
			continue
		}
		for _, found := range wordsIn(proseOf(name, docpage.Read(t, path))) {
			t.Errorf("%s:%d: %q: write %s", name, found.line, found.word, found.instead)
		}
	}
}

// sources are the Go files, templates, manifests and scripts of the repository, by their
// paths from its root. Test data is left out.
func sources(t *testing.T) map[string]string {
	t.Helper()
	left := []string{".git", "testdata", "node_modules", ".aws-sam"}
	return files(t, func(folder string) bool { return slices.Contains(left, folder) },
		func(name string) bool { return strings.HasSuffix(name, ".go") || hasHashComments(name) })
}

// hasHashComments reports whether a file's comments begin with "#".
func hasHashComments(name string) bool {
	base := filepath.Base(name)
	return slices.Contains([]string{".yaml", ".yml", ".sh", ".toml", ".py"}, filepath.Ext(base)) ||
		strings.HasPrefix(base, "Dockerfile") || base == "Makefile" || name == ".ci/run"
}

// proseOf returns the prose of a source, each on its own line: the comments and string
// literals of Go, and all of another file. It leaves out string literals of tests, and
// those without a space: they are names and data.
func proseOf(name, text string) string {
	if !strings.HasSuffix(name, ".go") {
		return leader.ReplaceAllString(text, "")
	}
	var b strings.Builder
	var s scanner.Scanner
	files := token.NewFileSet()
	s.Init(files.AddFile(name, -1, len(text)), []byte(text), nil, scanner.ScanComments)
	done := 0
	for {
		pos, tok, literal := s.Scan()
		if tok == token.EOF {
			return b.String()
		}
		if tok != token.COMMENT && (tok != token.STRING || strings.HasSuffix(name, "_test.go") || !strings.Contains(literal, " ")) {
			continue
		}
		at := files.Position(pos).Offset
		b.WriteString(withoutCode(text[done:at]))
		b.WriteString(leader.ReplaceAllString(literal, ""))
		done = at + len(literal)
	}
}

// leader is the mark with which a line of a comment begins, and a name that it explains
// after a colon.
var leader = regexp.MustCompile(`(?m)^[ \t]*(?://|#)(?: \w+:)?`)

// withoutCode returns the ends of the lines of some code, and a mark that no phrase goes
// across unless the code is only white space.
func withoutCode(code string) string {
	lines := strings.Repeat("\n", strings.Count(code, "\n"))
	if strings.TrimSpace(code) == "" {
		return lines
	}
	return "|" + lines
}

// Comments and messages are read, also over the end of a line; code, and strings in tests,
// are not.
func TestProse_ReadsSources(t *testing.T) {
	for _, c := range []struct{ name, text, want string }{
		{"a.go", "package a\n\n// A hook is\n// told.\nfunc shall() {}\n", "is told"},
		{"a.go", "package a\n\nvar s = `nothing\nit shall`\n", "shall"},
		{"a.go", "package a\n\nvar shall = 1\n", ""},
		{"a_test.go", "package a\n\nvar s = \"shall\"\n", ""},
		{"a.yaml", "# It is\n# told.\n", "is told"},
		{"a.go", "// A record beside\npackage a\n", "beside"},
		{"Makefile", "x: ## for ever\n", "for ever"},
		{"a.go", "package a\n\nvar s = f(\"it is \", \"told \", \"shall-1\")\n", ""},
	} {
		var got []string
		for _, found := range wordsIn(proseOf(c.name, c.text)) {
			got = append(got, found.word)
		}
		if strings.Join(got, ",") != c.want {
			t.Errorf("%s, %q: found %q, want %q", c.name, c.text, got, c.want)
		}
	}
}
