package prometheus_test

import (
	"context"
	"errors"
	"fmt"
	"math"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/sqsbatch/sqsbatch/test/testhooks"

	client "github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"
	dto "github.com/prometheus/client_model/go"
	"go.uber.org/goleak"

	"github.com/sqsbatch/sqsbatch/batch"
	"github.com/sqsbatch/sqsbatch/handler"
	"github.com/sqsbatch/sqsbatch/sender"
	"github.com/sqsbatch/sqsbatch/telemetry/metric"
	"github.com/sqsbatch/sqsbatch/telemetry/prometheus"
	"github.com/sqsbatch/sqsbatch/test/testqueue"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// scrape returns the series by name and labels, as the handler writes them.
func scrape(t *testing.T, h *prometheus.Exporter) map[string]string {
	t.Helper()
	w := httptest.NewRecorder()
	h.Handler().ServeHTTP(w, httptest.NewRequest("GET", "/metrics", nil))
	if w.Code != 200 {
		t.Fatalf("%d: %s", w.Code, w.Body)
	}
	series := map[string]string{}
	for line := range strings.Lines(w.Body.String()) {
		if line = strings.TrimSpace(line); !strings.HasPrefix(line, "#") {
			at := strings.LastIndexByte(line, ' ')
			series[line[:at]] = line[at+1:]
		}
	}
	return series
}

func want(t *testing.T, got, want map[string]string) {
	t.Helper()
	for name, value := range want {
		if got[name] != value {
			t.Errorf("%s is %q, want %q", name, got[name], value)
		}
	}
}

// What a container reports of its records: while they run, and when they are done.
func TestAPollAsItIsScraped(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q, metrics := testqueue.New(t, testqueue.Standard), prometheus.New(prometheus.Config{})
		stop := q.StartPoll(batch.HandlerFunc(func(_ context.Context, r batch.Record) error {
			time.Sleep(2 * time.Second)
			switch r.Body {
			case "fail":
				return batch.RetryAfter(time.Hour, errors.New("no"))
			case "never":
				return batch.Permanent(errors.New("no"))
			case "panic":
				panic("x")
			}
			return nil
		}), handler.Config{Hooks: testhooks.Of(metrics), RecordTimeout: 4 * time.Second})
		synctest.Wait()
		want(t, scrape(t, metrics), map[string]string{
			// There before anything happened, so that the first one is an increase.
			`sqsbatch_records_total{outcome="abandoned",queue="orders"}`:                  "0",
			`sqsbatch_call_failures_total{operation="DeleteMessageBatch",queue="orders"}`: "0",
			`sqsbatch_slots{queue="orders"}`:                                              "10", `sqsbatch_running{queue="orders"}`: "0",
		})
		q.Send("ok", "ok", "fail", "never", "panic")
		time.Sleep(time.Second)
		want(t, scrape(t, metrics), map[string]string{`sqsbatch_running{queue="orders"}`: "5", `sqsbatch_oldest_running_seconds{queue="orders"}`: "1"})
		time.Sleep(2 * time.Second)
		want(t, scrape(t, metrics), map[string]string{
			`sqsbatch_records_total{outcome="succeeded",queue="orders"}`:               "2",
			`sqsbatch_records_total{outcome="retry",queue="orders"}`:                   "2",
			`sqsbatch_records_total{outcome="dead-letter",queue="orders"}`:             "1",
			`sqsbatch_records_panicked_total{queue="orders"}`:                          "1",
			`sqsbatch_record_duration_seconds_bucket{queue="orders",le="1"}`:           "0",
			`sqsbatch_record_duration_seconds_bucket{queue="orders",le="2.5"}`:         "5",
			`sqsbatch_record_duration_seconds_sum{queue="orders"}`:                     "10",
			`sqsbatch_deadline_used_ratio_sum{queue="orders"}`:                         "2.5",
			`sqsbatch_deadline_used_ratio_bucket{queue="orders",le="0.5"}`:             "5",
			`sqsbatch_attempts_bucket{queue="orders",le="1"}`:                          "5",
			`sqsbatch_call_entries_total{operation="ReceiveMessage",queue="orders"}`:   "5",
			`sqsbatch_call_entries_total{operation="SendMessageBatch",queue="orders"}`: "1",
			`sqsbatch_running{queue="orders"}`:                                         "0", `sqsbatch_oldest_running_seconds{queue="orders"}`: "0",
		})
		stop()
		want(t, scrape(t, metrics), map[string]string{`sqsbatch_slots{queue="orders"}`: "10", `sqsbatch_undeleted{queue="orders"}`: "0"})
	})
}

