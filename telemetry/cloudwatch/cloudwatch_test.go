package cloudwatch_test

import (
	"context"
	"fmt"
	"maps"
	"net/http"
	"net/http/httptest"
	"os"
	"regexp"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/smithy-go/encoding/cbor"
	"github.com/sqsbatch/sqsbatch/batch"
	"github.com/sqsbatch/sqsbatch/telemetry/cloudwatch"
	"github.com/sqsbatch/sqsbatch/telemetry/metric"
	"github.com/sqsbatch/sqsbatch/test/docpage"
)

// A minute is put once, with names, units, dimensions and its time.
func TestAMinuteIsOneCall(t *testing.T) {
	virtual(t, &fake{}, cloudwatch.Config{Namespace: "Shop", Dimensions: map[string]string{"Environment": "test"}}, func(t *testing.T, f *fake, h *cloudwatch.Exporter) {
		minute := time.Now().Truncate(time.Minute)
		time.Sleep(13 * time.Second)
		for range 20 {
			settle(h, orders, 100*time.Millisecond, 100*time.Millisecond, 300*time.Millisecond)
			time.Sleep(time.Second)
		}
		h.Hooks().Called(t.Context(), batch.Call{Operation: "DeleteMessageBatch", QueueARN: orders, Entries: 10, Failed: 2})
		time.Sleep(time.Hour)
		puts := f.all()
		if len(puts) != 1 || puts[0].namespace != "Shop" || puts[0].at.Before(minute.Add(time.Minute)) || puts[0].at.After(minute.Add(70*time.Second)) {
			t.Fatalf("put %+v", puts)
		}
		want := map[string][2]float64{ // sum and number of observations
			"RecordsSucceeded": {60, 1}, "ColdStarts": {1, 1}, "BatchSize": {60, 20}, "RecordDuration": {10_000, 60}, "DeadlineUsed": {600, 60},
			"Attempts": {60, 60}, "MessageAge": {70, 60}, "DeleteCalls": {1, 1}, "DeleteEntries": {10, 1}, "DeleteFailures": {2, 1},
		}
		for _, g := range puts[0].data {
			m := metric.ByName(*g.MetricName)
			if m == nil || string(g.Unit) != string(m.Unit) || g.StorageResolution != nil || !g.Timestamp.Equal(minute) {
				t.Errorf("put %+v, in the list there is %+v", g, m)
			}
			if want := map[string]string{"Service": "orders", "Queue": "orders", "Environment": "test"}; !maps.Equal(g.dimensions(), want) {
				t.Errorf("%s has the dimensions %v", *g.MetricName, g.dimensions())
			}
			sum, count := g.sum()
			if w := want[*g.MetricName]; fmt.Sprintf("%.6g %g", sum, count) != fmt.Sprintf("%.6g %g", w[0], w[1]) {
				t.Errorf("%s is %g of %g, want %v", *g.MetricName, sum, count, w)
			}
			delete(want, *g.MetricName)
		}
		if len(want) > 0 {
			t.Errorf("not put: %v", want)
		}
		d := f.of("RecordDuration")[0]
		if !slices.Equal(d.Values, []float64{100, 300}) || !slices.Equal(d.Counts, []float64{40, 20}) {
			t.Errorf("durations %v %v", d.Values, d.Counts)
		}
	})
}

// Each task puts its slots once for each minute, so that the sum over the tasks
// is what they can do, and their number the number of tasks.
func TestGaugesAreOncePerPeriod(t *testing.T) {
	for _, o := range []cloudwatch.Config{{}, {Interval: 10 * time.Second, HighResolution: true}} {
		virtual(t, &fake{}, o, func(t *testing.T, f *fake, h *cloudwatch.Exporter) {
			every := max(o.Interval, 10*time.Second)
			if o.Interval == 0 {
				every = time.Minute
			}
			begin := time.Now()
			time.Sleep(every / 3)
			var ended atomic.Bool
			h.Hooks().Polling(t.Context(), orders, func() batch.Status {
				return batch.Status{Concurrency: 10, State: map[bool]string{true: "stopped"}[ended.Load()]}
			})
			time.Sleep(20*every + every/2)
			ended.Store(true)
			h.Hooks().Flush(t.Context())
			time.Sleep(time.Hour)
			slots := f.of("Slots")
			if len(slots) != 21 {
				t.Fatalf("%d data of slots", len(slots))
			}
			for i, g := range slots {
				if want := begin.Add(time.Duration(i) * every); !g.Timestamp.Equal(want) || *g.Value != 10 || (aws.ToInt32(g.StorageResolution) == 1) != o.HighResolution {
					t.Errorf("slots %d: %+v, want it at %v", i, g, want)
				}
			}
		})
	}
}

