package cloudwatch_test

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/sqsbatch/sqsbatch/batch"
	"github.com/sqsbatch/sqsbatch/telemetry/cloudwatch"
)

// While CloudWatch fails, what is observed waits, and is put with its own
// minute when it works again, by few calls. It is reported once.
func TestAnOutageLosesNothing(t *testing.T) {
	virtual(t, &fake{}, cloudwatch.Config{}, func(t *testing.T, f *fake, h *cloudwatch.Exporter) {
		begin := time.Now()
		f.answer = failing(http.StatusServiceUnavailable, "ServiceUnavailable", begin.Add(30*time.Minute))
		time.Sleep(20 * time.Second)
		for range 60 {
			settle(h, orders, time.Millisecond)
			time.Sleep(time.Minute)
		}
		time.Sleep(time.Hour)
		of := f.of("RecordsSucceeded")
		if len(of) != 60 || h.Dropped() != 0 {
			t.Fatalf("%d minutes were put, %d data dropped", len(of), h.Dropped())
		}
		for i, g := range of {
			if want := begin.Add(time.Duration(i) * time.Minute); !g.Timestamp.Equal(want) || *g.Value != 1 {
				t.Errorf("minute %d: %+v, want it at %v", i, g, want)
			}
		}
		failed := f.called() - len(f.all())
		if first := f.all()[0]; first.at.Sub(begin) > 36*time.Minute || len(first.data) < 100 || failed > 20 {
			t.Errorf("%d calls failed, the first that succeeded came after %v with %d data", failed, first.at.Sub(begin), len(first.data))
		}
		if w := f.warnings(); len(w) != 1 || !strings.Contains(w[0].Message, "cannot be sent") || w[0].Err == nil {
			t.Errorf("warned %+v", w)
		}
	})
}

// What waits has a bound. The newest is kept; the rest is counted, and told.
func TestWhatWaitsHasABound(t *testing.T) {
	virtual(t, &fake{}, cloudwatch.Config{}, func(t *testing.T, f *fake, h *cloudwatch.Exporter) {
		begin := time.Now()
		f.answer = failing(http.StatusServiceUnavailable, "ServiceUnavailable", begin.Add(150*time.Minute))
		const minutes, queues = 3 * 60, 20
		took := make([]time.Duration, 70)
		for i := range took {
			took[i] = time.Duration(i*i) * time.Millisecond
		}
		time.Sleep(20 * time.Second)
		for range minutes {
			for q := range queues {
				settle(h, fmt.Sprintf("%s-%d", orders, q), took...)
			}
			time.Sleep(time.Minute)
		}
		time.Sleep(time.Hour)
		bytes, data := int64(0), 0
		oldest := begin.Add(minutes * time.Minute)
		for _, p := range f.all() {
			if p.at.Before(begin.Add(156 * time.Minute)) {
				bytes += p.bytes
			}
			data += len(p.data)
			for _, g := range p.data {
				oldest = slices.MinFunc([]time.Time{oldest, *g.Timestamp}, time.Time.Compare)
			}
		}
		if bytes < 3<<20 || bytes > 4<<20+1<<20 {
			t.Errorf("%d bytes had waited", bytes)
		}
		kept, _ := f.total("RecordsSucceeded")
		since := int(begin.Add(minutes*time.Minute).Sub(oldest) / time.Minute)
		if want := since * queues * len(took); int(kept) != want {
			t.Errorf("%g records were kept since %v, want all %d", kept, oldest, want)
		}
		if got, perMinute := h.Dropped()+data, data/since; h.Dropped() == 0 || got < (minutes-1)*perMinute {
			t.Errorf("dropped %d and put %d data, of %d a minute", h.Dropped(), data, perMinute)
		}
		told := fmt.Sprint(f.warnings())
		if n := strings.Count(told, "dropped"); n < 2 || n > 3 { // each hour
			t.Errorf("told %d times: %s", n, told)
		}
	})
}

