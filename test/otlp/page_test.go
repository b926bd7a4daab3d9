package otlp

import (
	"strings"
	"testing"

	"github.com/sqsbatch/sqsbatch/internal/docpage"
)

// docs/observability/traces.md shows the function's main as it is.
func TestThePageShowsTheFunction(t *testing.T) {
	page := docpage.Read(t, "../../docs/observability/traces.md")
	_, code, _ := strings.Cut(docpage.Read(t, "function/main.go"), "\nfunc main() {")
	code, _, _ = strings.Cut(code, "\nfunc ship(")
	if !strings.Contains(page, "func main() {"+strings.TrimRight(code, "\n")+"\n```\n") {
		t.Errorf("the page does not show this:\nfunc main() {%s", code)
	}
}
