package emf_test

import (
	"bytes"
	"encoding/json"
	"flag"
	"fmt"
	"regexp"
	"strings"
	"testing"

	"github.com/sqsbatch/sqsbatch/internal/docpage"
	"github.com/sqsbatch/sqsbatch/telemetry/metric"
	"github.com/sqsbatch/sqsbatch/telemetry/prometheus"
)

var update = flag.Bool("update", false, "write files and metrics into the pages of docs/observability")

const pages = "../../docs/observability/"

// table is the list of metrics as the page has it.
func table() string {
	var b strings.Builder
	b.WriteString("| metric | | unit | Prometheus | what it is, and what to do |\n| --- | --- | --- | --- | --- |\n")
	for _, m := range metric.All {
		labels, poll := "", ""
		if m.Label != "" {
			labels = fmt.Sprintf("{%s=%q}", m.Label, m.Value)
		}
		if m.Poll {
			poll = " †"
		}
		fmt.Fprintf(&b, "| `%s`%s | %s | %s | `%s%s` | %s |\n", m.Name, poll, m.Kind, m.Unit, prometheus.Name(m), labels, m.Help)
	}
	return b.String()
}

// The pages show the files and the list of metrics as they are. After a change:
//
//	go test ./telemetry/emf -run TestThePage -update
func TestThePagesHaveTheFiles(t *testing.T) {
	for _, page := range []string{"emf.md", "prometheus.md"} {
		docpage.RequireFiles(t, pages+page, *update)
	}
}

func TestThePageHasTheMetrics(t *testing.T) {
	docpage.RequireSection(t, pages+"metrics.md", "metrics", table(), *update)
}

// The line that the page shows is a document of metrics that there are.
func TestThePageShowsADocument(t *testing.T) {
	found := regexp.MustCompile("(?s)```json\n(\\{\"_aws\".*?)```\n").FindStringSubmatch(docpage.Read(t, pages+"emf.md"))
	if found == nil {
		t.Fatal("the page shows no document")
	}
	var line bytes.Buffer
	ok(t, json.Compact(&line, []byte(found[1])))
	d, err := parse(line.String())
	ok(t, err)
	for name, unit := range d.units {
		if m := metric.ByName(name); m == nil || string(m.Unit) != unit {
			t.Errorf("%s in %s is not in the list", name, unit)
		}
	}
	for name := range d.properties {
		if metric.ByName(name) != nil {
			t.Errorf("%s has a value and no definition", name)
		}
	}
}
