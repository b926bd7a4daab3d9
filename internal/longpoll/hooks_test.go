package longpoll_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/sqsbatch/sqsbatch/batch"
	"github.com/sqsbatch/sqsbatch/emulator/sqs"
	"github.com/sqsbatch/sqsbatch/internal/longpoll"
	"github.com/sqsbatch/sqsbatch/test/testhooks"
)

// diary notes the calls of hooks.
type diary struct {
	mu     sync.Mutex
	lines  []string
	poller *longpoll.Poller
}

func (d *diary) note(format string, args ...any) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.lines = append(d.lines, fmt.Sprintf(format, args...))
}

func (d *diary) BatchContext(ctx context.Context, b batch.BatchInfo, _ []batch.Record) context.Context {
	d.note("batch of %d from %s", b.Records, b.QueueARN)
	return ctx
}

func (d *diary) BatchSettled(_ context.Context, b batch.BatchInfo, results []batch.Result) {
	outcomes := make([]string, len(results))
	for i, r := range results {
		outcomes[i] = r.Record.Body + " " + r.Outcome.String()
	}
	d.note("settled %d: %s", b.Records, strings.Join(outcomes, ", "))
	_ = d.poller.Status() // a hook may ask
}

func (d *diary) RecordContext(ctx context.Context, r *batch.Record) context.Context {
	d.note("start %s", r.Body)
	return ctx
}

func (d *diary) RecordFinished(ctx context.Context, r batch.Result) {
	if _, ok := batch.RecordFrom(ctx); !ok {
		d.note("no record in the context")
	}
	d.note("finish %s %s", r.Record.Body, r.Outcome)
}

func (d *diary) Warned(context.Context, batch.Warning) { _ = d.poller.Status() }

func TestHooksAreToldOfAGroup(t *testing.T) {
	h := func(_ context.Context, r batch.Record) error {
		if r.Body == "g:2" && r.Attempt == 1 {
			return batch.RetryAfter(time.Hour, errors.New("boom"))
		}
		return nil
	}
	d := &diary{}
	inWorld(t, fifoQueue, h, func(c *longpoll.Config) { c.Hooks = batch.JoinHooks(c.Hooks, testhooks.Of(d)) }, func(w *world) {
		d.poller = w.p
		w.Send("g:1", "g:2", "g:3")
		w.start()
		w.after(time.Minute)
		want := []string{
			"batch of 1 from " + w.ARN, "batch of 1 from " + w.ARN,
			"finish g:1 succeeded", "finish g:2 retry", "finish g:3 skipped",
			"settled 1: g:1 succeeded", "settled 1: g:2 retry", "settled 1: g:3 skipped",
			"start g:1", "start g:2",
		}
		slices.Sort(d.lines)
		if !slices.Equal(d.lines, want) {
			t.Errorf("hooks got\n%s\nwant\n%s", strings.Join(d.lines, "\n"), strings.Join(want, "\n"))
		}
	})
}

// A batch is reported once, when its deletes are tried again too.
func TestHooksAreToldOnce(t *testing.T) {
	d := &diary{}
	inWorld(t, standardQueue, ok, func(c *longpoll.Config) { c.Hooks = batch.JoinHooks(c.Hooks, testhooks.Of(d)) }, func(w *world) {
		d.poller = w.p
		w.inject(sqs.Fault{Kind: sqs.EntryFailure, Operation: deletion, Times: 20})
		w.Send("a")
		w.start()
		w.after(5 * time.Minute)
		want := []string{"batch of 1 from " + w.ARN, "start a", "finish a succeeded", "settled 1: a succeeded"}
		if !slices.Equal(d.lines, want) || w.deleted() != 1 {
			t.Errorf("hooks got %q, want %q", d.lines, want)
		}
		if r := w.results[0]; r.Deleted || r.DeleteErr == nil {
			t.Errorf("the result says deleted %v, error %v; it must be of the time when the first delete had failed", r.Deleted, r.DeleteErr)
		}
	})
	d = &diary{}
	inWorld(t, standardQueue, ok, func(c *longpoll.Config) { c.Hooks = batch.JoinHooks(c.Hooks, testhooks.Of(d)) }, func(w *world) {
		d.poller = w.p
		w.Send("a")
		w.start()
		w.after(time.Second)
		if r := w.results[0]; !r.Deleted || r.DeleteErr != nil {
			t.Errorf("the result says deleted %v, error %v", r.Deleted, r.DeleteErr)
		}
	})
}

// slowStart is a hook that takes its time.
type slowStart time.Duration

