package snippets

import (
	"maps"
	"regexp"
	"strings"
	"testing"

	"go.yaml.in/yaml/v3"

	"github.com/sqsbatch/sqsbatch/internal/docpage"
)

// The table has the template's parameters, with their defaults.
func TestTheTableHasEveryParameter(t *testing.T) {
	page := docpage.Read(t, "../../../docs/deploying/README.md")
	var template struct {
		Parameters map[string]struct {
			Default string `yaml:"Default"`
		} `yaml:"Parameters"`
	}
	if err := yaml.Unmarshal([]byte(docpage.Read(t, "../../../template.yaml")), &template); err != nil {
		t.Fatal(err)
	}
	want, got := map[string]string{}, map[string]string{}
	for name, p := range template.Parameters {
		want[name] = p.Default
	}
	_, section, _ := strings.Cut(page, "\n## Parameters\n")
	section, _, _ = strings.Cut(section, "\n## ")
	for _, m := range regexp.MustCompile("(?m)^\\| `([A-Za-z]+)` \\| (?:`([^`]*)`)? ?\\|").FindAllStringSubmatch(section, -1) {
		got[m[1]] = m[2]
	}
	if !maps.Equal(got, want) {
		t.Errorf("the page has\n %v\nthe template\n %v", got, want)
	}
}

// Each snippet of the pages can be put into its template, and there are commands to run.
func TestEverySnippetFitsItsTemplate(t *testing.T) {
	const docs = "../../../docs"
	all, err := allParts(docs)
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range all {
		if _, err := p.assemble(docs); err != nil {
			t.Error(err)
		}
	}
	if _, err := queueCommands(docs); err != nil {
		t.Error(err)
	}
}
