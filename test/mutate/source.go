package main

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"go/ast"
	"go/importer"
	"go/parser"
	"go/token"
	"go/types"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// A mutant is one change of the source.
type mutant struct {
	number   int
	file     string // from the root of the module
	line     int
	function string
	what     string // the change, in words
	nth      int    // of those with the same words in the function, from 0
}

func (m mutant) String() string {
	return fmt.Sprintf("%d\t%s:%d\t%s", m.number, m.file, m.line, m.key())
}

// key stays the same when lines move.
func (m mutant) key() string {
	key := fmt.Sprintf("%s %s: %s", m.file, m.function, m.what)
	if m.nth > 0 {
		key += fmt.Sprintf(" (%d)", m.nth+1)
	}
	return key
}

// helpers is a file of each package. The number of the mutant is in MUTANT. If MUTANT_SEEN is set, each
// mutant that is reached is noted in that file.
const helpers = `package %s

import (
	mutantOS "os"
	mutantStrconv "strconv"
	mutantSync "sync"
)

var (
	mutantChosen, _ = mutantStrconv.Atoi(mutantOS.Getenv("MUTANT"))
	mutantSeen, _   = mutantOS.OpenFile(mutantOS.Getenv("MUTANT_SEEN"), mutantOS.O_APPEND|mutantOS.O_WRONLY, 0)
	mutantNoted     mutantSync.Map
)

func mutantIs(number int) bool {
	if mutantSeen != nil {
		if _, again := mutantNoted.LoadOrStore(number, true); !again {
			_, _ = mutantSeen.WriteString(mutantStrconv.Itoa(number) + "\n")
		}
	}
	return number == mutantChosen
}

type mutantNumber interface {
	~int | ~int8 | ~int16 | ~int32 | ~int64 | ~uint | ~uint8 | ~uint16 | ~uint32 | ~uint64 | ~float32 | ~float64
}

// mutantPlus is v for a mutant, and 0 for others. like gives v its type.
func mutantPlus[T mutantNumber](number int, like, v T) (zero T) {
	if mutantIs(number) {
		return v
	}
	return zero
}
`

// mutate writes the changed source to dir, and returns the mutants and the path of the overlay.
func mutate(dir string) (all []mutant, overlay string, err error) {
	var paths []string
	for _, p := range packages {
		paths = append(paths, module+p)
	}
	deps, err := goList(append([]string{"-export", "-deps"}, paths...)...)
	if err != nil {
		return nil, "", err
	}
	exports := map[string]string{}
	for _, p := range deps {
		exports[p.ImportPath] = p.Export
	}
	replace := map[string]string{}
	for _, p := range deps {
		if !slices.Contains(paths, p.ImportPath) {
			continue
		}
		s := &source{pkg: p, fset: token.NewFileSet(), first: len(all)}
		if err := s.read(exports); err != nil {
			return nil, "", err
		}
		for i, f := range s.files {
			path := filepath.Join(p.Dir, p.GoFiles[i])
			to := filepath.Join(dir, fmt.Sprintf("%d.go", len(replace)))
			if err := os.WriteFile(to, s.change(path, f), 0o600); err != nil {
				return nil, "", err
			}
			replace[path] = to
		}
		to := filepath.Join(dir, fmt.Sprintf("%d.go", len(replace)))
		if err := os.WriteFile(to, fmt.Appendf(nil, helpers, s.files[0].Name.Name), 0o600); err != nil {
			return nil, "", err
		}
		replace[filepath.Join(p.Dir, "zz_mutant.go")] = to
		all = append(all, s.mutants...)
	}
	text, err := json.Marshal(map[string]any{"Replace": replace})
	if err != nil {
		return nil, "", err
	}
	overlay = filepath.Join(dir, "overlay.json")
	return all, overlay, os.WriteFile(overlay, text, 0o600)
}

// A source has the mutants of a package.
type source struct {
	pkg     listed
	fset    *token.FileSet
	files   []*ast.File
	info    types.Info
	first   int // mutants of the packages before
	mutants []mutant

	// Of the file that is changed:
	text     []byte
	name     string
	function string
	edits    []edit
}

