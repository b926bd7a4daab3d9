package local_test

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/sqsbatch/sqsbatch/cmd/sqsbatch/internal/golden"
	"github.com/sqsbatch/sqsbatch/test/docpage"
)

// A run prints a line for each finding about its function, mapping and queue: errors first,
// and only a few. It prints none about alarms, permissions and encryption, none about other
// functions or events, and no notes or suppressed findings.
func TestFindings_OfWhatRuns(t *testing.T) {
	t.Parallel()
	const (
		unreported  = "20: event Work of function Orders has no ReportBatchItemFailures: if the function returns batchItemFailures, as the toolkit does, Lambda ignores them and deletes those records with the rest of the batch (SB101)"
		retention   = "2: queue Dead keeps dead letters for 345600 seconds, no longer than messages stay in Work (SB204)"
		visibility  = "6: queue Work has a VisibilityTimeout of 50 seconds; set it to 60 (6 × Timeout + window) (SB106)"
		receives    = "10: queue Work has a maxReceiveCount of 2; AWS recommends at least 5 (SB202)"
		concurrency = "24: event Work has a MaximumConcurrency of 10, above the 5 that function Orders reserves (SB109)"
		four        = "`sqsbatch lint TEMPLATE` shows all 4, with reasons and fixes"
	)
	mistaken := docpage.Read(t, "testdata/mistaken.yaml") // it has findings of all kinds
	for name, c := range map[string]struct {
		old, changed string
		args         []string
		want         []string
	}{
		"all": {want: []string{unreported, retention, visibility, receives, "`sqsbatch lint TEMPLATE` shows all 5, with reasons and fixes"}},
		"another's mapping": {old: "  Role: {", changed: "  Elsewhere: {Type: AWS::Lambda::EventSourceMapping, Properties: {FunctionName: another, EventSourceArn: !GetAtt Work.Arn, BatchSize: 100}}\n  Role: {",
			want: []string{unreported, retention, visibility, receives, "`sqsbatch lint TEMPLATE` shows all 5, with reasons and fixes"}},
		"one is suppressed":    {old: "VisibilityTimeout: 50", changed: "VisibilityTimeout: 50 # sqsbatch:ignore SB106 a test", want: []string{unreported, retention, receives, concurrency, four}},
		"the function deletes": {args: []string{"--env", "SQSBATCH_DELETE_SUCCEEDED=true"}, want: []string{retention, visibility, receives, concurrency, four}},
		"in a container":       {args: []string{"--mode", "poll"}, want: []string{retention, receives, "`sqsbatch lint TEMPLATE` shows all 2, with reasons and fixes"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			path := golden.File(t, "template.yaml", strings.Replace(mistaken, c.old, c.changed, 1))
			args := append([]string{ordersPackage, "--template", path, "--function", "Orders", "--queue", "Work", "--once", "--timeout", "1m", "-"}, c.args...)
			text := shown(t, `{"id":"o-1","sku":"ok","quantity":1}`+"\n", args...)
			var got []string
			for line := range strings.Lines(text) {
				line = strings.TrimSuffix(line, "\n")
				if _, warning, warned := strings.Cut(line, "warning: "+path+":"); warned {
					got = append(got, warning)
				} else if strings.Contains(line, "sqsbatch lint") {
					got = append(got, strings.Replace(line, path, "TEMPLATE", 1))
				}
			}
			if !slices.Equal(got, c.want) {
				t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(c.want, "\n"))
			}
		})
	}
}

// ordersPackage is the example's import path, for which no template is searched in parent
// directories.
const ordersPackage = "github.com/sqsbatch/sqsbatch/examples/orders"

// A package without a template runs with the settings of the repository's template, and the
// header names their origin.
func TestNoTemplate_RunsWithDefaults(t *testing.T) {
	t.Parallel()
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
			stdin := `{"id":"o-1","sku":"ok","quantity":1}` + "\n" + `{"id":"o-2","sku":"unknown","quantity":1}`
			text := shown(t, stdin, append([]string{ordersPackage, "-", "--once", "--timeout", "1m"}, tt.args...)...)
			if strings.Contains(text, "sqsbatch lint") {
				t.Errorf("there are findings:\n%s", text)
			}
			golden.Says(t, "the output", text,
				": "+ordersPackage+", timeout 10s, 256 MB, batches of 10, 10 at a time\n",
				"settings     "+tt.settings+"\n",
				"(visibility 1m)\n", "-dead  (after 5 receives)\n",
				"2 messages sent: 1 succeeded, 1 dead-lettered",
			)
		})
	}
}

var filtering = []string{"testdata/foreign", "--template", "testdata/filter.yaml", "--once", "--timeout", "1m", "--output", "json", "-"}

const filterable = `{"status":"paid"}` + "\n" + `{"status":"open"}` + "\npaid 7\nopen 8\n"

// TestFilterCriteria: a message that matches no filter is deleted without an invocation,
// and counts neither as succeeded nor as lost.
func TestFilterCriteria(t *testing.T) {
	t.Parallel()
	stdout, stderr, err := output(t, filterable, filtering...)
	golden.Says(t, "the header", stderr, `filter       {"body": {"status": ["paid"]}}`)
	if err != nil || strings.Contains(stderr, "warning") {
		t.Errorf("error %v; it says\n%s", err, stderr)
	}
	lines := parseLines(t, stdout)
	checkFates(t, lines, map[string][]string{
		`{"status":"paid"}`: {"1 succeeded"}, "paid 7": {"1 succeeded"},
		`{"status":"open"}`: {"1 filtered"}, "open 8": {"1 filtered"},
	})
	invoked := 0
	for _, l := range lines {
		if l.Outcome == "filtered" && (!strings.Contains(l.Reason, "matches no filter") || l.VisibleInMs != nil) {
			t.Errorf("%+v", l)
		}
		invoked += l.Records
	}
	if invoked != 2 {
		t.Errorf("%d records reached the function", invoked)
	}
	if s := summary(t, lines); s.Sent != 4 || s.Succeeded != 2 || s.Filtered != 2 || s.Lost+s.Removed+s.Remaining != 0 {
		t.Errorf("summary: %+v", s)
	}
}

func TestWrongFilterCriteria(t *testing.T) {
	good := docpage.Read(t, filepath.Join("testdata", "filter.yaml"))
	const second = `'{"body": [{"prefix": "paid "}]}'`
	for wrong, want := range map[string][]string{
		`'{"body": "paid"}'`:          {"wrong.yaml:21: function Foreign, event Work: filter 2 of FilterCriteria", `{"body": "paid"}: pattern.body: need a list`, "Correct it, as in"},
		`'{"body": {"a": [{"x":1}]}'`: {"wrong.yaml:21: function Foreign, event Work: filter 2", "not JSON"},
		`'{"messageId": ["1"]}'`:      {"filter 2", `filtered by their "body" only`},
		`{body: [paid]}`:              {"wrong.yaml:21: the Pattern of filter 2 of event Work of Foreign is a mapping; it must be a string of JSON"},
		`!Ref AWS::NoValue`:           {"filter 2 of event Work of Foreign has no Pattern; give one"},
	} {
		path := golden.File(t, "wrong.yaml", strings.Replace(good, second, wrong, 1))
		_, _, err := output(t, "", "testdata/foreign", "--template", path, "--no-samples", "--timeout", "1m")
		golden.Says(t, wrong, fmt.Sprint(err), want...)
	}
}