// everything has metrics told all that there is, of two queues and of none.
func everything(metrics *prometheus.Exporter) {
	ctx := context.Background()
	for n, queue := range []string{"arn:aws:sqs:eu-west-1:123456789012:orders", "arn:aws:sqs:eu-west-1:123456789012:bills.fifo", ""} {
		var results []batch.Result
		for o := batch.Succeeded; o <= batch.Abandoned; o++ {
			for i := range 200 {
				results = append(results, batch.Result{
					Record:  &batch.Record{MessageID: fmt.Sprint(o, i), Attempt: 1 + i, SentAt: time.Now().Add(-time.Duration(i) * time.Hour), QueueARN: queue},
					Outcome: o, Started: time.Now(), Duration: time.Duration(i*i) * time.Millisecond, Allowed: 10 * time.Second, MaxReceiveCount: 3, Err: batch.ErrGoexit,
				})
			}
		}
		metrics.Hooks().BatchSettled(ctx, batch.BatchInfo{QueueARN: queue, Started: time.Now()}, results)
		for _, operation := range []string{"ReceiveMessage", "DeleteMessageBatch", "ChangeMessageVisibilityBatch", "SendMessageBatch", "GetQueueUrl", "Another"} {
			metrics.Hooks().Called(ctx, batch.Call{Operation: operation, QueueARN: queue, Entries: 10, Failed: 2, Err: errors.New("no")})
		}
		metrics.SenderCalled(sender.Call{URL: queue, Entries: 7, Bytes: 1 << 20, Waited: time.Second, Retried: 1, Failed: 1, Throttled: 1})
		metrics.Hooks().Warned(ctx, batch.Warning{Message: fmt.Sprint("look ", n), Queue: batch.QueueName(queue), Serious: true})
		metrics.Hooks().Polling(ctx, queue, func() batch.Status { return batch.Status{Concurrency: 10, Counts: batch.Counts{Lost: 1, Repeated: 1}} })
	}
}

func TestPromlintFindsNothing(t *testing.T) {
	metrics := prometheus.New(prometheus.Config{})
	everything(metrics)
	registry := client.NewPedanticRegistry()
	registry.MustRegister(metrics)
	problems, err := testutil.GatherAndLint(registry)
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range problems {
		t.Errorf("%s: %s", p.Metric, p.Text)
	}
	if n, err := testutil.GatherAndCount(registry, "sqsbatch_records_total", "sqsbatch_message_age_seconds"); err != nil || n != 3*10+3 {
		t.Errorf("%d series of two metrics, %v", n, err)
	}
}

// Whatever happens, a queue has the same series: the package's comment says how many. These
// include those of package sender.
func TestTheSeriesOfAQueueAreBounded(t *testing.T) {
	for _, c := range []struct {
		o    prometheus.Config
		said int
	}{{prometheus.Config{}, 115 + 32}, {prometheus.Config{NativeOnly: true}, 115 - 62 + 32 - 22}} {
		metrics := prometheus.New(c.o)
		var counts []int
		for range 2 {
			everything(metrics)
			n := 0
			for name := range scrape(t, metrics) {
				if strings.Contains(name, `queue="orders"`) {
					n++
				}
			}
			counts = append(counts, n)
		}
		if counts[0] != c.said || counts[1] != c.said {
			t.Errorf("%+v: %v series, the package's comments say %d", c.o, counts, c.said)
		}
	}
}

func TestNothingIsAllocatedForARecord(t *testing.T) {
	metrics := prometheus.New(prometheus.Config{})
	results := make([]batch.Result, 100)
	for i := range results {
		results[i] = batch.Result{Record: &batch.Record{Attempt: 1, SentAt: time.Now()}, Outcome: batch.Succeeded, Started: time.Now(),
			Duration: time.Duration(i) * time.Millisecond, Allowed: time.Second}
	}
	settle := func() {
		metrics.Hooks().BatchSettled(context.Background(), batch.BatchInfo{QueueARN: "orders", Started: time.Now()}, results)
	}
	settle()
	if n := testing.AllocsPerRun(100, settle); n > 1 {
		t.Errorf("%v allocations for 100 records", n)
	}
}