// An edit inserts text. Those at one place come in the order of their levels.
type edit struct {
	at, level int
	text      string
}

func (s *source) read(exports map[string]string) error {
	for _, name := range s.pkg.GoFiles {
		f, err := parser.ParseFile(s.fset, filepath.Join(s.pkg.Dir, name), nil, parser.SkipObjectResolution)
		if err != nil {
			return err
		}
		s.files = append(s.files, f)
	}
	lookup := func(path string) (io.ReadCloser, error) { return os.Open(exports[path]) }
	config := types.Config{Importer: importer.ForCompiler(s.fset, "gc", lookup)}
	s.info.Types = map[ast.Expr]types.TypeAndValue{}
	_, err := config.Check(s.pkg.ImportPath, s.fset, s.files, &s.info)
	return err
}

// change returns the source of a file with its mutants.
func (s *source) change(path string, f *ast.File) []byte {
	s.text, _ = os.ReadFile(path) // it has been parsed
	s.name = strings.TrimPrefix(s.pkg.ImportPath, module) + "/" + filepath.Base(path)
	s.edits = nil
	for _, d := range f.Decls {
		fn, ok := d.(*ast.FuncDecl)
		if !ok || fn.Body == nil {
			continue
		}
		if s.function = fn.Name.Name; fn.Recv != nil {
			s.function = strings.TrimPrefix(types.ExprString(fn.Recv.List[0].Type), "*") + "." + s.function
		}
		ast.Inspect(fn.Body, s.visit)
	}
	slices.SortStableFunc(s.edits, func(a, b edit) int { return cmp.Or(a.at-b.at, a.level-b.level) })
	var out bytes.Buffer
	from := 0
	for _, e := range s.edits {
		out.Write(s.text[from:e.at])
		out.WriteString(e.text)
		from = e.at
	}
	out.Write(s.text[from:])
	return out.Bytes()
}

// around adds a mutant that puts text before and after a node. In the texts # is its number.
func (s *source) around(n ast.Node, before, after, what string) {
	at, end := s.fset.Position(n.Pos()), s.fset.Position(n.End())
	m := mutant{number: s.first + len(s.mutants) + 1, file: s.name, line: at.Line, function: s.function, what: what}
	for _, other := range s.mutants {
		if other.file == m.file && other.function == m.function && other.what == m.what {
			m.nth++
		}
	}
	s.mutants = append(s.mutants, m)
	number := func(text string) string { return strings.ReplaceAll(text, "#", fmt.Sprint(m.number)) }
	size := end.Offset - at.Offset
	// What surrounds more opens first, and closes last. What closes comes before what opens.
	s.edits = append(s.edits, edit{at.Offset, 1_000_000 - size, number(before)}, edit{end.Offset, size - 1_000_000, number(after)})
}

func (s *source) of(n ast.Node) string {
	return string(s.text[s.fset.Position(n.Pos()).Offset:s.fset.Position(n.End()).Offset])
}

// short is a node in one line.
func (s *source) short(n ast.Node) string {
	text := strings.Join(strings.Fields(s.of(n)), " ")
	if len(text) > 60 {
		text = text[:60] + "…"
	}
	return text
}

func (s *source) visit(n ast.Node) bool {
	switch n := n.(type) {
	case *ast.IfStmt:
		s.condition(n.Cond)
	case *ast.ForStmt:
		if n.Cond != nil {
			s.condition(n.Cond)
		}
	case *ast.BinaryExpr:
		s.binary(n)
	case *ast.ReturnStmt:
		for _, r := range n.Results {
			if id, ok := r.(*ast.Ident); ok && (id.Name == "true" || id.Name == "false") {
				s.around(r, "(", " != mutantIs(#))", "return not "+id.Name)
			}
		}
	case *ast.BlockStmt:
		s.statements(n.List)
	case *ast.CaseClause:
		if s.tagless(n) {
			for _, c := range n.List {
				s.condition(c)
			}
		}
		s.statements(n.Body)
	case *ast.CommClause:
		s.statements(n.Body)
	}
	return true
}