// However much there is, each call and datum is within CloudWatch's limits (the
// fake sees to that), few calls are made, and nothing is lost.
func TestLimits(t *testing.T) {
	for name, c := range map[string]struct {
		dimensions      map[string]string
		queues, records int
		least           int64 // bytes of the largest call
	}{
		"long dimensions": {dimensions(28, 200), 60, 3000, 985_000},
		"many values":     {nil, 250, 400, 985_000},
	} {
		t.Run(name, func(t *testing.T) {
			virtual(t, &fake{}, cloudwatch.Config{Dimensions: c.dimensions}, func(t *testing.T, f *fake, h *cloudwatch.Exporter) {
				took := make([]time.Duration, c.records)
				var sum float64
				for i := range took {
					took[i] = time.Duration(i*i*i) * 37 * time.Microsecond
					sum += float64(c.queues) * float64(took[i].Microseconds()) / 1000
				}
				for q := range c.queues {
					settle(h, fmt.Sprintf("%s-%d", orders, q), took...)
				}
				h.Hooks().Flush(t.Context())
				largest := int64(0)
				for _, p := range f.all() {
					largest = max(largest, p.bytes)
					if p.compressed != (p.bytes >= 10240) {
						t.Errorf("%d bytes were compressed: %v", p.bytes, p.compressed)
					}
				}
				if largest < c.least {
					t.Errorf("the largest of %d calls had %d bytes: they could be fewer", len(f.all()), largest)
				}
				if got, n := f.total("RecordDuration"); int(n) != c.queues*c.records || got < sum*(1-metric.Error) || got > sum*(1+metric.Error) {
					t.Errorf("durations %g of %g, want %g of %d", got, n, sum, c.queues*c.records)
				}
				parts := slices.DeleteFunc(f.of("RecordDuration"), func(g got) bool { return g.dimensions()["Queue"] != "orders-7" })
				if len(parts) < 2 || len(parts[0].Values) != 150 {
					t.Errorf("the durations of a queue are in %d data", len(parts))
				}
			})
		})
	}
}

func TestCallsAreSpread(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := &fake{t: t}
		begin := time.Now()
		for range 50 {
			settle(f.hook(cloudwatch.Config{}), orders, time.Millisecond)
		}
		time.Sleep(time.Hour)
		least, most := time.Hour, time.Duration(0)
		for _, p := range f.all() {
			after := p.at.Sub(begin) - time.Minute
			least, most = min(least, after), max(most, after)
		}
		if len(f.all()) != 50 || least < 0 || most > 10*time.Second || most-least < 5*time.Second {
			t.Errorf("%d calls, from %v to %v after the minute", len(f.all()), least, most)
		}
	})
}

// Small data are bounded by their number.
func TestAThousandData(t *testing.T) {
	virtual(t, &fake{}, cloudwatch.Config{}, func(t *testing.T, f *fake, h *cloudwatch.Exporter) {
		for q := range 1500 {
			h.Hooks().Called(t.Context(), batch.Call{Operation: "GetQueueUrl", QueueARN: fmt.Sprintf("%s-%d", orders, q)})
		}
		h.Hooks().Flush(t.Context())
		if puts := f.all(); len(puts) != 2 || len(puts[0].data) != 1000 || len(puts[1].data) != 500 {
			t.Errorf("%d calls", len(puts))
		}
	})
}

func dimensions(n, length int) map[string]string {
	all := map[string]string{}
	for i := range n {
		all[fmt.Sprintf("Dimension%d", i)] = strings.Repeat("x", length)
	}
	return all
}

