// Package starter holds the template of a project to begin with, see README.md
// ("sam init --location"). Its tests keep it from drifting away from the
// module's own deployment.
package starter

import (
	"flag"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

var update = flag.Bool("update", false, "write the files that are made from the module's own")

const project = "{{cookiecutter.project_name}}"

func read(t *testing.T, name string) string {
	t.Helper()
	b, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	return strings.ReplaceAll(string(b), "\r\n", "\n")
}

// own turns a file of the module into the project's: the queue has no other
// name than the stack, and what is in it are messages.
func own(text string, more ...string) string {
	rules := append(more,
		"OrdersFunction", "Function",
		"OrdersQueue", "Queue",
		"OrdersDeadLetterQueue", "DeadLetterQueue",
		"${AWS::StackName}-orders", "${AWS::StackName}",
		"PolicyName: orders", "PolicyName: queue",
		"        Orders:\n", "        Messages:\n",
		"Send orders here", "Send messages here",
		"Orders that could not be shipped", "Messages that could not be handled",
		"Orders wait", "Messages wait",
	)
	return strings.NewReplacer(rules...).Replace(text)
}

// template.yaml and samconfig.toml of the starter are made from the module's
// own. After a change of those:
//
//	go test ./starter -update
func TestMadeFromTheModulesOwn(t *testing.T) {
	for name, rules := range map[string][]string{
		"template.yaml": {
			"Orders from an SQS queue, shipped one by one by examples/orders, a function built with sqsbatch.",
			"Messages from an SQS queue, handled one by one by a function built with sqsbatch.",
			`"go run ./cmd/sqsbatch local"`, `"go tool sqsbatch local"`,
		},
		"deploy/monitoring.yaml": {
			"# It is a stack of its own, in addition to that of template.yaml or deploy/queue.yaml: docs/observability/README.md says how to deploy it.",
			"# It is a stack of its own, in addition to that of template.yaml: README.md says how to deploy it.",
		},
		"samconfig.toml": {
			`"orders`, `"{{ cookiecutter.project_name }}`,
		},
	} {
		want := own(read(t, "../"+name), rules...)
		if left := regexp.MustCompile(`(?im)^.*(\border|OrdersF|shipped).*$`).FindAllString(want, -1); left != nil {
			t.Errorf("%s still speaks of the example, add a rule to own: %q", name, left)
		}
		file := filepath.Join(project, name)
		if *update {
			if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(file, []byte(want), 0o644); err != nil {
				t.Fatal(err)
			}
		} else if read(t, file) != want {
			t.Errorf("%s is not what ../%s makes it: go test ./starter -update", file, name)
		}
	}
}

// What `sqsbatch local` sends without a flag is there.
func TestSamplesAreThere(t *testing.T) {
	named := regexp.MustCompile(`(?m)^//sqsbatch:samples (\S+)$`).FindStringSubmatch(read(t, filepath.Join(project, "signup.go")))
	if named == nil {
		t.Fatal("signup.go names no samples")
	}
	if text := read(t, filepath.Join(project, named[1])); !strings.Contains(text, `\"email\"`) {
		t.Errorf("%s has no signups", named[1])
	}
}

// The Makefile builds as the module's own does, but another package.
func TestBuildsAsTheModuleDoes(t *testing.T) {
	recipe := regexp.MustCompile(`(?s)\n\tCGO_ENABLED=0 .*?/bootstrap" (\S+)\n`)
	a := recipe.FindStringSubmatch(read(t, "../Makefile"))
	b := recipe.FindStringSubmatch(read(t, filepath.Join(project, "Makefile")))
	if a == nil || b == nil {
		t.Fatal("a Makefile has no recipe that writes a bootstrap")
	}
	if a[1] != "./examples/orders" || b[1] != "." {
		t.Errorf("they build %s and %s", a[1], b[1])
	}
	if strings.ReplaceAll(a[0], a[1], b[1]) != b[0] {
		t.Errorf("the module builds with%sthe project with%s", a[0], b[0])
	}
}

// The project asks for the Go that the module needs, and for one released
// version of the module, which CHANGELOG.md knows or is about to.
func TestPinned(t *testing.T) {
	mod := read(t, filepath.Join(project, "go.mod"))
	goLine := regexp.MustCompile(`(?m)^go .*$`)
	if got, want := goLine.FindString(mod), goLine.FindString(read(t, "../go.mod")); got != want {
		t.Errorf("%q, the module says %q", got, want)
	}
	pinned := regexp.MustCompile(`(?m)^require github\.com/sqsbatch/sqsbatch v(\d+\.\d+\.\d+)$`).FindStringSubmatch(mod)
	if pinned == nil {
		t.Fatal("no released version of the module is required")
	}
	for _, file := range []string{filepath.Join(project, "main.tf"), "../docs/deploying/terraform.md"} {
		for _, ref := range regexp.MustCompile(`deploy/terraform\?ref=v([\d.]+)`).FindAllStringSubmatch(read(t, file), -1) {
			if ref[1] != pinned[1] {
				t.Errorf("%s takes the module of v%s, go.mod requires v%s", file, ref[1], pinned[1])
			}
		}
	}
	released := regexp.MustCompile(`(?m)^## \[(\d+\.\d+\.\d+)\]`).FindStringSubmatch(read(t, "../CHANGELOG.md"))
	if released != nil && released[1] != pinned[1] {
		t.Errorf("requires %s, the latest release in CHANGELOG.md is %s", pinned[1], released[1])
	}
	if released == nil && pinned[1] != "0.1.0" {
		t.Errorf("requires %s, but nothing was released: the first will be 0.1.0", pinned[1])
	}
}
