package cloudwatch_test

import (
	"context"
	"errors"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/sqsbatch/sqsbatch/batch"
	"github.com/sqsbatch/sqsbatch/handler"
	"github.com/sqsbatch/sqsbatch/internal/testqueue"
	"github.com/sqsbatch/sqsbatch/telemetry/cloudwatch"
)

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
