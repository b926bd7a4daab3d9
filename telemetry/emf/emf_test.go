package emf_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"maps"
	"math"
	"math/rand/v2"
	"regexp"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/sqsbatch/sqsbatch/test/testhooks"

	"go.uber.org/goleak"

	"github.com/sqsbatch/sqsbatch/batch"
	"github.com/sqsbatch/sqsbatch/handler"
	"github.com/sqsbatch/sqsbatch/internal/hooks"
	"github.com/sqsbatch/sqsbatch/telemetry/emf"
	"github.com/sqsbatch/sqsbatch/telemetry/metric"
	"github.com/sqsbatch/sqsbatch/telemetry/prometheus"
	"github.com/sqsbatch/sqsbatch/test/docpage"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const orders = "arn:aws:sqs:eu-west-1:123456789012:orders"

// output is a writer that tests look into.
type output struct {
	mu    sync.Mutex
	buf   bytes.Buffer
	calls int
}

func (o *output) Write(p []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.calls++
	return o.buf.Write(p)
}

func (o *output) take() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	defer o.buf.Reset()
	return o.buf.String()
}

func record(o batch.Outcome, took time.Duration) batch.Result {
	return batch.Result{Record: &batch.Record{Attempt: 1, QueueARN: orders}, Outcome: o, Started: time.Now(), Duration: took, Allowed: time.Second}
}

func settle(h *emf.Exporter, results ...batch.Result) {
	h.Hooks().BatchSettled(context.Background(), batch.BatchInfo{QueueARN: orders, Records: len(results), Started: time.Now()}, results)
}

func TestADocument(t *testing.T) {
	t.Setenv("AWS_LAMBDA_RUNTIME_API", "127.0.0.1:9001")
	t.Setenv("AWS_LAMBDA_FUNCTION_NAME", "ship")
	t.Setenv("AWS_LAMBDA_FUNCTION_VERSION", "$LATEST")
	synctest.Test(t, func(t *testing.T) {
		out := &output{}
		h := emf.New(emf.Config{Service: "orders", Writer: out, Properties: map[string]string{"version": "<1> \"é\""}, Dimensions: map[string]string{"Stage": "prod"}})
		settle(h, record(batch.Succeeded, 20*time.Millisecond), record(batch.Succeeded, 10*time.Millisecond), record(batch.Retry, 500*time.Millisecond))
		h.Hooks().Flush(t.Context())
		got := out.take()
		want := `{"_aws":{"Timestamp":946684800000,"CloudWatchMetrics":[{"Namespace":"sqsbatch","Dimensions":[["Service","Stage","Queue"]],"Metrics":[` +
			`{"Name":"RecordsSucceeded","Unit":"Count"},{"Name":"RecordsRetried","Unit":"Count"},{"Name":"ColdStarts","Unit":"Count"},` +
			`{"Name":"RecordDuration","Unit":"Milliseconds"},{"Name":"DeadlineUsed","Unit":"Percent"},{"Name":"Attempts","Unit":"Count"},{"Name":"BatchSize","Unit":"Count"}]}]},` +
			`"Service":"orders","Stage":"prod","functionName":"ship","functionVersion":"$LATEST","version":"<1> \"é\"","Queue":"orders","coldStart":true,` +
			`"RecordsSucceeded":2,"RecordsRetried":1,"ColdStarts":1,"RecordDuration":[10,20,500],"DeadlineUsed":[1,2,50],"Attempts":[1,1,1],"BatchSize":[3]}` + "\n"
		if got != want {
			t.Errorf("got  %s\nwant %s", got, want)
		}
		read(t, got)
		h.Hooks().Flush(t.Context())
		if got := out.take(); got != "" {
			t.Errorf("written without anything to tell: %s", got)
		}
		h.Hooks().Warned(t.Context(), batch.Warning{Message: "look"})
		h.Hooks().Flush(t.Context())
		if d := read(t, out.take()); len(d) != 1 || len(d[0].dimensions) != 2 || d[0].properties["coldStart"] != nil {
			t.Errorf("a warning of no queue: %+v", d)
		}
	})
}

