package otlp

import (
	"os"
	"strings"
	"testing"
)

// docs/observability/traces.md shows the function's main as it is.
func TestThePageShowsTheFunction(t *testing.T) {
	page, err := os.ReadFile("../../docs/observability/traces.md")
	if err != nil {
		t.Fatal(err)
	}
	source, err := os.ReadFile("function/main.go")
	if err != nil {
		t.Fatal(err)
	}
	_, code, _ := strings.Cut(string(source), "\nfunc main() {")
	code, _, _ = strings.Cut(code, "\nfunc ship(")
	if !strings.Contains(string(page), "func main() {"+strings.TrimRight(code, "\n")+"\n```\n") {
		t.Errorf("the page does not show this:\nfunc main() {%s", code)
	}
}
