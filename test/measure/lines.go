package main

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/scanner"
	"go/token"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

const module = "github.com/sqsbatch/sqsbatch/"

// core are the folders whose packages are measured, with those below them.
var core = []string{"batch", "partialfailure", "handler"}

// linesBefore are the code lines at fa72870 of those packages, earlier, that
// the core imported then, or may import now. Other packages had none.
const linesBefore = 674

var earlier = strings.Fields("internal/attribute payload/internal internal/endpoint internal/ctxkey internal/plainjson internal/sleep internal/sqserror internal/wrapped")

// packages returns the folders of the core, and those of the packages of internal/
// that the core imports, directly or through others, except internal/jsonbody.
func packages() (own, internal []string) {
	for path := range strings.Lines(run("go", "list", "-deps", "./batch/...", "./partialfailure/...", "./handler/...")) {
		dir, ours := strings.CutPrefix(strings.TrimSpace(path), module)
		top, _, _ := strings.Cut(dir, "/")
		switch {
		case !ours || dir == "internal/jsonbody":
		case top == "internal":
			internal = append(internal, dir)
		case slices.Contains(core, top):
			own = append(own, dir)
		}
	}
	return own, internal
}

// growth is how many lines more than at fa72870 the packages of internal/ have, at
// least 0. One that is gone counts with what it had.
func growth(internal []string) int {
	dirs := map[string]bool{}
	for _, name := range earlier {
		dirs[name] = true
	}
	for _, dir := range internal {
		dirs[dir] = true
	}
	n := -linesBefore
	for dir := range dirs {
		n += linesOf(dir)
	}
	return max(n, 0)
}

func linesOf(dir string) (n int) {
	for _, name := range files(dir) {
		n += codeLines(must(os.ReadFile(name)))
	}
	return n
}

func files(dir string) []string {
	isTest := func(name string) bool { return strings.HasSuffix(name, "_test.go") }
	return slices.DeleteFunc(must(filepath.Glob(filepath.Join(dir, "*.go"))), isTest)
}

// codeLines counts lines with a token of Go, or a part of one (raw strings).
func codeLines(src []byte) int {
	file := token.NewFileSet().AddFile("", -1, len(src))
	var s scanner.Scanner
	s.Init(file, src, nil, 0)
	lines := map[int]bool{}
	for {
		at, kind, text := s.Scan()
		if kind == token.EOF {
			return len(lines)
		}
		if kind == token.SEMICOLON && text == "\n" {
			continue // not in the text: the scanner adds it at the line's end
		}
		for i := range strings.Count(text, "\n") + 1 {
			lines[file.Line(at)+i] = true
		}
	}
}

// long returns the length of the longest function, and lists those above most.
func long(dirs []string, most int) (longest int, list []string) {
	for _, dir := range dirs {
		for _, name := range files(dir) {
			set := token.NewFileSet()
			for _, d := range must(parser.ParseFile(set, name, nil, 0)).Decls {
				if f, ok := d.(*ast.FuncDecl); ok {
					from := set.Position(f.Pos())
					n := set.Position(f.End()).Line - from.Line + 1
					if longest = max(longest, n); n > most {
						list = append(list, fmt.Sprintf("%v: %s, %d lines", from, f.Name.Name, n))
					}
				}
			}
		}
	}
	return longest, list
}
