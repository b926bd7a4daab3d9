package local_test

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/sqsbatch/sqsbatch/cmd/sqsbatch/internal/cli"
	"github.com/sqsbatch/sqsbatch/cmd/sqsbatch/internal/golden"
)

// ordersPackage names the example by its import path: no template is looked for above it.
const ordersPackage = "github.com/sqsbatch/sqsbatch/examples/orders"

// A package without a template runs with the settings that the repository's template has,
// and the header says where they are from.
func TestNoTemplate_RunsWithDefaults(t *testing.T) {
	t.Parallel()
	own := filepath.Join(root, "template.yaml")
	for _, tt := range []struct {
		name     string
		args     []string
		settings string
	}{
		{"none", nil, "defaults, because there is no template.yaml in .; --template FILE names one"},
		{"the repository's", []string{"--template", own}, own},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			var out bytes.Buffer
			stdin := strings.NewReader(`{"id":"o-1","sku":"ok","quantity":1}` + "\n" + `{"id":"o-2","sku":"unknown","quantity":1}`)
			args := append([]string{ordersPackage, "-", "--once", "--timeout", "1m"}, tt.args...)
			if err := runLocal(t.Context(), args, cli.IO{Stdin: stdin, Stdout: &out, Stderr: os.Stderr}); err != nil {
				t.Fatalf("%v\n%s", err, out.String())
			}
			if strings.Contains(out.String(), "sqsbatch lint") {
				t.Errorf("there are findings:\n%s", out.String())
			}
			golden.Says(t, "the output", out.String(),
				": "+ordersPackage+", timeout 10s, 256 MB, batches of 10, 10 at a time\n",
				"settings     "+tt.settings+"\n",
				"(visibility 1m)\n", "-dead  (after 5 receives)\n",
				"2 messages sent: 1 succeeded, 1 dead-lettered",
			)
		})
	}
}
