package runner_test

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"

	"github.com/sqsbatch/sqsbatch/batch"
	"github.com/sqsbatch/sqsbatch/internal/hooks"
	"github.com/sqsbatch/sqsbatch/internal/runner"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const (
	standardARN = "arn:aws:sqs:eu-west-1:123456789012:orders"
	fifoARN     = "arn:aws:sqs:eu-west-1:123456789012:orders.fifo"
)

func standard(n int) []batch.Record {
	records := make([]batch.Record, n)
	for i := range records {
		records[i] = batch.Record{MessageID: fmt.Sprintf("m-%d", i), QueueARN: standardARN, Attempt: 1}
	}
	return records
}

// fifo makes a record for each group name, in that order.
func fifo(groups ...string) []batch.Record {
	records := standard(len(groups))
	for i := range records {
		records[i].QueueARN, records[i].GroupID = fifoARN, groups[i]
	}
	return records
}

// config is an engine's Config, with hooks.
type config struct {
	Concurrency                                 int
	Reserve, RecordTimeout, MinRemaining, Grace time.Duration
	Classify                                    func(error) error
	Hooks                                       batch.Hooks
}

func newEngine(t testing.TB, cfg config, f batch.HandlerFunc) *runner.Engine {
	t.Helper()
	return runner.New(f, runner.Config{
		Concurrency: cfg.Concurrency, Reserve: cfg.Reserve, RecordTimeout: cfg.RecordTimeout, MinRemaining: cfg.MinRemaining, Grace: cfg.Grace,
		Classify: cfg.Classify,
	}, hooks.New(cfg.Hooks))
}

// invoke runs a batch as an invocation with timeout would; 0 is no deadline.
func invoke(t testing.TB, timeout time.Duration, records []batch.Record, cfg config, f batch.HandlerFunc) []batch.Result {
	t.Helper()
	ctx := context.Background()
	if timeout > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, timeout)
		defer cancel()
	}
	engine := newEngine(t, cfg, f)
	return engine.Run(ctx, records, runner.Options{Times: engine.Times(ctx)})
}

func outcomes(results []batch.Result) []batch.Outcome {
	list := make([]batch.Outcome, len(results))
	for i, r := range results {
		list[i] = r.Outcome
	}
	return list
}

func wantOutcomes(t *testing.T, results []batch.Result, want ...batch.Outcome) {
	t.Helper()
	if got := outcomes(results); !slices.Equal(got, want) {
		t.Errorf("%v, want %v", got, want)
	}
}

// virtual runs f in a bubble of virtual time.
func virtual(t *testing.T, f func(t *testing.T)) {
	t.Helper()
	synctest.Test(t, f)
}

// wait sleeps for d, or until ctx ends if its last argument is set.
func wait(ctx context.Context, d time.Duration, heed bool) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	var end <-chan struct{}
	if heed {
		end = ctx.Done()
	}
	select {
	case <-timer.C:
		return nil
	case <-end:
		return ctx.Err()
	}
}

// failed are options whose owner is notified of failures only.
func failed(times runner.Times, f func([]*batch.Result)) runner.Options {
	return runner.Options{Times: times, Finished: func(d *runner.Delivery) {
		if d.Result.Outcome != batch.NotStarted {
			f(resultsOf(d))
		}
	}}
}

// owned is a runner whose owner remembers what has finished, or waits for a decision.
type owned struct {
	mu                 sync.Mutex
	r                  *runner.Runner
	finished, deciding []*runner.Delivery
	wake               chan struct{}
}

func own(ctx context.Context, e *runner.Engine) *owned {
	o := &owned{wake: make(chan struct{}, 1)}
	o.r = e.NewRunner(ctx, runner.Options{
		Lock:     &o.mu,
		Wake:     o.wake,
		Finished: func(d *runner.Delivery) { o.finished = append(o.finished, d) },
		Decide:   func(d *runner.Delivery) { o.deciding = append(o.deciding, d) },
	})
	return o
}

// locked calls f with the lock.
func locked[T any](o *owned, f func() T) T {
	o.mu.Lock()
	defer o.mu.Unlock()
	return f()
}

func (o *owned) do(f func()) { locked(o, func() bool { f(); return true }) }

func (o *owned) Add(list ...*runner.Delivery)           { o.do(func() { o.r.Add(list...) }) }
func (o *owned) Pause()                                 { o.do(o.r.Pause) }
func (o *owned) Resume(slots int)                       { o.do(func() { o.r.Resume(slots) }) }
func (o *owned) Cancel(err error)                       { o.do(func() { o.r.Cancel(err) }) }
func (o *owned) Leave()                                 { o.do(o.r.Leave) }
func (o *owned) Revoke(d *runner.Delivery)              { o.do(func() { o.r.Revoke(d) }) }
func (o *owned) Renew(d, again *runner.Delivery)        { o.do(func() { o.r.Renew(d, again) }) }
func (o *owned) Extend(d *runner.Delivery, t time.Time) { o.do(func() { d.HiddenUntil = t }) }
func (o *owned) Resolve(d *runner.Delivery, gone bool)  { o.do(func() { d.Resolve(gone) }) }
func (o *owned) Count() runner.Load                     { return locked(o, o.r.Count) }
func (o *owned) Idle() bool                             { return locked(o, o.r.Idle) }
func (o *owned) Withdraw(why error) []*runner.Delivery {
	return locked(o, func() []*runner.Delivery { return o.r.Withdraw(why) })
}

// Finished returns what has finished since the last call.
func (o *owned) Finished() []*runner.Delivery {
	return locked(o, func() (list []*runner.Delivery) {
		list, o.finished = o.finished, nil
		return list
	})
}

// resultsOf are those of a failure and of the records that were skipped because of it.
func resultsOf(d *runner.Delivery) (list []*batch.Result) {
	for d := range d.Group() {
		list = append(list, d.Result)
	}
	return list
}
