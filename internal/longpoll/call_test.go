package longpoll_test

import (
	"context"
	"errors"
	"sync"
	"testing"
	"time"

	"github.com/sqsbatch/sqsbatch/batch"
	"github.com/sqsbatch/sqsbatch/emulator/sqs"
	"github.com/sqsbatch/sqsbatch/internal/longpoll"
	"github.com/sqsbatch/sqsbatch/test/testhooks"
)

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
		throttled := 0
		for _, c := range o.calls {
			throttled += c.Throttled
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

// A hook that takes long delays neither handling nor deletes.
type slowCalls struct{}

func (slowCalls) Called(context.Context, batch.Call) { time.Sleep(time.Minute) }

func TestAHookForCallsDelaysNothing(t *testing.T) {
	inWorld(t, standardQueue, ok, func(c *longpoll.Config) { c.Hooks = batch.JoinHooks(c.Hooks, testhooks.Of(slowCalls{})) }, func(w *world) {
		w.sendMany(100)
		w.start()
		w.after(time.Second)
		if len(w.bodies()) != 100 || w.deleted() != 100 {
			t.Errorf("%d handled, %d deleted of 100", len(w.bodies()), w.deleted())
		}
	})
}
