package metric

import (
	"context"
	"fmt"
	"runtime/debug"
	"sync"
	"time"

	"github.com/sqsbatch/sqsbatch/batch"
	"github.com/sqsbatch/sqsbatch/internal/sharedcall"
)

// Reporter is a hook that sums observations up and has them reported: at the end
// of each interval in which there were any, and when it is flushed, which package
// handler does at the end of each invocation on Lambda and at the end of Poll in
// a container. Embed it in an adapter.
//
// Intervals are the clock's, such as full minutes (UTC): a process has one report,
// and one sample of each gauge, in each. So the number of samples is that of
// processes, and none of them has to be elected to publish something for all.
//
// No record waits for a report. While one takes long, the next is put off, and
// what is observed meanwhile is summed up for it.
//
// A report that panics ends neither the process nor later reports. What it was
// made for is lost; what it panicked with is told as a panic of the hook is.
type Reporter struct {
	*Recorder
	sums   Aggregate
	every  time.Duration
	report func(context.Context, *Aggregate)
	calls  *sharedcall.Calls // of now

	mu       sync.Mutex
	timer    *time.Timer // runs while there may be something to report
	panicked error       // what a report panicked with
}

// NewReporter returns a Reporter. every is the interval; zero has none, and only
// [Reporter.Flush] reports. report is called by one goroutine at a time: it
// takes what was observed, and writes or sends it. Its context has no end but
// that of the flushes that wait for it.
func NewReporter(every time.Duration, report func(ctx context.Context, a *Aggregate)) *Reporter {
	r := &Reporter{every: every, report: report}
	r.Recorder = NewRecorder(&r.sums)
	r.calls = sharedcall.New(r.now)
	return r
}

// BatchSettled implements [batch.BatchSettledHook].
func (r *Reporter) BatchSettled(ctx context.Context, b batch.BatchInfo, results []batch.Result) {
	r.Recorder.BatchSettled(ctx, b, results)
	r.arm()
	r.panicAgain()
}

// Called implements [batch.CallHook].
func (r *Reporter) Called(ctx context.Context, c batch.Call) {
	r.Recorder.Called(ctx, c)
	r.arm()
	r.panicAgain()
}

// Warned implements [batch.WarningHook].
func (r *Reporter) Warned(ctx context.Context, w batch.Warning) {
	r.Recorder.Warned(ctx, w)
	r.arm()
}

// Polling implements [batch.PollHook].
func (r *Reporter) Polling(ctx context.Context, queueARN string, load func() batch.Load) {
	r.Recorder.Polling(ctx, queueARN, load)
	r.arm()
}

// arm has a report made later: at the interval's end, or by the next flush.
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

// wait is the time until the next report.
func (r *Reporter) wait() time.Duration {
	now := time.Now()
	wait := now.Truncate(r.every).Add(r.every).Sub(now.Round(0))
	if wait < r.every/100 { // the clock was set back a little since the report before
		wait += r.every
	}
	return wait
}

// tick reports what has come together in an interval.
func (r *Reporter) tick() {
	r.mu.Lock()
	r.timer = nil
	r.mu.Unlock()
	if !r.calls.Try(context.Background()) { // the report before still goes on
		r.arm()
	}
}

// panicAgain has package batch contain what a report panicked with, and tell the
// warning hooks. It is for those methods whose panics are told.
func (r *Reporter) panicAgain() {
	r.mu.Lock()
	err := r.panicked
	r.panicked = nil
	r.mu.Unlock()
	if err != nil {
		panic(err)
	}
}

// now reports, on a goroutine where a panic would end the process.
func (r *Reporter) now(ctx context.Context) {
	defer func() {
		if v := recover(); v != nil {
			err := fmt.Errorf("a report of metrics panicked: %v\n%s", v, debug.Stack())
			r.mu.Lock()
			r.panicked = err
			r.mu.Unlock()
			r.arm() // of several queues, some may not have been reported
		}
	}()
	if r.Collect() {
		r.arm() // gauges change without being told
	}
	r.report(ctx, &r.sums)
}

// flushing is in the context of a report that a flush makes.
type flushing struct{}

// Period returns when the period of a report began, by the report's context: the
// interval that ends, or that a flush cuts short; now without any.
func (r *Reporter) Period(ctx context.Context) time.Time {
	now := time.Now().UTC()
	if ctx.Value(flushing{}) != nil {
		return now.Truncate(r.every)
	}
	return now.Round(r.every).Add(-r.every)
}

// Flush reports what has come together. It implements [batch.FlushHook]. It
// returns when that is done, or when ctx ends. While an earlier report is under
// way it waits for the next one, which all flushes that wait share. If ctx
// ends first, later flushes do not wait until the earlier report is over.
func (r *Reporter) Flush(ctx context.Context) {
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