// tagless reports whether the cases of a clause are conditions.
func (s *source) tagless(c *ast.CaseClause) bool {
	for _, e := range c.List {
		t := s.info.Types[e]
		if t.IsType() || t.Value != nil || t.Type == nil || !boolean(t.Type) {
			return false
		}
	}
	return true
}

// condition adds the opposite of a condition. The operands of && and || have mutants of their own.
func (s *source) condition(e ast.Expr) {
	if p, ok := e.(*ast.ParenExpr); ok {
		s.condition(p.X)
		return
	}
	if b, ok := e.(*ast.BinaryExpr); ok && (b.Op == token.LAND || b.Op == token.LOR) {
		return
	}
	if t := s.info.Types[e]; t.Value == nil && boolean(t.Type) {
		s.around(e, "((", ") != mutantIs(#))", "not: "+s.short(e))
	}
}

func (s *source) binary(b *ast.BinaryExpr) {
	t := s.info.Types[b.X]
	switch b.Op {
	case token.LAND, token.LOR:
		s.condition(b.X)
		s.condition(b.Y)
	case token.LSS, token.LEQ, token.GTR, token.GEQ:
		if plain(b.X) && plain(b.Y) {
			s.around(b, "((", fmt.Sprintf(") != (mutantIs(#) && (%s) == (%s)))", s.of(b.X), s.of(b.Y)), "with or without equality: "+s.short(b))
		}
	case token.ADD, token.SUB:
		whole := s.info.Types[b]
		if whole.Value != nil || !number(t.Type) || !number(s.info.Types[b.Y].Type) || !plain(b.X) || !plain(b.Y) {
			return
		}
		sign := "-"
		if b.Op == token.SUB {
			sign = "+"
		}
		s.around(b, "(", fmt.Sprintf(" %s mutantPlus(#, %s, 2*(%s)))", sign, s.of(b.X), s.of(b.Y)), "plus for minus: "+s.short(b))
	}
}

func boolean(t types.Type) bool { return t != nil && is(t, types.IsBoolean) }
func number(t types.Type) bool  { return t != nil && is(t, types.IsNumeric) }

func is(t types.Type, what types.BasicInfo) bool {
	b, ok := t.Underlying().(*types.Basic)
	return ok && b.Info()&what != 0
}

// plain reports whether an expression may be evaluated twice: it calls nothing but what is built in.
func plain(e ast.Expr) bool {
	calls := false
	ast.Inspect(e, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.CallExpr:
			id, ok := n.Fun.(*ast.Ident)
			calls = calls || !ok || !slices.Contains([]string{"len", "cap", "min", "max"}, id.Name)
		case *ast.UnaryExpr:
			calls = calls || n.Op == token.ARROW
		}
		return true
	})
	return !calls
}

// statements adds for each of them that it is left out.
func (s *source) statements(list []ast.Stmt) {
	for _, n := range list {
		switch n := n.(type) {
		case *ast.AssignStmt:
			if n.Tok == token.DEFINE {
				continue
			}
		case *ast.ExprStmt:
			if call, ok := n.X.(*ast.CallExpr); ok && needed(types.ExprString(call.Fun)) {
				continue
			}
		case *ast.IncDecStmt, *ast.SendStmt, *ast.DeferStmt, *ast.GoStmt:
			if d, ok := n.(*ast.DeferStmt); ok && needed(types.ExprString(d.Call.Fun)) {
				continue
			}
		default:
			continue
		}
		s.around(n, "if !mutantIs(#) { ", " }", "without: "+s.short(n))
	}
}

// needed reports whether a call is left out by no mutant: panic ends a function for the compiler,
// and a lock that is not taken shows nothing but that it was.
func needed(call string) bool {
	if call == "panic" {
		return true
	}
	for _, name := range []string{".Lock", ".Unlock", ".RLock", ".RUnlock"} {
		if strings.HasSuffix(call, name) {
			return true
		}
	}
	return false
}
