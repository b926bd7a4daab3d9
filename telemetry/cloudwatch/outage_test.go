package cloudwatch_test

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/sqsbatch/sqsbatch/batch"
	"github.com/sqsbatch/sqsbatch/telemetry/cloudwatch"
)

// While CloudWatch fails, what is observed waits, and is put with its own
// minute when it works again, by few calls. It is reported once.
func TestAnOutageLosesNothing(t *testing.T) {
	virtual(t, &fake{}, cloudwatch.Options{}, func(t *testing.T, f *fake, h *cloudwatch.Hook) {
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
			if want := begin.Add(time.Duration(i) * time.Minute); !g.at.Equal(want) || g.value != 1 {
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
	virtual(t, &fake{}, cloudwatch.Options{}, func(t *testing.T, f *fake, h *cloudwatch.Hook) {
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
		bytes, data := 0, 0
		oldest := time.Now()
		for _, p := range f.all() {
			if p.at.Before(begin.Add(156 * time.Minute)) {
				bytes += p.bytes
			}
			data += len(p.data)
			for _, g := range p.data {
				if g.at.Before(oldest) {
					oldest = g.at
				}
			}
		}
		if bytes < 3<<20 || bytes > 4<<20+1<<20 {
			t.Errorf("%d bytes had waited", bytes)
		}
		kept := 0
		for _, g := range f.of("RecordsSucceeded") {
			kept += int(g.value)
		}
		if want := int(begin.Add(minutes*time.Minute).Sub(oldest)/time.Minute) * queues * len(took); kept != want {
			t.Errorf("%d records were kept since %v, want all %d", kept, oldest, want)
		}
		perMinute := data / (kept / queues / len(took))
		if got := h.Dropped() + data; h.Dropped() == 0 || got < (minutes-1)*perMinute {
			t.Errorf("dropped %d and put %d data, of %d a minute", h.Dropped(), data, perMinute)
		}
		var told []string
		for _, w := range f.warnings() {
			told = append(told, w.Message)
		}
		if n := strings.Count(strings.Join(told, "\n"), "dropped"); n < 2 || n > 3 { // each hour
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
			virtual(t, &fake{}, cloudwatch.Options{}, func(t *testing.T, f *fake, h *cloudwatch.Hook) {
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

// Warnings about CloudWatch count as any others, once it works again.
func TestWarningsAreCounted(t *testing.T) {
	virtual(t, &fake{}, cloudwatch.Options{}, func(t *testing.T, f *fake, h *cloudwatch.Hook) {
		f.answer = failing(403, "AccessDenied", time.Now().Add(10*time.Minute))
		settle(h, orders, time.Millisecond)
		time.Sleep(time.Hour)
		of := f.of("Warnings")
		if len(of) != 1 || of[0].value != 1 || of[0].dimensions["Queue"] != "" || of[0].dimensions["Service"] != "orders" {
			t.Errorf("%+v", of)
		}
	})
}

// A clock that is wrong is reported, since data are put with its time; the client
// learns from the answer, so that they are put nevertheless.
func TestAClockThatIsWrong(t *testing.T) {
	for _, ahead := range []time.Duration{10 * time.Minute, -10 * time.Minute} {
		virtual(t, &fake{ahead: ahead}, cloudwatch.Options{}, func(t *testing.T, f *fake, h *cloudwatch.Hook) {
			for range 10 {
				settle(h, orders, time.Millisecond)
				time.Sleep(time.Minute)
			}
			time.Sleep(time.Hour)
			if sum, _ := f.total("RecordsSucceeded"); sum != 10 || f.called() != len(f.all())+1 {
				t.Errorf("%g records by %d calls", sum, f.called())
			}
			if w := f.warnings(); len(w) != 1 || !strings.Contains(w[0].Message, "clock") {
				t.Errorf("warned %+v", w)
			}
		})
	}
}

// What panics in a client or in a hook for warnings does not end the process.
func TestPanics(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := &fake{t: t}
		f.answer = func(_ context.Context, n int) (int, string, error) {
			if n < 5 {
				panic("a client")
			}
			return 200, "", nil
		}
		told := 0
		h := cloudwatch.New(cloudwatch.Options{Client: f.client(), Warnings: onWarning(func(w batch.Warning) {
			told++
			panic("a hook")
		})})
		settle(h, orders, time.Millisecond)
		time.Sleep(time.Hour)
		if _, n := f.total("RecordsSucceeded"); n != 1 || told != 1 {
			t.Errorf("put %g times, told %d times", n, told)
		}
	})
}

type onWarning func(batch.Warning)

func (f onWarning) Warned(_ context.Context, w batch.Warning) { f(w) }

// A short failure that a second try fixes is not reported.
func TestABlipIsNotTold(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := &fake{t: t}
		f.answer = func(_ context.Context, n int) (int, string, error) {
			if n < 2 {
				return 500, "InternalServiceFault", nil
			}
			return 200, "", nil
		}
		h := f.hook(cloudwatch.Options{})
		settle(h, orders, time.Millisecond)
		time.Sleep(time.Hour)
		if _, n := f.total("RecordsSucceeded"); n != 1 || len(f.warnings()) != 0 {
			t.Errorf("put %g times, warned %+v", n, f.warnings())
		}
	})
}

// What goes wrong again, after it was well, is reported again.
func TestEachOutageIsTold(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := &fake{t: t}
		begin := time.Now()
		f.answer = func(context.Context, int) (int, string, error) {
			if minute := time.Since(begin) / time.Minute; minute < 10 || minute >= 20 && minute < 30 {
				return 403, "AccessDenied", nil
			}
			return 200, "", nil
		}
		h := f.hook(cloudwatch.Options{})
		for range 30 {
			settle(h, orders, time.Millisecond)
			time.Sleep(time.Minute)
		}
		time.Sleep(time.Hour)
		if w := f.warnings(); len(w) != 2 {
			t.Errorf("warned %+v", w)
		}
	})
}

// An endpoint that does not answer delays no record.
func TestSilenceDelaysNoRecord(t *testing.T) {
	virtual(t, &fake{answer: silent}, cloudwatch.Options{}, func(t *testing.T, f *fake, h *cloudwatch.Hook) {
		for range 600 {
			before := time.Now()
			settle(h, orders, time.Millisecond)
			h.Called(t.Context(), batch.Call{Operation: "DeleteMessageBatch", QueueARN: orders, Entries: 1})
			if took := time.Since(before); took != 0 {
				t.Fatalf("a batch took %v", took)
			}
			time.Sleep(time.Second)
		}
		if w := f.warnings(); len(w) != 1 || !strings.Contains(w[0].Message, "does not answer") {
			t.Errorf("warned %+v", w)
		}
		f.recover()
		h.Flush(t.Context())
		if sum, _ := f.total("RecordsSucceeded"); sum != 600 {
			t.Errorf("%g records", sum)
		}
	})
}