func (s slowStart) BatchContext(ctx context.Context, _ batch.BatchInfo, _ []batch.Record) context.Context {
	time.Sleep(time.Duration(s))
	return ctx
}

// A record whose hook is at work when a stop reaches its limit is not handled any more.
func TestStopWhileHookRuns_RecordIsNotHandled(t *testing.T) {
	inWorld(t, standardQueue, heeding, func(c *longpoll.Config) {
		c.Hooks, c.DrainLimit = batch.JoinHooks(c.Hooks, testhooks.Of(slowStart(2*time.Second))), 500*time.Millisecond
	}, func(w *world) {
		w.Send("a")
		w.start()
		w.after(time.Second)
		w.stopWithin(time.Second + brief)
		w.wantHandled()
		w.wantOutcomes(batch.Retry)
		w.wantVisible(1)
	})
}

type slowPolling struct{}

func (slowPolling) Polling(context.Context, string, func() batch.Status) {
	time.Sleep(900 * time.Millisecond)
}

// A stop while the hooks are notified that polling begins takes nothing any more.
func TestAStopWhilePollingIsToldReceivesNothing(t *testing.T) {
	inWorld(t, standardQueue, ok, func(c *longpoll.Config) { c.Hooks = batch.JoinHooks(c.Hooks, testhooks.Of(slowPolling{})) }, func(w *world) {
		w.Send("a")
		w.start()
		w.after(500 * time.Millisecond)
		took := w.stop()
		if n := w.count(receiving); n > 0 || took > time.Second {
			t.Errorf("%d receives after the stop, which took %v", n, took)
		}
	})
}

// A record that is given back before its batch has begun reaches the hooks once, as one
// that was not started: each time costs the message an attempt.
func TestRecordsGivenBack_ReachHooksOnceAsNotStarted(t *testing.T) {
	for name, giveBack := range map[string]func(w *world){
		"stop":  func(w *world) { w.stop() },
		"pause": func(w *world) { w.p.Pause(); w.after(30 * time.Second); w.stop() },
	} {
		for _, fifo := range []bool{false, true} {
			inWorld(t, fifo, quickThen(time.Second, heeding), func(c *longpoll.Config) {
				c.Engine.Concurrency, c.DrainLimit = 2, time.Second
			}, func(w *world) {
				w.Send(numbered(300, "")...)
				w.start()
				w.after(1100 * time.Millisecond)
				waiting := w.p.Status().Waiting
				if waiting == 0 {
					t.Fatalf("%s: no record waits: the test tests nothing", name)
				}
				giveBack(w)
				got := map[string]int{}
				for _, r := range w.results {
					if r.Outcome == batch.NotStarted {
						got[r.Record.ReceiptHandle]++
						if !errors.Is(r.Err, batch.ErrStopped) {
							t.Errorf("%s: error %v", name, r.Err)
						}
					}
				}
				for _, n := range got {
					if n != 1 {
						t.Errorf("%s: a record reached the hooks %d times", name, n)
					}
				}
				if len(got) != waiting {
					t.Errorf("%s, FIFO %v: %d records reached the hooks as not started, want %d", name, fifo, len(got), waiting)
				}
			})
		}
	}
}

// quickThen takes 10 ms a record for a time, so that records are prefetched, and then calls h.
func quickThen(d time.Duration, h handle) handle {
	var first sync.Once
	var began time.Time
	return func(ctx context.Context, r batch.Record) error {
		first.Do(func() { began = time.Now() })
		if time.Since(began) < d {
			time.Sleep(10 * time.Millisecond)
			return nil
		}
		return h(ctx, r)
	}
}

// What a hook of a batch returns too late has no further effect.
func TestBatchContextReturnsLate_RecordContextIsNotCalled(t *testing.T) {
	began := 0
	inWorld(t, standardQueue, ok, func(c *longpoll.Config) {
		c.Engine.RecordTimeout = 10 * time.Second
		c.Hooks = batch.JoinHooks(c.Hooks, testhooks.Of(slowStart(time.Minute)), batch.Hooks{
			RecordContext: func(ctx context.Context, _ *batch.Record) context.Context { began++; return ctx },
		})
	}, func(w *world) {
		w.Send("a")
		w.start()
		w.after(90 * time.Second)
		if len(w.outcomes()) == 0 || w.outcomes()[0] != batch.Abandoned {
			t.Errorf("outcomes %v", w.outcomes())
		}
		if began > 0 {
			t.Errorf("RecordContext was called %d times", began)
		}
	})
}