// Without a client one is made by the environment, which must name a region.
func TestTheClientOfTheEnvironment(t *testing.T) {
	var paths []string
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		paths = append(paths, r.URL.Path)
		w.Header().Set("Smithy-Protocol", "rpc-v2-cbor")
		_, _ = w.Write(cbor.Encode(cbor.Map{}))
	}))
	defer server.Close()
	for name, value := range map[string]string{
		"AWS_ENDPOINT_URL_CLOUDWATCH": server.URL, "AWS_DEFAULT_REGION": "", "AWS_ACCESS_KEY_ID": "test", "AWS_SECRET_ACCESS_KEY": "test",
		"AWS_CONFIG_FILE": os.DevNull, "AWS_SHARED_CREDENTIALS_FILE": os.DevNull, "AWS_PROFILE": "", "AWS_EC2_METADATA_DISABLED": "true",
	} {
		t.Setenv(name, value)
	}
	f := &fake{t: t}
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	h := cloudwatch.New(cloudwatch.Config{Warned: func(_ context.Context, w batch.Warning) {
		f.Warned(ctx, w)
		cancel() // the flush has seen that nothing can be sent
	}})
	t.Setenv("AWS_REGION", "")
	settle(h, orders, time.Millisecond)
	h.Hooks().Flush(ctx)
	if w := f.warnings(); len(paths) != 0 || len(w) == 0 || !strings.Contains(fmt.Sprint(w[0].Err), "set AWS_REGION") {
		t.Errorf("without a region: asked for %q, warned %v", paths, w)
	}
	t.Setenv("AWS_REGION", "eu-west-1")
	h.Hooks().Flush(t.Context())
	if len(paths) != 1 || !strings.HasSuffix(paths[0], "/operation/PutMetricData") {
		t.Errorf("asked for %q", paths)
	}
	http.DefaultClient.CloseIdleConnections()
}

// What both adapters share is in the test of emf's options.
func TestValidate(t *testing.T) {
	for _, c := range []struct {
		options cloudwatch.Config
		want    string
	}{
		{cloudwatch.Config{}, ""},
		{cloudwatch.Config{Service: "orders", Namespace: "Shop/Orders", Interval: time.Second, Dimensions: dimensions(28, 1024)}, ""},
		{cloudwatch.Config{Service: ":orders"}, "Service"},
		{cloudwatch.Config{Interval: time.Millisecond}, "Interval is 1ms"},
		{cloudwatch.Config{Dimensions: dimensions(1, 1025)}, "Dimensions"},
		{cloudwatch.Config{Dimensions: map[string]string{"Queue": "x"}}, `"Queue"`},
	} {
		err := cloudwatch.New(c.options).Hooks().Validate()
		if c.want == "" && err != nil || c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)) {
			t.Errorf("%+v: %v, want %q", c.options, err, c.want)
		}
	}
}

// The page's metric math asks for a metric as it is put: the samples are the tasks.
func TestThePagesMetricMath(t *testing.T) {
	block := regexp.MustCompile("(?s)<!-- metric math.*?\n```\n").FindString(docpage.Read(t, "../../docs/observability/cloudwatch.md"))
	asked := regexp.MustCompile(`(Stat|Namespace|MetricName|\{Name): \w+`).FindAllString(block, -1)
	virtual(t, &fake{}, cloudwatch.Config{}, func(t *testing.T, f *fake, h *cloudwatch.Exporter) {
		h.Hooks().Polling(t.Context(), orders, func() batch.Status { return batch.Status{Concurrency: 10, State: "stopped"} })
		h.Hooks().Flush(t.Context())
		slots := f.of("Slots")
		want := []string{"Stat: SampleCount", "Namespace: " + f.all()[0].namespace, "MetricName: Slots"}
		for name := range slots[0].dimensions() {
			want = append(want, "{Name: "+name)
		}
		slices.Sort(asked)
		slices.Sort(want)
		if _, n := slots[0].sum(); len(slots) != 1 || n != 1 || !slices.Equal(asked, want) {
			t.Errorf("asked for %q of %d samples, want %q", asked, len(slots), want)
		}
	})
}
