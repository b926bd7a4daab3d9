package snippets

import (
	"fmt"
	"maps"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"go.yaml.in/yaml/v3"
)

const docs = "../../../docs"

func readPage(t *testing.T) string {
	t.Helper()
	b, err := os.ReadFile(docs + "/deploying.md")
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

// Whatever a snippet refers to is there when it is in its template. That the
// result is valid, the command finds out.
func TestSnippetsFitTheirTemplates(t *testing.T) {
	all, err := allParts(docs)
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range all {
		text, err := p.assemble(docs)
		if err != nil {
			t.Error(err)
			continue
		}
		var template struct {
			Parameters map[string]any `yaml:"Parameters"`
			Resources  map[string]any `yaml:"Resources"`
		}
		if err := yaml.Unmarshal(text, &template); err != nil {
			t.Errorf("%s: %v", p.name(), err)
			continue
		}
		for _, m := range regexp.MustCompile(`!(?:Ref|GetAtt) "?([A-Za-z0-9]+)\b(:?)`).FindAllStringSubmatch(string(text), -1) {
			_, isParameter := template.Parameters[m[1]]
			_, isResource := template.Resources[m[1]]
			if m[2] == "" && !isParameter && !isResource {
				t.Errorf("%s: %s is not in the template", p.name(), m[1])
			}
		}
	}
}

func TestMerge(t *testing.T) {
	tests := []struct{ name, into, change, want, err string }{
		{name: "add", into: "a: 1", change: "b: 2", want: "a: 1\nb: 2\n"},
		{name: "replace", into: "a: 1", change: "a: !Ref B", want: "a: !Ref B\n"},
		{name: "deep", into: "a: {b: 1, c: 2}", change: "a: {b: 3}", want: "a: {b: 3, c: 2}\n"},
		{name: "lists as a whole", into: "a: [1, 2]", change: "a: [3]", want: "a: [3]\n"},
		{name: "delete", into: "a: {b: 1, c: 2}", change: "a: {b: null}", want: "a: {c: 2}\n"},
		{name: "delete what is not there", into: "a: {b: 1}", change: "a: {c: null}", err: "a: deletes c, which is not there"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			var into, change yaml.Node
			if err := yaml.Unmarshal([]byte(tt.into), &into); err != nil {
				t.Fatal(err)
			}
			if err := yaml.Unmarshal([]byte(tt.change), &change); err != nil {
				t.Fatal(err)
			}
			err := merge(into.Content[0], change.Content[0])
			if err != nil || tt.err != "" {
				if fmt.Sprint(err) != tt.err {
					t.Errorf("error is %v, want %q", err, tt.err)
				}
				return
			}
			if got, _ := yaml.Marshal(&into); string(got) != tt.want {
				t.Errorf("got\n%s\nwant\n%s", got, tt.want)
			}
		})
	}
}

// A snippet that does not say where it belongs is checked by nobody.
func TestEverySnippetNamesItsTemplate(t *testing.T) {
	if _, err := parts("page.md", "text\n\n```yaml\na: 1\n```\n"); err == nil {
		t.Error("a snippet without a template is accepted")
	}
}

// Commands that are not marked are run by a stage of CI; this is which.
func TestCommandsAreMarkedOrRun(t *testing.T) {
	run := map[string]string{
		"sam validate --lint": "sam",
		"sam build":           "sam, starter",
		"sam init --location . --name signups --no-input --output-dir /tmp":              "starter",
		`cd /tmp/signups && go mod edit -replace github.com/sqsbatch/sqsbatch="$OLDPWD"`: "starter",
		"go mod tidy && make test && make local":                                         "starter",
	}
	seen := map[string]bool{}
	for _, c := range commands(readPage(t)) {
		if c.account {
			continue
		}
		if seen[c.text] = true; run[c.text] == "" {
			t.Errorf("%s is neither marked with † nor run by a stage", c.text)
		}
	}
	for text := range run {
		if !seen[text] {
			t.Errorf("%s is not on the page any more", text)
		}
	}
}

