// Package deploy_test holds what the files of deploy say against what the code
// does: the stop timeouts, the names of environment variables, permissions.
// What linters and schemas say of them is test/integration/containers'.
package deploy_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/sqsbatch/sqsbatch/internal/settings"
)

// sources are the files of a package of this module, without its tests.
func sources(t *testing.T, dir string) []*ast.File {
	t.Helper()
	names, err := filepath.Glob(filepath.Join("..", dir, "*.go"))
	if err != nil {
		t.Fatal(err)
	}
	var files []*ast.File
	for _, name := range names {
		if strings.HasSuffix(name, "_test.go") {
			continue
		}
		file, err := parser.ParseFile(token.NewFileSet(), name, nil, 0)
		if err != nil {
			t.Fatal(err)
		}
		files = append(files, file)
	}
	if len(files) == 0 {
		t.Fatalf("no package in %s", dir)
	}
	return files
}

// constant is a duration that a package has as a constant, n * time.Unit.
func constant(t *testing.T, dir, name string) time.Duration {
	t.Helper()
	units := map[string]time.Duration{"Millisecond": time.Millisecond, "Second": time.Second, "Minute": time.Minute, "Hour": time.Hour}
	var found time.Duration
	for _, file := range sources(t, dir) {
		ast.Inspect(file, func(n ast.Node) bool {
			spec, ok := n.(*ast.ValueSpec)
			if !ok || len(spec.Names) != 1 || spec.Names[0].Name != name || len(spec.Values) != 1 {
				return true
			}
			found = 1
			ast.Inspect(spec.Values[0], func(n ast.Node) bool {
				switch n := n.(type) {
				case *ast.BasicLit:
					factor, err := strconv.Atoi(n.Value)
					if err != nil {
						t.Fatalf("%s.%s: %v", dir, name, err)
					}
					found *= time.Duration(factor)
				case *ast.SelectorExpr:
					found *= units[n.Sel.Name]
					return false
				case *ast.BinaryExpr:
					if n.Op != token.MUL {
						t.Fatalf("%s.%s is no product", dir, name)
					}
				}
				return true
			})
			return false
		})
	}
	if found <= 1 {
		t.Fatalf("%s has no duration %s: where is it now?", dir, name)
	}
	return found
}

// settling is what a stop may take after its drain limit: handlers that ignore
// their end get a grace, then what is left is settled.
func settling(t *testing.T) time.Duration {
	return constant(t, "batch", "defaultGrace") + constant(t, "longpoll", "flushTimeout")
}

// The second is for the process to end.
func TestDefaultsFitInto30Seconds(t *testing.T) {
	if all := constant(t, "longpoll", "drainAndGrace") + constant(t, "longpoll", "flushTimeout"); all > 29*time.Second {
		t.Errorf("a stop takes up to %v by default; Amazon ECS and Kubernetes kill after 30s", all)
	}
}

// checkStop holds a drain limit against the time after which the platform kills.
func checkStop(t *testing.T, where, limit string, kill time.Duration) {
	t.Helper()
	d, err := time.ParseDuration(limit)
	if err != nil {
		t.Errorf("%s: SQSBATCH_DRAIN_LIMIT: %v", where, err)
		return
	}
	if rest := kill - d - settling(t); rest < time.Second {
		t.Errorf("%s: drain limit %v + settling %v leaves %v of %v, want 1s at least", where, d, settling(t), rest, kill)
	} else if rest > 2*time.Second {
		t.Errorf("%s: drain limit %v + settling %v leaves %v of %v unused", where, d, settling(t), rest, kill)
	}
}

// checkVariables holds the names that a deployment sets against the settings.
func checkVariables(t *testing.T, where string, set []string) {
	t.Helper()
	for _, name := range set {
		if !settings.Known(name) {
			t.Errorf("%s sets %s, which nothing reads", where, name)
		}
	}
	for _, s := range []settings.Setting{settings.QueueURL, settings.DeadLetterQueue, settings.DrainLimit, settings.HealthAddr} {
		if !slices.Contains(set, s.Name) {
			t.Errorf("%s does not set %s", where, s.Name)
		}
	}
}
