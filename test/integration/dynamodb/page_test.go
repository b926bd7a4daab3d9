package dynamodb

import (
	"regexp"
	"strings"
	"testing"

	"github.com/sqsbatch/sqsbatch/test/docpage"
)

// The functions of docs/powertools.md are those that the check calls: Python's word for word,
// and Go's with the same table, prefix and key.
func TestPage_HasTheFunctions(t *testing.T) {
	section := docpage.Read(t, "../../../docs/powertools.md")
	block := func(language string) string {
		found := regexp.MustCompile("(?s)\n```" + language + "\n(.*?)```\n").FindStringSubmatch(section)
		if found == nil {
			t.Fatalf("the page has no block of %s", language)
		}
		return found[1]
	}
	for text, parts := range map[string][]string{
		docpage.Read(t, "powertools/program.py"):  {block("python"), `table_name="` + shared + `"`, `key_prefix="` + prefix + `"`, `event_key_jmespath="orderId"`},
		docpage.Read(t, "powertools/program.cjs"): {`tableName: "` + shared + `"`, `keyPrefix: "` + prefix + `"`, `eventKeyJmesPath: "orderId"`},
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
