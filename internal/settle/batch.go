package settle

import (
	"context"
	"errors"
	"slices"
	"sync"
	"time"

	"github.com/sqsbatch/sqsbatch/batch"
	"github.com/sqsbatch/sqsbatch/internal/hooks"
	"github.com/sqsbatch/sqsbatch/internal/runner"
	"github.com/sqsbatch/sqsbatch/internal/sleep"
)

const (
	// patience is how long after the batch's last handler unanswered calls are retried. A
	// longer wait would occupy the function only to set a backoff.
	patience = 5 * time.Second
	// batchTimeout limits Settle if the context has no deadline.
	batchTimeout = 10 * time.Second
)

// Batch is the settler of an invocation. One lock guards the settler and the runner.
type Batch struct {
	policy   *Policy
	ctx      context.Context // of the invocation
	settleBy time.Time       // zero for no end
	began    time.Time

	mu         sync.Mutex
	settler    *Settler           // nil until something is to settle, see open
	cancel     context.CancelFunc // of its calls
	changed    chan struct{}      // has a value when a call was answered, or one may be due
	over       bool               // the results stand
	notices    hooks.Queue        // their notifications
	queue      string             // its name
	notStarted []*runner.Delivery
	apart      map[string]time.Duration // from keepApart, counted from apartAt
	apartAt    time.Time
}

// Begin returns the settler of a batch of records whose handlers have not started. Calls end
// with settleBy; the end of ctx does not end them, so that a backoff is still set after a handler
// ran into its deadline.
func (p *Policy) Begin(ctx context.Context, records []batch.Record, settleBy time.Time) *Batch {
	b := &Batch{policy: p, ctx: ctx, settleBy: settleBy, began: time.Now(), queue: batch.QueueName(records[0].QueueARN)}
	b.keepApart(records)
	return b
}

// open returns the settler. Most batches need none. It needs the lock.
func (b *Batch) open() *Settler {
	if b.settler != nil {
		return b.settler
	}
	ctx := context.WithoutCancel(b.ctx)
	if b.settleBy.IsZero() {
		ctx, b.cancel = context.WithCancel(ctx)
	} else {
		ctx, b.cancel = context.WithDeadline(ctx, b.settleBy)
	}
	if b.over { // for an abandoned handler, whose call is not made
		b.cancel()
	}
	b.changed = make(chan struct{}, 1)
	b.settler = b.policy.settler(ctx, Callbacks{
		Do: b.do, Called: b.called, Warn: b.warn, Deleted: func([]*runner.Delivery, []error) {}, Settled: func(*runner.Delivery) {},
	}, batchTuning)
	b.settler.began = b.began
	return b.settler
}

// Options are those of the runner whose failures b settles.
func (b *Batch) Options(times runner.Times) runner.Options {
	return runner.Options{Times: times, Lock: &b.mu, Finished: b.finished, Decide: b.decide, LastAttempt: b.lastAttempt}
}

// keepApart is [Policy.Apart]. It asks for the queue's visibility timeout first. Both together
// take 2 s at most, or half of the time that is left.
func (b *Batch) keepApart(records []batch.Record) {
	again := 0
	_, known := b.policy.maxReceiveCount(records[0].QueueARN)
	for i := range records {
		if records[i].Attempt > 1 && (!known || b.policy.suspect(&records[i])) {
			again++
		}
	}
	if again < 2 {
		return
	}
	b.mu.Lock()
	s := b.open()
	b.mu.Unlock()
	s.learn(records[0].QueueARN, time.Now())
	a, _ := s.queues.known(records[0].QueueARN)
	// An error costs only attempts, after a crash.
	b.apart, _ = s.Policy.Apart(s.ctx, records, a.visibility, b.called)
	b.apartAt = time.Now()
}

// finished settles a failure, and the records skipped because of it, while the batch runs.
func (b *Batch) finished(d *runner.Delivery) {
	if d.Result.Outcome == batch.NotStarted {
		b.notStarted = append(b.notStarted, d)
		return
	}
	if d.Result.Outcome.Done() {
		return
	}
	for d := range d.Group() {
		if timeout, ok := b.apart[d.Record.ReceiptHandle]; ok {
			d.ShownBy = b.apartAt.Add(timeout)
		}
	}
	b.open().Fail(d)
	b.settler.Flush(false)
}

// decide has a record dead-lettered in place.
func (b *Batch) decide(d *runner.Delivery) {
	b.open().DeadLetter(d)
	b.settler.Flush(false)
}

// lastAttempt reports whether SQS will move a record to the dead-letter queue instead of
// delivering it again. If necessary it asks the queue for its RedrivePolicy, and waits for
// the answer for 1 s at most. It does not ask for a first attempt, which may well succeed.
func (b *Batch) lastAttempt(r *batch.Record) bool {
	if r.Attempt > 1 && b.policy.cfg.MaxReceiveCount == 0 {
		b.mu.Lock()
		s := b.open()
		b.mu.Unlock()
		s.learn(r.QueueARN, time.Now())
	}
	return b.policy.LastAttempt(r)
}

