package dashboard

import (
	"encoding/json"
	"flag"
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/sqsbatch/sqsbatch/telemetry/metric"
)

var update = flag.Bool("update", false, "write the dashboards into deploy")

const deploy = "../../../deploy/"

func read(t *testing.T, name string) string {
	t.Helper()
	b, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	return strings.ReplaceAll(string(b), "\r\n", "\n")
}

func hold(t *testing.T, name, want string) {
	t.Helper()
	if *update {
		if err := os.WriteFile(name, []byte(want), 0o644); err != nil {
			t.Fatal(err)
		}
	} else if read(t, name) != want {
		t.Errorf("%s is not what the list of panels makes: go test ./telemetry/internal/dashboard -update", name)
	}
}

func TestTheFilesAreMadeFromTheList(t *testing.T) {
	name := deploy + "monitoring.yaml"
	made := regexp.MustCompile(`(?s)(\n  # From here on made by: [^\n]*\n).*?(\nOutputs:|Outputs:)`)
	text := read(t, name)
	if len(made.FindAllString(text, -1)) != 1 {
		t.Fatalf("%s has no place for the dashboard", name)
	}
	hold(t, name, made.ReplaceAllStringFunc(text, func(s string) string {
		return made.FindStringSubmatch(s)[1] + cloudWatch() + "\nOutputs:"
	}))
	if *update {
		if err := os.MkdirAll(deploy+"grafana", 0o755); err != nil {
			t.Fatal(err)
		}
	}
	hold(t, deploy+"grafana/sqsbatch.json", string(grafana()))
}

// Each metric is in a panel, or is left out for a reason; none is both.
func TestEveryMetricIsShownOrLeftOut(t *testing.T) {
	shown := map[*metric.Metric]bool{}
	titles := map[string]bool{}
	for _, p := range panels {
		if titles[p.title] || p.help == "" || len(p.lines) == 0 {
			t.Errorf("panel %q is there twice, says nothing or shows nothing", p.title)
		}
		titles[p.title] = true
		for _, l := range p.lines {
			if (l.metric == nil) == (l.aws == nil) || l.label == "" || l.aws != nil && l.stat == "" {
				t.Errorf("%s: line %+v", p.title, l)
				continue
			}
			if l.metric == nil {
				continue
			}
			shown[l.metric] = true
			if l.metric.Kind == metric.Distribution && l.stat == "" {
				t.Errorf("%s: the sum of %s says nothing", p.title, l.metric.Name)
			}
			if l.metric.Poll && p.at == onLambda {
				t.Errorf("%s: %s is not there on Lambda", p.title, l.metric.Name)
			}
		}
	}
	for _, m := range metric.All {
		if reason, out := leftOut[m]; shown[m] == out || out && reason == "" {
			t.Errorf("%s is shown: %v, left out: %v (%q)", m.Name, shown[m], out, reason)
		}
	}
}

// body is the dashboard as CloudFormation makes it, on Lambda or in containers.
func body(t *testing.T, lambda bool) (b struct {
	Widgets []struct {
		Type          string
		Width, Height int
		Properties    struct {
			Title   string
			Region  string
			Metrics [][]any
		}
	}
}) {
	t.Helper()
	text := cloudWatch()
	common := between(t, text, "DashboardBody: !Sub\n        - |\n", "        - Mode: !If\n")
	mode := between(t, text, "- OnLambda\n            - !Sub |\n", "            - !Sub |\n")
	if !lambda {
		_, mode, _ = strings.Cut(text, mode)
		mode = strings.TrimPrefix(mode, "            - !Sub |\n")
	}
	text = strings.Replace(common, "${Mode}", mode, 1)
	text = strings.NewReplacer("${AWS::Region}", "eu-west-1", "${Namespace}", "sqsbatch", "${Service}", "orders", "${QueueName}", "orders",
		"${DeadLetterQueueName}", "orders-dead", "${FunctionName}", "ship").Replace(text)
	if at := strings.Index(text, "${"); at >= 0 {
		t.Fatalf("a parameter is not known: %.40s", text[at:])
	}
	d := json.NewDecoder(strings.NewReader(text))
	if err := d.Decode(&b); err != nil {
		t.Fatalf("%v in %s", err, text)
	}
	return b
}

func between(t *testing.T, s, from, to string) string {
	t.Helper()
	_, s, ok := strings.Cut(s, from)
	s, _, ended := strings.Cut(s, to)
	if !ok || !ended {
		t.Fatalf("there is nothing between %q and %q", from, to)
	}
	return s
}

// What CloudWatch is given is a dashboard in both modes: rows of a namespace, a
// name, pairs of dimensions and options.
func TestTheBodyIsADashboard(t *testing.T) {
	for lambda, want := range map[bool]string{true: "Invocations", false: "Slots"} {
		b, found := body(t, lambda), false
		if len(b.Widgets) < 15 || len(b.Widgets) > 500 {
			t.Errorf("%d widgets", len(b.Widgets))
		}
		for _, w := range b.Widgets {
			p := w.Properties
			found = found || p.Title == want
			if w.Type != "metric" || w.Width*w.Height == 0 || p.Region != "eu-west-1" || len(p.Metrics) == 0 {
				t.Errorf("widget %+v", w)
			}
			for _, row := range p.Metrics {
				options, ok := row[len(row)-1].(map[string]any)
				if !ok || options["stat"] == nil && options["expression"] == nil {
					t.Errorf("%s: %v", p.Title, row)
				}
				names := row[:len(row)-1]
				if options["expression"] == nil && (len(names) < 4 || len(names)%2 != 0) {
					t.Errorf("%s: %v is no namespace, name and dimensions", p.Title, names)
				}
				if len(names) > 1 && names[0] == "sqsbatch" && metric.ByName(names[1].(string)) == nil {
					t.Errorf("%s: there is no metric %v", p.Title, names[1])
				}
			}
		}
		if !found {
			t.Errorf("on Lambda %v: no %q", lambda, want)
		}
	}
}

func TestTheGrafanaDashboardIsWhole(t *testing.T) {
	var d struct {
		Panels []struct {
			ID          int
			Title       string
			Description string
			GridPos     struct{ X, Y, W, H int }
			Targets     []struct{ Expr, RefID, LegendFormat string }
		}
	}
	if err := json.Unmarshal(grafana(), &d); err != nil {
		t.Fatal(err)
	}
	if len(d.Panels) < 12 {
		t.Errorf("%d panels", len(d.Panels))
	}
	places := map[[2]int]bool{}
	for _, p := range d.Panels {
		place := [2]int{p.GridPos.X, p.GridPos.Y}
		if places[place] || p.GridPos.X+p.GridPos.W > 24 || p.Description == "" || len(p.Targets) == 0 {
			t.Errorf("%s: at %v, %d targets", p.Title, place, len(p.Targets))
		}
		places[place] = true
		for _, target := range p.Targets {
			if target.Expr == "" || target.LegendFormat == "" || !strings.Contains(target.Expr, `queue=~"$queue"`) {
				t.Errorf("%s: %+v", p.Title, target)
			}
		}
	}
}