// Whatever is observed, documents keep the limits and say all of it.
func TestDocumentsHoldToTheLimitsAndLoseNothing(t *testing.T) {
	t.Setenv("AWS_LAMBDA_LOG_FORMAT", "JSON")
	t.Setenv("AWS_LAMBDA_LOG_LEVEL", "ERROR")
	for _, c := range []struct {
		records, least, most int // documents
		spread               float64
		property             int // bytes of it
	}{{10, 1, 1, 1, 1}, {100, 1, 1, 1, 1}, {101, 1, 2, 1, 1}, {1000, 1, 10, 1, 1}, {10_000, 2, 10, 10, 1}, {10_000, 3, 10, 20, 1}, {4000, 4, 10, 16, 9_980}} {
		t.Run(fmt.Sprint(c.records, c.spread), func(t *testing.T) {
			r := rand.New(rand.NewPCG(1, uint64(c.records)))
			out := &output{}
			h := emf.New(emf.Config{Writer: out, Namespace: "mine", HighResolution: true, Properties: map[string]string{"much": strings.Repeat("x", c.property)}})
			ok(t, h.Hooks().Validate())
			var results []batch.Result
			var all metric.Values
			for i := range c.records {
				took := time.Duration(math.Exp(r.Float64()*c.spread) * float64(time.Microsecond))
				all.Observe(float64(took.Microseconds()) / 1e3)
				result := record(batch.Succeeded, took)
				result.Record.SentAt, result.Record.Attempt = result.Started.Add(-took), i
				results = append(results, result)
			}
			h.Hooks().Polling(t.Context(), orders, func() batch.Status {
				return batch.Status{Concurrency: 1000, State: "stopped", Counts: batch.Counts{Lost: 1, Repeated: 1}}
			})
			settle(h, results...)
			for _, m := range []string{"ReceiveMessage", "DeleteMessageBatch", "ChangeMessageVisibilityBatch", "SendMessageBatch", "GetQueueUrl"} {
				h.Hooks().Called(t.Context(), batch.Call{Operation: m, QueueARN: orders, Entries: 5, Failed: 2})
			}
			h.Hooks().Flush(t.Context())
			docs := read(t, out.take())
			if out.calls != len(docs) || len(docs) < c.least || len(docs) > c.most {
				t.Errorf("%d documents in %d writes, want %d to %d", len(docs), out.calls, c.least, c.most)
			}
			want := map[float64]int{}
			for _, v := range all.Append(nil) {
				want[v.Value] = v.Count
			}
			got, seen := map[float64]int{}, map[string]int{}
			for _, d := range docs {
				if len(d.line) > 16_000 {
					t.Errorf("a document of %d bytes", len(d.line))
				}
				if d.namespace != "mine" || !strings.Contains(d.line, `"StorageResolution":1`) || d.dimensions["Queue"] != "orders" {
					t.Errorf("%s", d.line)
				}
				for name, values := range d.values {
					if name == "RecordDuration" {
						for v, n := range values {
							got[v] += n
						}
					} else if metric.ByName(name).Kind != metric.Distribution {
						seen[name]++
					}
				}
			}
			if !maps.Equal(got, want) {
				t.Errorf("the values are %v, want %v", got, want)
			}
			if len(seen) < 15+8 {
				t.Errorf("counters %v", seen)
			}
			for name, n := range seen {
				if n != 1 {
					t.Errorf("%s is in %d documents", name, n)
				}
			}
		})
	}
}

// failing is a writer that fails or panics once, after a part of what it is given.
type failing struct {
	output
	part   int
	panics bool
	failed bool
}

func (f *failing) Write(p []byte) (int, error) {
	if f.failed {
		return f.output.Write(p)
	}
	f.failed = true
	n, _ := f.output.Write(p[:f.part])
	if f.panics {
		panic("a writer's")
	}
	return n, errors.New("no space left")
}