// The table has the template's parameters, with their defaults.
func TestTheTableHasEveryParameter(t *testing.T) {
	b, err := os.ReadFile("../../../template.yaml")
	if err != nil {
		t.Fatal(err)
	}
	var template struct {
		Parameters map[string]struct {
			Default string `yaml:"Default"`
		} `yaml:"Parameters"`
	}
	if err := yaml.Unmarshal(b, &template); err != nil {
		t.Fatal(err)
	}
	want, got := map[string]string{}, map[string]string{}
	for name, p := range template.Parameters {
		want[name] = p.Default
	}
	_, section, _ := strings.Cut(readPage(t), "\n## Parameters\n")
	section, _, _ = strings.Cut(section, "\n## ")
	for _, m := range regexp.MustCompile("(?m)^\\| `([A-Za-z]+)` \\| (?:`([^`]*)`)? ?\\|").FindAllStringSubmatch(section, -1) {
		got[m[1]] = m[2]
	}
	if !maps.Equal(got, want) {
		t.Errorf("the page has\n %v\nthe template\n %v", sorted(got), sorted(want))
	}
}

func sorted(m map[string]string) []string {
	var lines []string
	for k, v := range m {
		lines = append(lines, k+"="+v)
	}
	slices.Sort(lines)
	return lines
}

// The costs follow from the prices and counts that the page names.
func TestCosts(t *testing.T) {
	const (
		request    = 0.40 / 1e6
		invocation = 0.20 / 1e6
		gbSecond   = 0.0000133334
		batches    = 1e6 / 10
	)
	failing := batches * (1 - pow(0.99, 10)) // batches in which one record of a hundred fails
	polls := 5. * 30 * 24 * 3600 / 20
	calls := 30. * 24 * 3600 / 3600 * (2*2 + 1)
	want := []struct {
		row           string
		count, dollar float64
		digits        int
	}{
		{"receives, ten at a time", batches, batches * request, 3},
		{"deletes, ten at a time", batches, batches * request, 3},
		{"requests of sqsbatch when all succeed", 0, 0, 3},
		{"invocations", batches, batches * invocation, 3},
		{"GB-seconds: 100,000 × 0.1 s", batches * 0.1 * 0.25, batches * 0.1 * 0.25 * gbSecond, 3},
		{"**together**", -1, 2*batches*request + batches*invocation + batches*0.1*0.25*gbSecond, 3},
		{"the same one record after another", batches * 1 * 0.25, batches * 1 * 0.25 * gbSecond, 3},
		{"1 % fail once", failing, failing * request, 3},
		{"they come back", 2 * 10000, 2 * 10000 * request, 3},
		{"and invocations", 10000, 10000 * invocation, 3},
		{"and GB-seconds", 10000 * 0.1 * 0.25, 10000 * 0.1 * 0.25 * gbSecond, 3},
		{"0.1 % fail for good", 1000, 1000 * request, 3},
		{"an idle mapping", polls, polls * request, 2},
		{"two alarms", 2, 0.20, 2},
		{"a KMS key", calls, 1 + calls*0.03/10000, 2},
	}
	page := readPage(t)
	for _, w := range want {
		m := regexp.MustCompile(`(?m)^\| ` + regexp.QuoteMeta(w.row) + `[^|]*\| ([0-9,]*) ?\| \**([0-9.]+)\** \|$`).FindStringSubmatch(page)
		if m == nil {
			t.Errorf("the page has no costs of %q", w.row)
			continue
		}
		if w.count >= 0 && strings.ReplaceAll(m[1], ",", "") != strconv.FormatFloat(w.count, 'f', 0, 64) {
			t.Errorf("%s: the page counts %s, want %.0f", w.row, m[1], w.count)
		}
		if got := strconv.FormatFloat(w.dollar, 'f', w.digits, 64); m[2] != got {
			t.Errorf("%s: the page says $%s, want $%s", w.row, m[2], got)
		}
	}
}

func pow(x float64, n int) float64 {
	p := 1.
	for range n {
		p *= x
	}
	return p
}
