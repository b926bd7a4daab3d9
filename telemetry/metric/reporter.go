package metric

import (
	"context"
	"fmt"
	"runtime/debug"
	"sync"
	"time"

	"github.com/sqsbatch/sqsbatch/batch"
	adapter "github.com/sqsbatch/sqsbatch/telemetry/internal"
)

// Reporter adds observations up and reports them: at the end of each interval with
// observations, and at a flush. Package handler flushes at the end of each
// invocation on Lambda, and at the end of Poll in a container.
//
// Intervals follow the clock, such as full minutes (UTC). A process has one report, and one
// sample of each gauge, in each interval. So the number of samples is the number of
// processes, and no process has to be elected to report for all.
//
// No record waits for a report. If a report takes long, the next one is delayed and
// includes the observations made meanwhile.
//
// If a report panics, the process and later reports go on. The observations of that report
// are lost, and the panic is reported like the panic of a hook.
type Reporter struct {
	*Recorder
	sums   Aggregate
	every  time.Duration
	report func(context.Context, *Aggregate)
	calls  *adapter.Calls // of now

	mu       sync.Mutex
	timer    *time.Timer // of the next report; nil without observations
	panicked error       // of the latest report; nil if it returned
}

// NewReporter returns a Reporter. every is the interval; with zero, only a flush reports. report
// takes the observations and writes or sends them. It is called by one goroutine at a time. Its
// context ends when no flush waits for it any more.
func NewReporter(every time.Duration, report func(ctx context.Context, a *Aggregate)) *Reporter {
	r := &Reporter{every: every, report: report}
	r.Recorder = NewRecorder(&r.sums)
	r.observed = r.arm
	r.calls = adapter.NewCalls(r.now)
	return r
}

// Hooks returns hooks for handler.Config.Hooks. Their Flush reports the observations so far: it
// returns when the report has returned, or when ctx ends. If an earlier report still runs, all
// waiting flushes share the next report. If ctx ends first, later flushes do not wait for the
// earlier report.
func (r *Reporter) Hooks() batch.Hooks {
	all := r.Recorder.Hooks()
	all.BatchSettled = func(ctx context.Context, b batch.BatchInfo, results []batch.Result) {
		r.batchSettled(ctx, b, results)
		r.panicAgain()
	}
	all.Called = func(ctx context.Context, c batch.Call) {
		r.called(ctx, c)
		r.panicAgain()
	}
	all.Flush = r.flush
	return all
}

// arm schedules a report: at the end of the interval, or at the next flush.
func (r *Reporter) arm() {
	if r.every == 0 {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.timer == nil {
		r.timer = time.AfterFunc(r.wait(), r.tick)
	}
}

func (r *Reporter) wait() time.Duration {
	now := time.Now()
	wait := now.Truncate(r.every).Add(r.every).Sub(now.Round(0))
	if wait < r.every/100 { // the clock was set back a little since the last report
		wait += r.every
	}
	return wait
}

func (r *Reporter) tick() {
	r.mu.Lock()
	r.timer = nil
	r.mu.Unlock()
	if !r.calls.Try(context.Background()) { // the previous report still runs
		r.arm()
	}
}

// panicAgain panics if a report has panicked, so that the caller of the hook recovers and
// reports it as a warning.
func (r *Reporter) panicAgain() {
	r.mu.Lock()
	err := r.panicked
	r.panicked = nil
	r.mu.Unlock()
	if err != nil {
		panic(err)
	}
}

// now makes a report. It recovers from a panic, which would end the process.
func (r *Reporter) now(ctx context.Context) {
	defer func() {
		if v := recover(); v != nil {
			err := fmt.Errorf("a report of metrics panicked: %v\n%s", v, debug.Stack())
			r.mu.Lock()
			r.panicked = err
			r.mu.Unlock()
			r.arm() // if there are several queues, some may not have been reported
		}
	}()
	if r.Collect() {
		r.arm() // gauges change without an observation
	}
	r.report(ctx, &r.sums)
}

// flushing is the key of a value in the context of a report that a flush started.
type flushing struct{}

// Period returns the beginning of the period that a report is about, from the report's
// context: the interval that ends now, or that a flush cuts short. Without an interval it
// returns the time now.
func (r *Reporter) Period(ctx context.Context) time.Time {
	now := time.Now().UTC()
	if ctx.Value(flushing{}) != nil {
		return now.Truncate(r.every)
	}
	return now.Round(r.every).Add(-r.every)
}

func (r *Reporter) flush(ctx context.Context) {
	defer r.panicAgain()
	r.mu.Lock()
	if r.timer != nil {
		r.timer.Stop()
		r.timer = nil
	}
	r.mu.Unlock()
	if !r.calls.Do(context.WithValue(ctx, flushing{}, true)) {
		r.arm()
	}
}
