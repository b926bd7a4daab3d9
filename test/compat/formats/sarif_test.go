package formats

import (
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/owenrumney/go-sarif/v3/pkg/report/v210/sarif"
	"github.com/xeipuuv/gojsonschema"
)

// schema is the text of the unexported constant of go-sarif. Its own Validate cannot be
// used: it drops fields that it does not know before it compares.
func schema(t *testing.T) string {
	t.Helper()
	dir, err := exec.Command("go", "list", "-f", "{{.Dir}}", "github.com/owenrumney/go-sarif/v3/pkg/report/v210/sarif").Output()
	if err != nil {
		t.Fatal(err)
	}
	file, err := parser.ParseFile(token.NewFileSet(), filepath.Join(strings.TrimSpace(string(dir)), "schema.go"), nil, 0)
	if err != nil {
		t.Fatal(err)
	}
	object := file.Scope.Lookup("schema")
	if object == nil {
		t.Fatal("go-sarif no longer has the constant schema")
	}
	text, err := strconv.Unquote(object.Decl.(*ast.ValueSpec).Values[0].(*ast.BasicLit).Value)
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(text, `"title": "Static Analysis Results Format (SARIF) Version 2.1.0 JSON Schema"`) {
		t.Fatalf("this is another schema: %.200s", text)
	}
	return text
}

// problems lists what the schema does not allow in a document.
func problems(t *testing.T, schema, document string) (all []string) {
	t.Helper()
	result, err := gojsonschema.Validate(gojsonschema.NewStringLoader(schema), gojsonschema.NewStringLoader(document))
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range result.Errors() {
		all = append(all, p.String())
	}
	return all
}

// output is what the command writes.
func output(t *testing.T) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("..", "..", "..", "cmd", "sqsbatch", "internal", "lint", "testdata", "output.sarif"))
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

func TestOutput_IsValid(t *testing.T) {
	for _, p := range problems(t, schema(t), output(t)) {
		t.Error(p)
	}
}

// The schema finds mistakes: without them the test above would say nothing.
func TestSchema_FindsMistakes(t *testing.T) {
	schema, text := schema(t), output(t)
	for _, change := range [][2]string{
		{`"ruleId"`, `"rule"`}, {`"level": "error"`, `"level": "bad"`}, {`"startLine": `, `"startLine": -`}, {`"version": "2.1.0"`, `"version": "2.1"`},
	} {
		changed := strings.Replace(text, change[0], change[1], 1)
		if changed == text || len(problems(t, schema, changed)) == 0 {
			t.Errorf("%s instead of %s is not found", change[1], change[0])
		}
	}
}

// A library that many consumers use reads every result.
func TestOutput_IsReadByALibrary(t *testing.T) {
	report, err := sarif.FromString(output(t))
	if err != nil {
		t.Fatal(err)
	}
	if n := strings.Count(output(t), `"ruleId": `); n == 0 || len(report.Runs) != 1 || len(report.Runs[0].Results) != n {
		t.Errorf("of %d results it does not read all: %d runs", n, len(report.Runs))
	}
}
