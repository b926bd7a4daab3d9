package cloudwatch_test

import (
	"context"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/sqsbatch/sqsbatch/telemetry/cloudwatch"
)

// flushed flushes for so long at most, and returns how long it took.
func flushed(h *cloudwatch.Hook, limit time.Duration) time.Duration {
	before := time.Now()
	ctx, cancel := context.WithTimeout(context.Background(), limit)
	defer cancel()
	h.Flush(ctx)
	return time.Since(before)
}

// At a stop everything is put, without the wait that spreads calls.
func TestFlush(t *testing.T) {
	virtual(t, &fake{}, cloudwatch.Options{}, func(t *testing.T, f *fake, h *cloudwatch.Hook) {
		time.Sleep(70 * time.Second)
		settle(h, orders, time.Millisecond)
		if took := flushed(h, 5*time.Second); took != 0 {
			t.Errorf("took %v", took)
		}
		if of := f.of("RecordsSucceeded"); len(of) != 1 || !of[0].at.Equal(time.Now().Truncate(time.Minute)) {
			t.Errorf("put %+v", of)
		}
		if took := flushed(h, 5*time.Second); took != 0 || f.called() != 1 {
			t.Errorf("with nothing to put it took %v and %d calls", took, f.called())
		}
	})
}

// A flush tries again, soon, for as long as it may.
func TestFlushTriesAgain(t *testing.T) {
	virtual(t, &fake{}, cloudwatch.Options{}, func(t *testing.T, f *fake, h *cloudwatch.Hook) {
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
			virtual(t, &fake{answer: answer}, cloudwatch.Options{}, func(t *testing.T, f *fake, h *cloudwatch.Hook) {
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

// On Lambda each invocation puts its own.
func TestLambda(t *testing.T) {
	t.Setenv("AWS_LAMBDA_RUNTIME_API", "127.0.0.1:9001")
	t.Setenv("AWS_LAMBDA_FUNCTION_NAME", "ship-orders")
	synctest.Test(t, func(t *testing.T) {
		f := &fake{t: t}
		h := cloudwatch.New(cloudwatch.Options{Client: f.client(), Warnings: f})
		for range 3 {
			settle(h, orders, time.Millisecond)
			if took := flushed(h, 2*time.Second); took != 0 {
				t.Errorf("took %v", took)
			}
			time.Sleep(time.Second)
		}
		of := f.of("RecordsSucceeded")
		if len(of) != 3 || of[0].dimensions["Service"] != "ship-orders" || of[0].dimensions["Queue"] != "orders" {
			t.Errorf("put %+v", of)
		}
	})
}

// A refusal that only an operator can fix costs no invocation time, and an endpoint
// that does not answer costs only some of them time.
func TestLambdaInTrouble(t *testing.T) {
	t.Setenv("AWS_LAMBDA_RUNTIME_API", "127.0.0.1:9001")
	for name, c := range map[string]struct {
		answer func(context.Context, int) (int, string, error)
		most   time.Duration // of 600 invocations, all together
	}{
		"silent": {silent, 40 * time.Second},
		"denied": {func(context.Context, int) (int, string, error) { return 403, "AccessDenied", nil }, 0},
	} {
		t.Run(name, func(t *testing.T) {
			virtual(t, &fake{answer: c.answer}, cloudwatch.Options{}, func(t *testing.T, f *fake, h *cloudwatch.Hook) {
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
			})
		})
	}
}