// A queue's name comes from an event, and a label must be UTF-8.
func TestAQueueWhoseNameIsNoText(t *testing.T) {
	metrics := prometheus.New(prometheus.Config{})
	for _, queue := range []string{"arn:aws:sqs:eu-west-1:123456789012:or\xffders", "\xc3\x28", "\x00\n\"{}"} {
		metrics.Hooks().BatchSettled(t.Context(), batch.BatchInfo{QueueARN: queue}, []batch.Result{{Record: &batch.Record{QueueARN: queue}, Outcome: batch.Retry}})
		metrics.Hooks().Called(t.Context(), batch.Call{Operation: "ReceiveMessage", QueueARN: queue})
		metrics.Hooks().Polling(t.Context(), queue, func() batch.Status { return batch.Status{Concurrency: 3} })
	}
	want(t, scrape(t, metrics), map[string]string{
		"sqsbatch_records_total{outcome=\"retry\",queue=\"or\uFFFDders\"}":          "1",
		"sqsbatch_calls_total{operation=\"ReceiveMessage\",queue=\"or\uFFFDders\"}": "1",
		"sqsbatch_slots{queue=\"\uFFFD(\"}":                                         "3",
		"sqsbatch_slots{queue=\"\x00\\n\\\"{}\"}":                                   "3",
	})
}

// histogram is what a server that scrapes native histograms is given.
func histogram(t *testing.T, metrics *prometheus.Exporter, m *metric.Metric) *dto.Histogram {
	t.Helper()
	registry := client.NewRegistry()
	registry.MustRegister(metrics)
	families, err := registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range families {
		if f.GetName() == prometheus.Name(m) {
			return f.GetMetric()[0].GetHistogram()
		}
	}
	t.Fatalf("there is no %s", prometheus.Name(m))
	return nil
}

func bounds(h *dto.Histogram) (list []float64) {
	for _, b := range h.GetBucket() {
		list = append(list, b.GetUpperBound())
	}
	return list
}

// Every distribution has native buckets, and classic ones for older servers.
func TestHistogramsHaveBothKindsOfBuckets(t *testing.T) {
	both, native := prometheus.New(prometheus.Config{}), prometheus.New(prometheus.Config{NativeOnly: true})
	own := prometheus.New(prometheus.Config{DurationBuckets: []float64{1, 2}, AgeBuckets: []float64{3}})
	for _, metrics := range []*prometheus.Exporter{both, native, own} {
		everything(metrics)
	}
	distributions := 0
	for _, m := range metric.All {
		if m.Kind != metric.Distribution {
			continue
		}
		distributions++
		for name, metrics := range map[string]*prometheus.Exporter{"both": both, "native": native} {
			h := histogram(t, metrics, m)
			if math.Pow(2, math.Pow(2, -float64(h.GetSchema()))) > 1.1 || len(h.GetPositiveSpan()) == 0 || h.GetSampleCount() == 0 {
				t.Errorf("%s, %s: schema %d, %d spans", m.Name, name, h.GetSchema(), len(h.GetPositiveSpan()))
			}
			if classic := bounds(h); (len(classic) > 0) != (name == "both") || !slices.IsSorted(classic) {
				t.Errorf("%s, %s: classic buckets %v", m.Name, name, classic)
			}
		}
	}
	if distributions < 5 {
		t.Errorf("%d distributions", distributions)
	}
	if got := bounds(histogram(t, own, metric.RecordDuration)); !slices.Equal(got, []float64{1, 2}) {
		t.Errorf("DurationBuckets are %v", got)
	}
	if got := bounds(histogram(t, own, metric.MessageAge)); !slices.Equal(got, []float64{3}) {
		t.Errorf("AgeBuckets are %v", got)
	}
}

func TestBucketsAreValidated(t *testing.T) {
	for want, o := range map[string]prometheus.Config{
		"DurationBuckets[1] is 1": {DurationBuckets: []float64{1, 1}}, "DurationBuckets[0] is 0": {DurationBuckets: []float64{0, 1}},
		"AgeBuckets[0] is NaN": {AgeBuckets: []float64{math.NaN()}}, "AgeBuckets[2] is 2": {AgeBuckets: []float64{1, 3, 2}},
	} {
		metrics := prometheus.New(o)
		if err := metrics.Hooks().Validate(); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %q", err, want)
		}
		everything(metrics) // no panic
	}
	if err := prometheus.New(prometheus.Config{DurationBuckets: []float64{1, 2}}).Hooks().Validate(); err != nil {
		t.Error(err)
	}
}
