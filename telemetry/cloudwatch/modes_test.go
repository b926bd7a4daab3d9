package cloudwatch_test

import (
	"context"
	"errors"
	"log/slog"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/sqsbatch/sqsbatch/batch"
	"github.com/sqsbatch/sqsbatch/emulator/sqs"
	"github.com/sqsbatch/sqsbatch/events"
	"github.com/sqsbatch/sqsbatch/handler"
	"github.com/sqsbatch/sqsbatch/internal/testqueue"
	"github.com/sqsbatch/sqsbatch/telemetry/cloudwatch"
)

var quiet = slog.New(slog.DiscardHandler)

// In a container there is a call for each minute, and a last one at the stop.
func TestInAContainer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f, q := &fake{t: t}, testqueue.New(t, testqueue.Standard)
		stop := q.StartPoll(batch.HandlerFunc(func(_ context.Context, r batch.Record) error {
			time.Sleep(50 * time.Millisecond)
			if r.Body == "fail" {
				return batch.RetryAfter(time.Hour, errors.New("no"))
			}
			return nil
		}), handler.Config{Hooks: []any{f.hook(cloudwatch.Options{})}})
		q.Send(append(slices.Repeat([]string{"ok"}, 200), "fail")...)
		time.Sleep(71 * time.Second)
		if n := f.called(); n != 1 {
			t.Errorf("%d calls in a minute", n)
		}
		for name, want := range map[string]float64{"RecordsSucceeded": 200, "RecordsRetried": 1, "DeleteEntries": 200, "VisibilityEntries": 1, "MessagesReceived": 201, "Slots": 10, "Running": 0} {
			if got, _ := f.total(name); got != want || len(f.of(name)) != 1 {
				t.Errorf("%s is %g, want %g", name, got, want)
			}
		}
		q.Send("ok")
		time.Sleep(10 * time.Second)
		before := time.Now()
		stop()
		if took := time.Since(before); took > time.Second {
			t.Errorf("the stop took %v", took)
		}
		if got, _ := f.total("RecordsSucceeded"); got != 201 || f.called() != 2 {
			t.Errorf("%g records by %d calls", got, f.called())
		}
		time.Sleep(time.Hour)
		if f.called() != 2 {
			t.Errorf("%d calls after the stop", f.called()-2)
		}
	})
}

// A CloudWatch that does not answer holds up a stop for a flush's time at most.
func TestAStopWithoutCloudWatch(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f, q := &fake{t: t, answer: silent}, testqueue.New(t, testqueue.Standard)
		stop := q.StartPoll(batch.HandlerFunc(func(context.Context, batch.Record) error { return nil }), handler.Config{Hooks: []any{f.hook(cloudwatch.Options{})}})
		q.Send("ok")
		time.Sleep(5 * time.Minute)
		if deleted := len(q.Events(sqs.Deleted)); deleted != 1 {
			t.Errorf("%d messages were deleted", deleted)
		}
		before := time.Now()
		stop()
		if took := time.Since(before); took > 6*time.Second {
			t.Errorf("the stop took %v", took)
		}
		time.Sleep(time.Minute)
		f.recover()
		time.Sleep(time.Hour)
	})
}

// On Lambda metrics are put before the answer, within 2 s and its deadline.
func TestOnLambda(t *testing.T) {
	t.Setenv("AWS_LAMBDA_RUNTIME_API", "127.0.0.1:9001")
	payload, err := events.FS.ReadFile("ten.json")
	if err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		answer  func(context.Context, int) (int, string, error)
		timeout time.Duration
		most    time.Duration
	}{
		"puts":                  {nil, time.Minute, 0},
		"silent":                {silent, time.Minute, 2 * time.Second},
		"silent in a short one": {silent, time.Second, 980 * time.Millisecond},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				f := &fake{t: t, answer: c.answer}
				h, err := handler.New(batch.HandlerFunc(func(context.Context, batch.Record) error { return nil }),
					handler.Config{Logger: quiet, Hooks: []any{f.hook(cloudwatch.Options{})}})
				if err != nil {
					t.Fatal(err)
				}
				ctx, cancel := context.WithTimeout(t.Context(), c.timeout)
				defer cancel()
				before := time.Now()
				response, err := h.Invoke(ctx, payload)
				if err != nil || !strings.Contains(string(response), `"batchItemFailures":[]`) {
					t.Errorf("%s, %v", response, err)
				}
				if took := time.Since(before); took > c.most {
					t.Errorf("took %v", took)
				}
				if got, _ := f.total("RecordsSucceeded"); c.answer == nil && got != 10 {
					t.Errorf("%g records", got)
				}
				f.recover()
				time.Sleep(time.Hour)
				if got, _ := f.total("RecordsSucceeded"); got != 10 {
					t.Errorf("later: %g records", got)
				}
			})
		})
	}
}
