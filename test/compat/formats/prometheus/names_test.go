package prometheus

import (
	"encoding/json"
	"os"
	"strings"
	"testing"

	"github.com/prometheus/common/model"
	"github.com/prometheus/prometheus/promql/parser"

	"github.com/sqsbatch/sqsbatch/telemetry/metric"
	"github.com/sqsbatch/sqsbatch/telemetry/prometheus"
)

// checkNames fails for each series, label or value that no exporter has.
func checkNames(t *testing.T, where, expr string) {
	t.Helper()
	parsed, err := parser.NewParser(parser.Options{}).ParseExpr(expr)
	if err != nil {
		t.Errorf("%s: %v in %s", where, err, expr)
		return
	}
	found := 0
	parser.Inspect(parsed, func(n parser.Node, _ []parser.Node) error {
		if v, ok := n.(*parser.VectorSelector); ok {
			if v.Name == started { // the process collector's, see TestWhatAServerTakes
				return nil
			}
			found++
			checkSelector(t, where, v)
		}
		return nil
	})
	if found == 0 {
		t.Errorf("%s: %s asks for nothing", where, expr)
	}
}

func checkSelector(t *testing.T, where string, v *parser.VectorSelector) {
	t.Helper()
	known, values := false, map[string][]string{}
	for _, m := range metric.All {
		name := prometheus.Name(m)
		known = known || v.Name == name || m.Kind == metric.Distribution && v.Name == name+"_bucket"
		if v.Name == name && m.Label != "" {
			values[m.Label] = append(values[m.Label], m.Value)
		}
	}
	if !known {
		t.Errorf("%s: there is no series %s", where, v.Name)
	}
	for _, m := range v.LabelMatchers {
		switch m.Name {
		case model.MetricNameLabel, "job", "queue":
			continue
		}
		matches := 0
		for _, value := range values[m.Name] {
			if m.Matches(value) {
				matches++
			}
		}
		if want := 1 + strings.Count(m.Value, "|"); matches != want {
			t.Errorf("%s: %s matches %d of %v, want %d", where, m, matches, values[m.Name], want)
		}
	}
}

func TestRulesAskForWhatIsThere(t *testing.T) {
	for name, r := range rules(t) {
		checkNames(t, name, r.Expr)
	}
}

func TestTheGrafanaDashboardAsksForWhatIsThere(t *testing.T) {
	text, err := os.ReadFile("../../../../deploy/grafana.json")
	if err != nil {
		t.Fatal(err)
	}
	var d struct {
		Panels []struct {
			Title   string
			Targets []struct{ Expr string }
		}
	}
	if err := json.Unmarshal(text, &d); err != nil {
		t.Fatal(err)
	}
	targets := 0
	for _, p := range d.Panels {
		for _, target := range p.Targets {
			targets++
			checkNames(t, p.Title, strings.NewReplacer("$__rate_interval", "2m", "$job", ".*", "$queue", ".*").Replace(target.Expr))
		}
	}
	if targets < 30 {
		t.Errorf("%d targets", targets)
	}
}
