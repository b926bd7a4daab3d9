package deploy_test

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/sqsbatch/sqsbatch/telemetry/metric"
	"github.com/sqsbatch/sqsbatch/telemetry/prometheus"
	"github.com/sqsbatch/sqsbatch/test/docpage"
)

const onlySenders = "only programs that use package sender have it"

// leftOut are the metrics that no dashboard shows, and why.
var leftOut = map[*metric.Metric]string{
	metric.DeleteEntries:     "the calls tell what is paid, the failures what goes wrong",
	metric.VisibilityEntries: "the calls tell what is paid, the failures what goes wrong",
	metric.DeadLetterEntries: "the same, and RecordsDeadLettered counts what arrived",
	metric.SendBatchSize:     onlySenders,
	metric.SendBytes:         onlySenders,
	metric.SendWait:          onlySenders,
	metric.SendRetries:       onlySenders,
	metric.SendFailures:      onlySenders,
	metric.SendThrottles:     onlySenders,
}

// A widget is one of CloudWatch's: its rows are a namespace, a name, pairs of
// dimensions, options ("Dashboard body structure and syntax", API Reference).
type widget struct {
	Type          string
	Width, Height int
	Properties    struct {
		Title, Region string
		Metrics       [][]any
	}
}

// labels are those of its rows.
func (w widget) labels() (list []string) {
	for _, row := range w.Properties.Metrics {
		label, _ := row[len(row)-1].(map[string]any)["label"].(string)
		list = append(list, label)
	}
	return list
}

// widgets are those of monitoring.yaml, on Lambda or in containers.
func widgets(t *testing.T, lambda bool) []widget {
	t.Helper()
	sub := at(t, load(t, "monitoring.yaml"), "Resources", "Dashboard", "Properties", "DashboardBody", "Sub")
	mode := at(t, sub, "1", "Mode", "If", map[bool]string{true: "1", false: "2"}[lambda], "Sub").(string)
	body := strings.NewReplacer("${Mode}", mode).Replace(at(t, sub, "0").(string))
	body = strings.NewReplacer("${AWS::Region}", "eu-west-1", "${Namespace}", "sqsbatch", "${Service}", "orders", "${QueueName}", "orders",
		"${DeadLetterQueueName}", "orders-dead", "${FunctionName}", "ship").Replace(body)
	if at := strings.Index(body, "${"); at >= 0 {
		t.Fatalf("a parameter is not known: %.40s", body[at:])
	}
	var b struct{ Widgets []widget }
	if err := json.Unmarshal([]byte(body), &b); err != nil {
		t.Fatalf("%v in %s", err, body)
	}
	return b.Widgets
}

// What CloudWatch is given is a dashboard in both modes.
func TestTheBodyIsADashboard(t *testing.T) {
	var inContainers []string
	for _, w := range widgets(t, false) {
		inContainers = append(inContainers, w.Properties.Title)
	}
	for lambda, want := range map[bool]string{true: "Invocations", false: "Slots"} {
		found, all := false, widgets(t, lambda)
		if len(all) < 15 || len(all) > 500 {
			t.Errorf("%d widgets", len(all))
		}
		for _, w := range all {
			p := w.Properties
			found = found || p.Title == want
			if w.Type != "metric" || w.Width*w.Height == 0 || p.Region != "eu-west-1" || len(p.Metrics) == 0 {
				t.Errorf("widget %+v", w)
			}
			for _, row := range p.Metrics {
				checkRow(t, p.Title, row, slices.Contains(inContainers, p.Title))
			}
		}
		if !found {
			t.Errorf("on Lambda %v: no %q", lambda, want)
		}
	}
}

func checkRow(t *testing.T, title string, row []any, inContainers bool) {
	t.Helper()
	options, ok := row[len(row)-1].(map[string]any)
	if !ok || options["stat"] == nil && options["expression"] == nil {
		t.Errorf("%s: %v", title, row)
	}
	names := row[:len(row)-1]
	if options["expression"] == nil && (len(names) < 4 || len(names)%2 != 0) {
		t.Errorf("%s: %v is no namespace, name and dimensions", title, names)
	}
	if len(names) < 2 || names[0] != "sqsbatch" {
		return
	}
	m := metric.ByName(names[1].(string))
	if m == nil {
		t.Errorf("%s: there is no metric %v", title, names[1])
		return
	}
	if m.Kind != metric.Counter && options["stat"] == "Sum" {
		t.Errorf("%s: the sum of %s says nothing", title, m.Name)
	}
	if m.Poll && !inContainers {
		t.Errorf("%s: %s is not there on Lambda", title, m.Name)
	}
}

// A grafanaPanel is one of Grafana's.
type grafanaPanel struct {
	Title, Description string
	GridPos            struct{ X, Y, W, H int }
	Targets            []struct{ Expr, LegendFormat string }
}

func grafana(t *testing.T) []grafanaPanel {
	t.Helper()
	var d struct{ Panels []grafanaPanel }
	if err := json.Unmarshal([]byte(docpage.Read(t, "grafana.json")), &d); err != nil {
		t.Fatal(err)
	}
	return d.Panels
}

// Grafana shows what CloudWatch does in containers, by the same names, as far as
// Prometheus has it. That its series are there is tested in test/compat/formats/prometheus.
func TestTheGrafanaDashboardIsWhole(t *testing.T) {
	places := map[[2]int]bool{}
	for _, p := range grafana(t) {
		place := [2]int{p.GridPos.X, p.GridPos.Y}
		if places[place] || p.GridPos.X+p.GridPos.W > 24 || p.Description == "" || len(p.Targets) == 0 {
			t.Errorf("%s: at %v, %d targets", p.Title, place, len(p.Targets))
		}
		places[place] = true
		var same []string
		for _, w := range widgets(t, false) {
			if w.Properties.Title == p.Title {
				same = w.labels()
			}
		}
		for _, target := range p.Targets {
			if !strings.Contains(target.Expr, `queue=~"$queue"`) || !slices.Contains(same, target.LegendFormat) {
				t.Errorf("%s: %+v, CloudWatch's dashboard has %q", p.Title, target, same)
			}
		}
	}
	if len(places) < 12 {
		t.Errorf("%d panels", len(places))
	}
}

// Each metric is in both dashboards, or is left out for a reason; none is both.
func TestEveryMetricIsShownOrLeftOut(t *testing.T) {
	shown := map[string]bool{}
	for _, lambda := range []bool{true, false} {
		for _, w := range widgets(t, lambda) {
			for _, row := range w.Properties.Metrics {
				if row[0] == "sqsbatch" {
					shown[row[1].(string)] = true
				}
			}
		}
	}
	var exprs strings.Builder
	for _, p := range grafana(t) {
		for _, target := range p.Targets {
			exprs.WriteString(target.Expr + "\n")
		}
	}
	for _, m := range metric.All {
		_, out := leftOut[m]
		series := prometheus.Name(m) + "{"
		if m.Kind == metric.Distribution {
			series = prometheus.Name(m) + "_bucket{"
		}
		inGrafana := false
		for expr := range strings.Lines(exprs.String()) {
			of := m.Label == "" || strings.Contains(expr, m.Label+`="`+m.Value+`"`)
			inGrafana = inGrafana || of && strings.Contains(expr, series)
		}
		if shown[m.Name] == out || inGrafana == out {
			t.Errorf("%s is shown by CloudWatch: %v, by Grafana: %v, left out: %v", m.Name, shown[m.Name], inGrafana, out)
		}
	}
}