// operator is a hook for calls and gauges; it asks for the status each time, as
// no hook is notified under the poller's lock.
type operator struct {
	mu     sync.Mutex
	poller *longpoll.Poller
	calls  []batch.Call
	load   func() batch.Status
}

func (o *operator) Called(_ context.Context, c batch.Call) {
	if o.poller != nil {
		o.poller.Status()
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	o.calls = append(o.calls, c)
}

func (o *operator) Polling(_ context.Context, _ string, load func() batch.Status) {
	load()
	o.load = load
}

// of sums up the calls of an operation.
func (o *operator) of(operation string) (n, entries, failed, errs int) {
	o.mu.Lock()
	defer o.mu.Unlock()
	for _, c := range o.calls {
		if c.Operation == operation {
			n, entries, failed = n+1, entries+c.Entries, failed+c.Failed
			if c.Err != nil {
				errs++
			}
		}
	}
	return n, entries, failed, errs
}

func TestHooksAreToldOfEachCall(t *testing.T) {
	o := &operator{}
	slow := func(ctx context.Context, r batch.Record) error {
		if r.Body == "fail" {
			return batch.RetryAfter(time.Hour, errors.New("no"))
		}
		time.Sleep(100 * time.Second)
		return nil
	}
	inWorld(t, standardQueue, slow, func(c *longpoll.Config) { c.Hooks = batch.JoinHooks(c.Hooks, testhooks.Of(o)) }, func(w *world) {
		o.poller = w.p
		w.Send("a", "b", "fail")
		w.ForgetCalls()
		w.inject(sqs.Fault{Kind: sqs.EntryFailure, Operation: "ChangeMessageVisibilityBatch", Skip: 1, Times: 1},
			sqs.Fault{Kind: sqs.EntryFailure, Operation: "ChangeMessageVisibilityBatch", Code: "RequestThrottled", Skip: 2, Times: 1},
			sqs.Fault{Kind: sqs.Failure, Operation: "ReceiveMessage", Skip: 1, Times: 1})
		w.start()
		w.after(30 * time.Second)
		if l := o.load(); l.Running != 2 || l.Concurrency != 10 || l.OldestSeconds != 30 || l.State == "stopped" {
			t.Errorf("the load is %+v", l)
		}
		w.after(5 * time.Minute)
		w.stop()
		if l := o.load(); l.Running != 0 || l.State != "stopped" {
			t.Errorf("the load is %+v after the end", l)
		}
		for _, operation := range []string{"GetQueueAttributes", "ReceiveMessage", "ChangeMessageVisibilityBatch", "DeleteMessageBatch"} {
			n, _, _, _ := o.of(operation)
			if made := w.count(operation); n != made || n == 0 {
				t.Errorf("the hook got %d calls of %s, %d were made", n, operation, made)
			}
		}
		if _, entries, _, errs := o.of("ReceiveMessage"); entries != 3 || errs != 2 { // one failed, one was given up
			t.Errorf("receives returned %d messages, %d failed", entries, errs)
		}
		refused := 0
		for _, c := range w.Server().Calls("ChangeMessageVisibilityBatch") {
			refused += c.Failed
		}
		if _, _, failed, _ := o.of("ChangeMessageVisibilityBatch"); failed != refused || refused != 2 {
			t.Errorf("the hook got %d entries that failed, %d did", failed, refused)
		}
		throttled, longest := 0, time.Duration(0)
		for _, c := range o.calls {
			throttled, longest = throttled+c.Throttled, max(longest, c.Duration)
		}
		if longest != 20*time.Second {
			t.Errorf("the longest call took %v, want a long poll's 20 s", longest)
		}
		if throttled != 1 {
			t.Errorf("the hook got %d entries that were throttled, one was", throttled)
		}
		if _, entries, failed, errs := o.of("DeleteMessageBatch"); entries != 2 || failed != 0 || errs != 0 {
			t.Errorf("deletes of %d messages, %d failed, %d errors", entries, failed, errs)
		}
		last := o.calls[len(o.calls)-1]
		if last.Operation != "ReceiveMessage" || !errors.Is(last.Err, context.Canceled) {
			t.Errorf("the last call is %s: %v", last.Operation, last.Err)
		}
		for _, c := range o.calls {
			if c.Operation != "GetQueueAttributes" && c.QueueARN != w.ARN || c.URL != w.URL {
				t.Errorf("%s was of %s at %s", c.Operation, c.QueueARN, c.URL)
			}
		}
	})
}
