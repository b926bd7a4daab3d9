package main

import (
	"errors"
	"maps"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/sqsbatch/sqsbatch/test/docpage"
	"github.com/sqsbatch/sqsbatch/test/internal/must"
	"github.com/sqsbatch/sqsbatch/test/internal/tools"
	"go.yaml.in/yaml/v3"
)

// The table has the template's parameters, with their defaults.
func TestTheTableHasEveryParameter(t *testing.T) {
	page := docpage.Read(t, "../../docs/deploying/README.md")
	var template struct {
		Parameters map[string]struct {
			Default string `yaml:"Default"`
		} `yaml:"Parameters"`
	}
	if err := yaml.Unmarshal([]byte(docpage.Read(t, "../../template.yaml")), &template); err != nil {
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
	const docs = "../../docs"
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

// The page names the versions that are tried, Maven has its own file for them.
func TestVersions(t *testing.T) {
	root := filepath.Join("..", "..")
	for file, want := range map[string][]string{
		"programs/pom.xml": {"<version>" + springCloudVersion + "</version>"},
		filepath.Join(root, "docs", "emulators.md"): {
			"| boto3 | " + tools.Boto3 + "; " + oldBoto3 + " ",
			"| AWS CLI | " + tools.AWSCLIVersion + " |",
			"| " + sqsConsumerVersion + ", " + sqsProducerVersion + " |",
			"| " + celeryVersion + ", " + kombuVersion + " |",
			"| Spring Cloud AWS (Java) | " + springCloudVersion + " |",
		},
	} {
		text := docpage.Read(t, file)
		for _, s := range want {
			if !strings.Contains(text, s) {
				t.Errorf("%s does not say %q", file, s)
			}
		}
	}
}

// The functions of docs/powertools.md are those that the check calls: Python's word for word,
// and Go's with the same table, prefix and key.
func TestPage_HasTheFunctions(t *testing.T) {
	section := docpage.Read(t, "../../docs/powertools.md")
	block := func(language string) string {
		found := regexp.MustCompile("(?s)\n```" + language + "\n(.*?)```\n").FindStringSubmatch(section)
		if found == nil {
			t.Fatalf("the page has no block of %s", language)
		}
		return found[1]
	}
	for text, parts := range map[string][]string{
		docpage.Read(t, "programs/powertools.py"):  {block("python"), `table_name="` + shared + `"`, `key_prefix="` + prefix + `"`, `event_key_jmespath="orderId"`},
		docpage.Read(t, "programs/powertools.cjs"): {`tableName: "` + shared + `"`, `keyPrefix: "` + prefix + `"`, `eventKeyJmesPath: "orderId"`},
		block("go"): {`"` + shared + `")`, `Prefix: "` + prefix + `"`, `idempotency.Field("orderId")`, "idempotency.PowertoolsPython"},
		section:     {"Powertools " + powertoolsPython + " for Python and " + powertoolsTypeScript + " for TypeScript"},
	} {
		for _, part := range parts {
			if !strings.Contains(text, part) {
				t.Errorf("there is no\n%s\nin\n%s", part, text)
			}
		}
	}
}
