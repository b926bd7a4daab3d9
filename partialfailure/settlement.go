package partialfailure

import (
	"context"
	"sync"
	"time"

	"github.com/sqsbatch/sqsbatch/batch"
)

const (
	// linger is how long a failure waits for nine others to share its call.
	linger = 50 * time.Millisecond
	// finishTimeout bounds Finish where the context has no deadline.
	finishTimeout = 10 * time.Second
)

// Settlement settles one batch. It is a [batch.Settling]; its other
// methods are for one goroutine.
type Settlement struct {
	*Settler
	ctx    context.Context
	cancel context.CancelFunc
	again  context.Context // until it ends, calls are made again that SQS does not answer
	giveUp context.CancelFunc
	began  time.Time

	mu       sync.Mutex
	units    []*unit
	burials  map[*batch.Record]string // under way; with its queue, what SQS has confirmed
	queues   map[string]*pending      // by ARN
	timer    *time.Timer              // runs when something lingers
	busy     int                      // flushes under way or due
	idle     chan struct{}            // closed when busy falls to 0, if someone waits
	asked    map[string]chan struct{} // queues for their RedrivePolicy; closed when answered
	lanes    map[string]*lane         // by operation
	refusal  []refusal                // what to warn of
	cutShort bool                     // the time was over before a call was answered
	closed   bool                     // the outcomes stand
	over     bool                     // the results are the caller's again
	told     []batch.Call             // that the hooks are still to be told of
	telling  int                      // goroutines that tell them
	about    string                   // ARN of the queue of the latest of these calls
	quiet    chan struct{}            // closed when telling falls to 0, if someone waits
}

// Begin starts the settlement of a batch. Calls end with times.SettleBy; the
// end of ctx does not end them, so that a backoff is still set after a handler
// ran into its deadline.
func (s *Settler) Begin(ctx context.Context, times batch.Times) *Settlement {
	st := &Settlement{Settler: s, began: time.Now()}
	ctx = context.WithoutCancel(ctx)
	if times.SettleBy.IsZero() {
		st.ctx, st.cancel = context.WithCancel(ctx)
		st.again, st.giveUp = context.WithCancel(st.ctx)
	} else {
		st.ctx, st.cancel = context.WithDeadline(ctx, times.SettleBy)
		st.again, st.giveUp = context.WithDeadline(st.ctx, times.SettleBy.Add(-lastWord))
	}
	return st
}

// Failed takes a failure while the batch runs; see [batch.Settling]. It does
// not block: calls are made in tens, or after 50 ms, in the background.
func (st *Settlement) Failed(results []*batch.Result) {
	st.mu.Lock()
	defer st.mu.Unlock()
	if st.closed {
		return
	}
	u := newUnit(results, results[0].Started.Add(results[0].Duration))
	st.units = append(st.units, u)
	st.route(u)
	st.flushFull()
	st.lingerOn()
}

// Cancel ends the calls that are under way, as the end of times.SettleBy does: what
// they were for has failed.
func (st *Settlement) Cancel() { st.cancel() }

// background runs f beside the batch; Finish waits for it, but not for the hooks
// that are told of its calls.
func (st *Settlement) background(f func()) {
	st.busy++
	go func() {
		defer func() {
			st.mu.Lock()
			defer st.mu.Unlock()
			st.busy--
			if st.busy == 0 && st.idle != nil {
				close(st.idle)
				st.idle = nil
			}
			st.tellCalls()
		}()
		f()
	}()
}

// Finish settles what is left, what was not started last, and writes into
// results what became of each record: a permanent failure that reached the
// dead-letter queue is DeadLettered, and so on. It returns when every call is
// answered, at the latest at times.SettleBy; without one, after 10 s. Calls
// still open then are given up, and their records are as if they had failed.
//
// Then it tells the hooks what there is to warn of, and returns when they have
// been told; see [Settlement.Settle].
//
// results must be what Engine.Run returned for this Settlement.
func (st *Settlement) Finish(results []batch.Result) { st.Settle(results)() }

// Settle is [Settlement.Finish] without its warnings, so that no hook delays the
// answer. It returns what tells the hooks of them and must be called once: it
// reads results, and writes MaxReceiveCount into those of failures.
func (st *Settlement) Settle(results []batch.Result) (warn func()) {
	answered := st.wait(func() {
		st.deleteDone(results, batch.Succeeded)
		st.flushAll()
		st.releaseNotStarted(results)
		st.flushAll()
	})
	st.apply()
	// Also when the time is over: what is not deleted says so.
	answered = st.wait(func() { st.deleteDone(results, batch.DeadLettered, batch.Dropped) }) && answered
	st.mu.Lock()
	st.over = true
	st.mu.Unlock()
	return func() {
		defer st.cancel()
		st.warnRefused(results, answered)
		st.warnAttempts(results)
		st.warnAge(results)
		st.warnOrigins(results)
		st.warnDryRun(results)
		st.tellSchedule(results)
	}
}

// warn tells the hooks of something about the queue of the results.
func (st *Settlement) warn(results []batch.Result, w batch.Warning) {
	if len(results) > 0 {
		w.Queue = batch.QueueName(results[0].Record.QueueARN)
	}
	st.cfg.Hooks.Warn(st.ctx, w)
}

// wait calls start with the lock held, then waits for all calls, those that
// follow from others included (a visibility after a dead-letter that failed).
// It reports false when the time was over before.
func (st *Settlement) wait(start func()) (answered bool) {
	if _, bounded := st.ctx.Deadline(); !bounded {
		timer := time.AfterFunc(finishTimeout, st.cancel)
		defer timer.Stop()
	}
	enough := time.AfterFunc(patience, st.giveUp)
	defer enough.Stop()
	st.mu.Lock()
	defer st.mu.Unlock()
	start()
	for st.busy > 0 && st.ctx.Err() == nil {
		idle := make(chan struct{})
		st.idle = idle
		st.mu.Unlock()
		select {
		case <-idle:
		case <-st.ctx.Done():
		}
		st.mu.Lock()
		st.flushAll()
	}
	return st.busy == 0 && !st.cutShort
}

// apply writes what became of the units into their results. Answers that come
// later change nothing.
func (st *Settlement) apply() {
	st.mu.Lock()
	defer st.mu.Unlock()
	st.closed = true
	if st.timer != nil {
		st.timer.Stop()
	}
	for _, u := range st.units {
		if queue, is := st.givenUp(u); is && queue != "" {
			u.outcome, u.queue = batch.DeadLettered, queue
		}
		for i, r := range u.results {
			if u.visible[i] != notSet {
				r.VisibleIn, r.VisibilitySet = u.visible[i], true
			}
		}
		if u.outcome != batch.Pending {
			u.results[0].Outcome = u.outcome
			u.results[0].DeadLetterQueue = u.queue
		}
	}
}
