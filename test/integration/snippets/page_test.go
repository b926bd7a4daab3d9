package snippets

import (
	"errors"
	"maps"
	"regexp"
	"strings"
	"testing"

	"go.yaml.in/yaml/v3"

	"github.com/sqsbatch/sqsbatch/test/docpage"
	"github.com/sqsbatch/sqsbatch/test/internal/must"
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
	var errs []error
	err := must.Run(func() {
		for _, p := range allParts(docs) {
			_, err := p.assemble(docs)
			errs = append(errs, err)
		}
		queueCommands(docs)
	})
	if err := errors.Join(append(errs, err)...); err != nil {
		t.Error(err)
	}
}
