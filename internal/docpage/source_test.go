package docpage_test

import (
	"go/scanner"
	"go/token"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/sqsbatch/sqsbatch/internal/docpage"
)

// quoting are the files that have the words in order to forbid them.
var quoting = []string{"internal/docpage/prose_test.go", "internal/docpage/source_test.go"}

// The comments and messages of the sources have none of the words that we do not write.
func TestProse_SourcesHaveNoneOfTheseWords(t *testing.T) {
	for name, path := range sources(t) {
		if slices.Contains(quoting, name) {
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