// The answer decides what is reported to an operator, and whether the data are kept.
func TestRefusals(t *testing.T) {
	for _, c := range []struct {
		status int
		code   string
		told   string
		within time.Duration
		again  bool
	}{
		{400, "AccessDenied", "cloudwatch:PutMetricData", 0, true},
		{403, "AccessDeniedException", "cloudwatch:namespace sqsbatch", 0, true},
		{400, "ThrottlingException", "throttles", 10 * time.Second, true},
		{429, "Unknown", "throttles", 10 * time.Second, true},
		{403, "SignatureDoesNotMatch", "clock", 0, true},
		{403, "RequestTimeTooSkewed", "clock", 0, true},
		{400, "ExpiredTokenException", "credentials", 0, true},
		{400, "InvalidParameterValue", "does not accept these metrics", 0, false},
		{413, "RequestEntityTooLarge", "does not accept these metrics", 0, false},
		{500, "InternalServiceFault", "cannot be sent", 10 * time.Second, true},
		{408, "RequestTimeout", "cannot be sent", 10 * time.Second, true},
		// A proxy knows nothing of the data: they wait, unless it says that they are too large.
		{400, proxy, "cannot be sent", 10 * time.Second, true},
		{403, proxy, "credentials", 0, true},
		{404, proxy, "cannot be sent", 10 * time.Second, true},
		{407, proxy, "cannot be sent", 10 * time.Second, true},
		{408, proxy, "cannot be sent", 10 * time.Second, true},
		{502, proxy, "cannot be sent", 10 * time.Second, true},
		{413, proxy, "does not accept these metrics", 0, false},
	} {
		t.Run(fmt.Sprint(c.status, c.code), func(t *testing.T) {
			virtual(t, &fake{}, cloudwatch.Config{}, func(t *testing.T, f *fake, h *cloudwatch.Exporter) {
				f.answer = failing(c.status, c.code, time.Now().Add(90*time.Minute))
				settle(h, orders, time.Millisecond)
				time.Sleep(71*time.Second + c.within)
				if w := f.warnings(); len(w) != 1 || !strings.Contains(w[0].Message, c.told) || !strings.Contains(w[0].Err.Error(), c.code) {
					t.Fatalf("warned %+v, want %q", w, c.told)
				}
				time.Sleep(2 * time.Hour)
				if _, n := f.total("RecordsSucceeded"); n == 1 != c.again || h.Dropped() > 0 == c.again {
					t.Errorf("put %g times, dropped %d data", n, h.Dropped())
				}
				if w := f.warnings(); len(w) != 1 && len(w) != 2 || c.again && len(w) != 2 {
					t.Errorf("warned %d times in 90 minutes, want each hour", len(w))
				}
			})
		})
	}
}

