package runner_test

import (
	"context"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/sqsbatch/sqsbatch/batch"
	"github.com/sqsbatch/sqsbatch/internal/hooks"
	"github.com/sqsbatch/sqsbatch/internal/runner"
	"go.uber.org/goleak"
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
	return engine.Run(ctx, records, engine.Times(ctx), nil)
}

func outcomes(results []batch.Result) []batch.Outcome {
	list := make([]batch.Outcome, len(results))
	for i, r := range results {
		list[i] = r.Outcome
	}
	return list
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

// failed is a settling that is notified of failures only.
type failed func([]*batch.Result)

func (f failed) Failed(d *runner.Delivery)                    { f(resultsOf(d)) }
func (failed) LastAttempt(*batch.Record) bool                 { return false }
func (failed) DeadLetter(_ *runner.Delivery, done func(bool)) { done(false) }
func (failed) Events() <-chan func()                          { return nil }

// resultsOf are those of a failure and of the records that were skipped because of it.
func resultsOf(d *runner.Delivery) (list []*batch.Result) {
	for d := range d.Group() {
		list = append(list, d.Result)
	}
	return list
}