// A writer that fails or panics costs its line, and neither the process nor later lines.
func TestLinesThatCannotBeWrittenAreCounted(t *testing.T) {
	for _, f := range []*failing{{part: 0}, {part: 10}, {part: 10, panics: true}} {
		synctest.Test(t, func(t *testing.T) {
			h := emf.New(emf.Config{Writer: f})
			ok(t, h.Hooks().Validate())
			hooks := hooks.New(h.Hooks())
			for range 6 {
				hooks.BatchSettled(context.Background(), batch.BatchInfo{QueueARN: orders}, []batch.Result{record(batch.Succeeded, 0), record(batch.Succeeded, 0)})
				hooks.Flush(t.Context())
			}
			written := f.take()
			torn := ""
			if f.part > 0 {
				torn, written, _ = strings.Cut(written, "\n")
			}
			batches := 0
			for _, d := range read(t, written) {
				batches += d.values["RecordsSucceeded"][2]
				if d.properties["droppedLines"] != 1.0 {
					t.Error(d.line)
				}
			}
			if h.Dropped() != 1 || len(torn) != f.part || batches != 5 {
				t.Errorf("dropped %d, torn %q, then %d batches of 5", h.Dropped(), torn, batches)
			}
		})
	}
}

func FuzzProperties(f *testing.F) {
	f.Add("version", "1.2.3")
	f.Add("a\"b\\", "\x00\xff\u2028é\n")
	f.Fuzz(func(t *testing.T, name, value string) {
		out := &output{}
		h := emf.New(emf.Config{Writer: out, Properties: map[string]string{name: value}})
		if h.Hooks().Validate() != nil || value == "" {
			return
		}
		settle(h, record(batch.Succeeded, 0))
		h.Hooks().Flush(t.Context())
		d := read(t, out.take())
		if got := d[0].properties[string([]rune(name))]; len(d) != 1 || got == nil {
			t.Errorf("property %q: %q is %v", name, value, d[0].properties)
		}
	})
}

func TestOptionsAreValidatedBeforeAnythingIsHandled(t *testing.T) {
	many := map[string]string{}
	for i := range 29 {
		many["D"+strings.Repeat("x", i)] = "v"
	}
	for _, c := range []struct {
		o    emf.Config
		want string
	}{
		{emf.Config{Service: ":x"}, `Service is ":x"`}, {emf.Config{Service: " "}, "Service"}, {emf.Config{Service: "ö"}, "Service"},
		{emf.Config{Service: strings.Repeat("x", 1025)}, "1024"},
		{emf.Config{Namespace: "AWS/SQS"}, `Namespace is "AWS/SQS"`}, {emf.Config{Namespace: strings.Repeat("x", 256)}, "255"},
		{emf.Config{Interval: -1}, "Interval is -1ns, must be 1s to 1h"}, {emf.Config{Interval: 2 * time.Hour}, "Interval"},
		{emf.Config{Dimensions: many}, "29 entries"}, {emf.Config{Dimensions: map[string]string{"Queue": "x"}}, `"Queue", which has a meaning already`},
		{emf.Config{Dimensions: map[string]string{"A": ""}}, `"A": ""`}, {emf.Config{Dimensions: map[string]string{"BatchSize": "x"}}, "BatchSize"},
		{emf.Config{Properties: map[string]string{"_aws": "x"}}, "_aws"},
		{emf.Config{Properties: map[string]string{"level": "x"}}, `"level"`}, {emf.Config{Dimensions: map[string]string{"timestamp": "x"}}, `"timestamp"`},
		{emf.Config{Properties: map[string]string{"A": strings.Repeat("\x00", 1700)}}, "10206 bytes"},
		{emf.Config{Properties: map[string]string{"A": "x"}, Dimensions: map[string]string{"A": "x"}}, `Properties has "A"`},
	} {
		_, err := handler.New(batch.HandlerFunc(func(context.Context, batch.Record) error { return nil }), handler.Config{Hooks: testhooks.Of(emf.New(c.o))})
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%+v: %v, want %q", c.o, err, c.want)
		}
	}
	ok(t, emf.New(emf.Config{Interval: time.Second, Properties: map[string]string{"version": "1"}}).Hooks().Validate())
}

func ok(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

var update = flag.Bool("update", false, "write files and metrics into the pages of docs/observability")

const pages = "../../docs/observability/"

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

// The page has the list of metrics as it is. After a change:
//
//	go test ./telemetry/emf -run TestThePage -update
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