// Whatever fails for a while, each record is put once. A short failure that a second try
// fixes is not reported, each outage is, and counts as a warning. A clock that is wrong is
// reported, since data are put with its time; the client learns from the answer. A panic in
// the client, or in a hook for warnings, does not end the process.
func TestWarnings(t *testing.T) {
	for name, c := range map[string]struct {
		fake   *fake
		fails  func(call int, minute time.Duration) bool
		code   string
		failed int // calls; -1: any number
		want   []string
	}{
		"a blip":         {&fake{}, func(call int, _ time.Duration) bool { return call < 2 }, "InternalServiceFault", 2, nil},
		"a panic":        {&fake{panics: true}, func(call int, _ time.Duration) bool { return call < 5 }, "panic", 5, []string{"cannot be sent"}},
		"a fast clock":   {&fake{ahead: 10 * time.Minute}, nil, "", 1, []string{"clock"}},
		"a slow clock":   {&fake{ahead: -10 * time.Minute}, nil, "", 1, []string{"clock"}},
		"another outage": {&fake{}, func(_ int, m time.Duration) bool { return m < 10 || m >= 20 && m < 30 }, "AccessDenied", -1, []string{"PutMetricData", "PutMetricData"}},
	} {
		t.Run(name, func(t *testing.T) {
			virtual(t, c.fake, cloudwatch.Config{}, func(t *testing.T, f *fake, h *cloudwatch.Exporter) {
				begin := time.Now()
				f.answer = func(_ context.Context, n int) (int, string, error) {
					switch {
					case c.fails == nil || !c.fails(n, time.Since(begin)/time.Minute):
						return 200, "", nil
					case c.code == "panic":
						panic("a client")
					}
					return 500, c.code, nil
				}
				for range 30 {
					settle(h, orders, time.Millisecond)
					time.Sleep(time.Minute)
				}
				time.Sleep(time.Hour)
				sum, _ := f.total("RecordsSucceeded")
				if failed := f.called() - len(f.all()); sum != 30 || c.failed >= 0 && failed != c.failed {
					t.Errorf("%g records, %d calls failed", sum, failed)
				}
				if w := f.warnings(); !slices.EqualFunc(w, c.want, func(w batch.Warning, part string) bool { return strings.Contains(w.Message, part) }) {
					t.Errorf("warned %+v, want %q", w, c.want)
				}
				for _, g := range f.of("Warnings") {
					if g.dimensions()["Queue"] != "" || g.dimensions()["Service"] != "orders" {
						t.Errorf("%+v", g)
					}
				}
				if n, _ := f.total("Warnings"); int(n) != len(c.want) {
					t.Errorf("%g warnings are counted", n)
				}
			})
		})
	}
}

func TestSilenceDelaysNoRecord(t *testing.T) {
	virtual(t, &fake{answer: silent}, cloudwatch.Config{}, func(t *testing.T, f *fake, h *cloudwatch.Exporter) {
		for range 600 {
			before := time.Now()
			settle(h, orders, time.Millisecond)
			h.Hooks().Called(t.Context(), batch.Call{Operation: "DeleteMessageBatch", QueueARN: orders, Entries: 1})
			if took := time.Since(before); took != 0 {
				t.Fatalf("a batch took %v", took)
			}
			time.Sleep(time.Second)
		}
		if w := f.warnings(); len(w) != 1 || !strings.Contains(w[0].Message, "does not answer") {
			t.Errorf("warned %+v", w)
		}
		f.recover()
		h.Hooks().Flush(t.Context())
		if sum, _ := f.total("RecordsSucceeded"); sum != 600 {
			t.Errorf("%g records", sum)
		}
	})
}

// flushed flushes for so long at most, and returns how long it took.
func flushed(h *cloudwatch.Exporter, limit time.Duration) time.Duration {
	before := time.Now()
	ctx, cancel := context.WithTimeout(context.Background(), limit)
	defer cancel()
	h.Hooks().Flush(ctx)
	return time.Since(before)
}

// At a stop everything is put, without the wait that spreads calls.
func TestFlush(t *testing.T) {
	virtual(t, &fake{}, cloudwatch.Config{}, func(t *testing.T, f *fake, h *cloudwatch.Exporter) {
		if took := flushed(h, 5*time.Second); took != 0 || f.called() != 0 {
			t.Errorf("with nothing observed it took %v and %d calls", took, f.called())
		}
		time.Sleep(70 * time.Second)
		settle(h, orders, time.Millisecond)
		if took := flushed(h, 5*time.Second); took != 0 {
			t.Errorf("took %v", took)
		}
		if of := f.of("RecordsSucceeded"); len(of) != 1 || !of[0].Timestamp.Equal(time.Now().Truncate(time.Minute)) {
			t.Errorf("put %+v", of)
		}
		took := flushed(h, 5*time.Second)
		if time.Sleep(time.Hour); took != 0 || f.called() != 1 {
			t.Errorf("with nothing left to put it took %v and %d calls", took, f.called())
		}
	})
}

