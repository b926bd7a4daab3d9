package docpage_test

import (
	"errors"
	"go/ast"
	"go/parser"
	"go/token"
	"go/types"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// upwards are the calls that a package's list of files says it excepts.
var upwards = []string{"worker.go: setDue calls expire", "state.go: do calls step"}

// TestFilesAreLayers: in a package whose comment lists its files, a file calls only those below it.
func TestFilesAreLayers(t *testing.T) {
	seen := 0
	for _, dir := range []string{"runner", "settle", "longpoll"} {
		set := token.NewFileSet()
		var files []*ast.File
		place := map[string]int{} // of each file in the list
		names, err := filepath.Glob("../../internal/" + dir + "/*.go")
		if err != nil {
			t.Fatal(err)
		}
		for _, name := range names {
			if strings.HasSuffix(name, "_test.go") {
				continue
			}
			f, err := parser.ParseFile(set, name, nil, parser.ParseComments)
			if err != nil {
				t.Fatal(err)
			}
			files = append(files, f)
			if f.Doc == nil {
				continue
			}
			_, list, _ := strings.Cut(f.Doc.Text(), "A file calls those below it in this list")
			for _, file := range regexp.MustCompile(`[a-z]+\.go`).FindAllString(list, -1) {
				place[file] = len(place) + 1
			}
		}
		info := &types.Info{Uses: map[*ast.Ident]types.Object{}}
		// What comes from other packages stays unknown, which is no call of a file here.
		conf := types.Config{Error: func(error) {}, Importer: nothing{}}
		pkg, _ := conf.Check(dir, set, files, info)
		for _, f := range files {
			from := filepath.Base(set.Position(f.Pos()).Filename)
			if place[from] == 0 && from != "doc.go" {
				t.Errorf("%s: the list of files does not have %s", dir, from)
			}
			for _, d := range f.Decls {
				caller, is := d.(*ast.FuncDecl)
				if !is {
					continue
				}
				ast.Inspect(caller, func(n ast.Node) bool {
					id, _ := n.(*ast.Ident)
					called, is := info.Uses[id].(*types.Func)
					if !is || called.Pkg() != pkg {
						return true
					}
					seen++
					to := filepath.Base(set.Position(called.Pos()).Filename)
					if call := from + ": " + caller.Name.Name + " calls " + called.Name(); place[to] < place[from] && !slices.Contains(upwards, call) {
						t.Errorf("%s/%s in %s, which is above", dir, call, to)
					}
					return true
				})
			}
		}
	}
	if seen < 300 {
		t.Errorf("only %d calls were found", seen)
	}
}

// nothing is an importer without packages.
type nothing struct{}

func (nothing) Import(string) (*types.Package, error) { return nil, errors.New("not needed") }