// Settle settles the remaining records, those that were not started last. It writes into
// results what happened to each record: a permanent failure that reached the dead-letter
// queue becomes DeadLettered, and so on. It returns when every call is answered, and at
// settleBy at the latest, or after 10 s without one. Calls that are still open then
// are abandoned, and count as failed.
//
// The hooks of calls and warnings do not delay it, see [Batch.AwaitHooks].
//
// results must be what Engine.Run returned with this Batch's Options.
func (b *Batch) Settle(results []batch.Result) {
	b.mu.Lock()
	defer b.mu.Unlock()
	defer func() {
		if b.over = true; b.settler != nil {
			b.cancel()
		}
	}()
	if (b.settler == nil || b.settler.Calls() == 0) && !slices.ContainsFunc(results, func(r batch.Result) bool { return !r.Outcome.OK() }) {
		return
	}
	s := b.open()
	if _, ok := s.ctx.Deadline(); !ok {
		defer time.AfterFunc(batchTimeout, b.cancel).Stop()
	}
	s.lastTry = sooner(s.lastTry, time.Now().Add(patience))
	defer time.AfterFunc(patience, s.stopAsks).Stop()
	b.delete(results, batch.Outcome.OK)
	b.release(len(b.notStarted) == len(results))
	b.wait()
	// Dead letters, whose sends have ended. Even if there is no time left: a record that is not
	// deleted then has a DeleteErr.
	b.delete(results, func(o batch.Outcome) bool { return o.Done() && !o.OK() })
	b.wait()
	b.report(results)
}

// delete deletes the records with such an outcome, see [Config].DeleteIfOthersFail.
func (b *Batch) delete(results []batch.Result, such func(batch.Outcome) bool) {
	s := b.settler
	failed := func(r batch.Result) bool { return !r.Outcome.Done() }
	if !s.cfg.DeleteIfOthersFail || !slices.ContainsFunc(results, failed) {
		return
	}
	for i := range results {
		if r := &results[i]; such(r.Outcome) {
			r.DeleteErr = errNoTime                                                                          // until there is an answer
			s.enqueue(opDelete, &runner.Delivery{Result: r, Latest: r.Record, Settling: &runner.Settling{}}) // it is not patient
		}
	}
}

// errNoTime is the error of a delete that SQS has not answered.
var errNoTime = errors.New("there was no time left to delete it")

// release has records that were not started come back at once, or, if their
// batch was aborted, when that said. If none of the batch was, and that not for the first
// time, something is wrong with the configuration, and they come back with backoff:
// released at once they would be in the dead-letter queue within seconds.
func (b *Batch) release(stuck bool) {
	for _, d := range b.notStarted {
		d.Settling = &runner.Settling{FailedAt: time.Now()}
		b.settler.comeBack(d, d.Verdict.Aborts || stuck && d.Record.Attempt > 1)
	}
}

// wait waits for all calls until there is no time left, including calls that follow from
// others (a visibility after a send that failed).
func (b *Batch) wait() {
	s := b.settler
	for s.Flush(true); !s.Idle() && !s.late; s.Flush(true) {
		b.mu.Unlock()
		select {
		case <-b.changed:
		case <-s.ctx.Done():
		}
		b.mu.Lock()
		s.late = s.late || s.ctx.Err() != nil && !s.Idle()
	}
}

// report warns of what became of the batch.
func (b *Batch) report(results []batch.Result) {
	s := b.settler
	if s.late {
		b.warn(batch.Warning{Message: "there was no time left before SQS had answered all calls: records whose backoff was not set come back when their visibility timeout is over, " +
			"records that were not deleted will be delivered again. Raise the reserve (Reserve; with package handler: SQSBATCH_RESERVE) or the function's timeout, or find out why SQS is slow to answer"})
	}
	s.note(len(results), func(i int) *batch.Result { return &results[i] })
	if text := s.Schedule(results[0].Record.QueueARN); text != "" {
		b.warn(batch.Warning{Message: text, Info: true})
	}
}

// do is [Callbacks].Do.
func (b *Batch) do(f func()) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.over {
		return
	}
	f()
	b.settler.Flush(false)
	sleep.Wake(b.changed)
}

// called is [Callbacks].Called.
func (b *Batch) called(c batch.Call) {
	if hooks := b.policy.cfg.Hooks; hooks.Calls {
		b.notices.Notify(func() { hooks.Called(context.WithoutCancel(b.ctx), c) })
	}
}

// warn is [Callbacks].Warn.
func (b *Batch) warn(w batch.Warning) {
	w.Queue = b.queue
	b.notices.Notify(func() { b.policy.cfg.Hooks.Warn(context.WithoutCancel(b.ctx), w) })
}

// AwaitHooks waits, after [Batch.Settle], until the hooks have been notified of every call and
// warning. A hook that blocks keeps it waiting.
func (b *Batch) AwaitHooks() { <-b.notices.Last() }