// A flush tries again, soon, for as long as it may.
func TestFlushTriesAgain(t *testing.T) {
	virtual(t, &fake{}, cloudwatch.Config{}, func(t *testing.T, f *fake, h *cloudwatch.Exporter) {
		f.answer = failing(http.StatusServiceUnavailable, "ServiceUnavailable", time.Now().Add(3*time.Second))
		settle(h, orders, time.Millisecond)
		if took := flushed(h, 5*time.Second); took < 3*time.Second || took > 4*time.Second {
			t.Errorf("took %v", took)
		}
		if _, n := f.total("RecordsSucceeded"); n != 1 || f.called() < 5 {
			t.Errorf("put %g times in %d calls", n, f.called())
		}
	})
}

// A stop waits no longer than it may, tries a last time, and says what is left.
func TestFlushEnds(t *testing.T) {
	for name, answer := range map[string]func(context.Context, int) (int, string, error){
		"silent": silent,
		"denied": func(context.Context, int) (int, string, error) { return 403, "AccessDenied", nil },
	} {
		t.Run(name, func(t *testing.T) {
			virtual(t, &fake{answer: answer}, cloudwatch.Config{}, func(t *testing.T, f *fake, h *cloudwatch.Exporter) {
				for range 30 {
					settle(h, orders, time.Millisecond)
					time.Sleep(time.Minute)
				}
				before := f.called()
				if took := flushed(h, 4*time.Second); took != 4*time.Second {
					t.Errorf("took %v", took)
				}
				if f.called() == before && name != "silent" { // there the one before may still go on
					t.Error("no last try")
				}
				w := f.warnings()
				if last := w[len(w)-1].Message; !strings.Contains(last, "before the stop") {
					t.Errorf("warned %q last", last)
				}
				f.recover()
				time.Sleep(time.Hour) // the process is still there: nothing is lost
				if sum, _ := f.total("RecordsSucceeded"); sum != 30 {
					t.Errorf("%g records", sum)
				}
			})
		})
	}
}

// A refusal that only an operator can fix costs no invocation time, and an endpoint
// that does not answer costs only some of them time.
func TestLambdaInTrouble(t *testing.T) {
	t.Setenv("AWS_LAMBDA_RUNTIME_API", "127.0.0.1:9001")
	t.Setenv("AWS_LAMBDA_FUNCTION_NAME", "ship-orders")
	for name, c := range map[string]struct {
		answer func(context.Context, int) (int, string, error)
		most   time.Duration // of 600 invocations, all together
	}{
		"silent": {silent, 40 * time.Second},
		"denied": {func(context.Context, int) (int, string, error) { return 403, "AccessDenied", nil }, 0},
	} {
		t.Run(name, func(t *testing.T) {
			virtual(t, &fake{answer: c.answer}, cloudwatch.Config{}, func(t *testing.T, f *fake, h *cloudwatch.Exporter) {
				var all time.Duration
				for range 600 {
					settle(h, orders, time.Millisecond)
					all += flushed(h, 2*time.Second)
					time.Sleep(time.Second)
				}
				if all > c.most {
					t.Errorf("600 flushes took %v", all)
				}
				f.recover()
				for range 400 { // the backoff ends
					flushed(h, 2*time.Second)
					time.Sleep(time.Second)
				}
				if sum, n := f.total("RecordsSucceeded"); sum != 600 || n != 600 || len(f.all()) > 10 {
					t.Errorf("%g records by %d calls", sum, len(f.all()))
				}
				if w := f.warnings(); len(w) != 1 {
					t.Errorf("warned %+v", w)
				}
				for range 3 { // each invocation puts its own
					settle(h, orders, time.Millisecond)
					if took := flushed(h, 2*time.Second); took != 0 {
						t.Errorf("took %v", took)
					}
				}
				of := f.of("RecordsSucceeded")
				if last := of[len(of)-1].dimensions(); len(of) != 603 || last["Service"] != "ship-orders" || last["Queue"] != "orders" {
					t.Errorf("%d data, the last of %v", len(of), last)
				}
			})
		})
	}
}
