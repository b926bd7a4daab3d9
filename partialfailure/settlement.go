package partialfailure

import (
	"context"
	"slices"
	"sync"
	"time"

	"github.com/sqsbatch/sqsbatch/batch"
)

const (
	// linger is how long a failure waits for nine others to share its call.
	linger = 50 * time.Millisecond
	// finishTimeout bounds Settle where the context has no deadline.
	finishTimeout = 10 * time.Second
)

// Settlement settles one batch. It is a runner.Settling; its other
// methods are for one goroutine.
type Settlement struct {
	*Settler
	ctx    context.Context // of the calls to SQS
	cancel context.CancelFunc
	again  context.Context // until it ends, calls are made again that SQS does not answer
	giveUp context.CancelFunc
	began  time.Time

	mu        sync.Mutex
	groups    []*failedGroup
	waiting   map[line][]*entry
	lingers   bool                     // flush is due in a moment
	inPlace   map[*batch.Record]string // sent by Bury; with the queue, if SQS has confirmed it
	asked     map[string]chan struct{} // queues for their RedrivePolicy; closed when answered
	lanes     map[string]*lane         // by operation
	calling   running
	telling   running
	untold    []batch.Call // that the hooks are still to be told of
	about     string       // ARN of the queue of the latest call that they were told of
	warnings  []batch.Warning
	causes    []string // of warnings
	cutShort  bool     // the time was over before a call was answered
	finishing bool     // nothing lingers any more
	closed    bool     // the outcomes stand
	returned  bool     // the results are the caller's again
}

// failedGroup is a failure, and the records that were skipped because of it. They
// come back together, so that a FIFO group is not blocked by some of its records.
type failedGroup struct {
	entries   []*entry
	failedAt  time.Time
	outcome   batch.Outcome // of the first record, when it is not what the engine said
	queue     string        // where a dead-lettered record went
	undecided bool          // visibleIn is still to be worked out, see decide
	visibleIn time.Duration // counted from failedAt
}

// entry is a record's place in a call to SQS.
type entry struct {
	*batch.Result
	group   *failedGroup
	visible time.Duration // what is asked for, or SQS has accepted, counted from failedAt
	set     bool          // SQS has accepted it
}

// line is what waits for calls of one operation about one queue.
type line struct{ op, arn string }

// Begin starts the settlement of a batch. Calls end with times.SettleBy; the
// end of ctx does not end them, so that a backoff is still set after a handler
// ran into its deadline.
func (s *Settler) Begin(ctx context.Context, times batch.Times) *Settlement {
	st := &Settlement{
		Settler: s, began: time.Now(),
		waiting: map[line][]*entry{}, lanes: map[string]*lane{},
		inPlace: map[*batch.Record]string{}, asked: map[string]chan struct{}{},
	}
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

// Failed takes a failure while the batch runs; see package runner. It does
// not block: calls are made in tens, or after 50 ms, in the background.
func (st *Settlement) Failed(results []*batch.Result) {
	st.mu.Lock()
	defer st.mu.Unlock()
	if !st.closed {
		st.route(st.group(results, results[0].Started.Add(results[0].Duration)))
		st.flush(false)
	}
}

func (st *Settlement) group(results []*batch.Result, failedAt time.Time) *failedGroup {
	g := &failedGroup{failedAt: failedAt, entries: make([]*entry, len(results))}
	for i, r := range results {
		g.entries[i] = &entry{Result: r, group: g}
	}
	st.groups = append(st.groups, g)
	return g
}

// route decides what to do about a failure.
func (st *Settlement) route(g *failedGroup) {
	failed := g.entries[0]
	if _, sent := st.inPlace[failed.Record]; sent {
		st.comeBack(g, true) // the engine gave up on Bury: it is not sent twice
		return
	}
	switch st.onPermanent(batch.VerdictOf(failed.Err)) {
	case DeadLetter:
		st.enqueue(opSend, failed)
	case Drop:
		g.outcome = batch.Dropped
		st.enqueue(opVisibility, g.entries[1:]...)
	default:
		st.comeBack(g, true)
	}
}

// onPermanent says what becomes of a record by what its error asks for.
func (s *Settler) onPermanent(v batch.Verdict) OnPermanent {
	switch {
	case v.Malformed:
		return s.cfg.OnMalformed
	case v.Permanent:
		return s.cfg.OnPermanent
	}
	return Retry
}

// comeBack has the whole group come back, at once or after its backoff.
func (st *Settlement) comeBack(g *failedGroup, backoff bool) {
	g.undecided = backoff
	if failed := g.entries[0]; backoff && st.cfg.Backoff == nil || failed.Record.Attempt > 1 || failed.Outcome == batch.Abandoned {
		st.askPolicy(failed.Record.QueueARN)
	}
	st.enqueue(opVisibility, g.entries...)
}

func (st *Settlement) enqueue(op string, entries ...*entry) {
	for _, e := range entries {
		to := line{op, e.Record.QueueARN}
		st.waiting[to] = append(st.waiting[to], e)
	}
}

// flush starts a call for every ten entries that wait for the same, and one for the
// rest: at once if all is set or the batch is over, else a moment later, unless ten
// come together before.
func (st *Settlement) flush(all bool) {
	rest := false
	for to, list := range st.waiting {
		for len(list) >= maxEntries || (all || st.finishing) && len(list) > 0 {
			n := min(len(list), maxEntries)
			if to.op == opSend {
				n = fitting(list[:n])
			}
			entries := list[:n:n]
			list = list[n:]
			st.background(func() { st.process(to, entries) })
		}
		st.waiting[to] = list
		rest = rest || len(list) > 0
	}
	if !rest || st.lingers {
		return
	}
	st.lingers = true
	time.AfterFunc(linger, func() {
		st.mu.Lock()
		defer st.mu.Unlock()
		if st.lingers = false; !st.closed {
			st.flush(true)
		}
	})
}

func (st *Settlement) process(to line, entries []*entry) {
	switch to.op {
	case opSend:
		st.deadLetter(to.arn, entries)
	case opVisibility:
		st.changeVisibility(to.arn, entries)
	case opDelete:
		st.delete(to.arn, entries)
	}
}

// background runs f concurrently with the batch; Settle waits for it, but not for the hooks
// that are told of its calls. The caller holds the lock.
func (st *Settlement) background(f func()) {
	st.calling.add()
	go func() {
		defer func() {
			st.mu.Lock()
			defer st.mu.Unlock()
			st.calling.end()
			st.tellCalls()
		}()
		f()
	}()
}

// Cancel ends the calls that are under way, as the end of times.SettleBy does: what
// they were for has failed.
func (st *Settlement) Cancel() { st.cancel() }

// Finish is Settle with its warnings.
func (st *Settlement) Finish(results []batch.Result) { st.Settle(results)() }

// Settle settles what is left, records that were not started last, and writes into
// results what became of each record: a permanent failure that reached the
// dead-letter queue is DeadLettered, and so on. It returns when every call is
// answered, at the latest at times.SettleBy; without one, after 10 s. Calls
// still open then are given up, and their records are as if they had failed.
//
// It returns a function that tells the hooks what there is to warn of, so that no
// hook delays the answer. It must be called once: it reads results, and writes
// MaxReceiveCount into those of failures.
//
// results must be what Engine.Run returned for this Settlement.
func (st *Settlement) Settle(results []batch.Result) (warn func()) {
	answered := st.wait(func() {
		st.finishing = true
		st.deleteDone(results, batch.Succeeded)
		st.flush(true)
		st.releaseNotStarted(results)
		st.flush(true)
	})
	st.apply()
	// Also when the time is over: a record that is not deleted says so.
	answered = st.wait(func() { st.deleteDone(results, batch.DeadLettered, batch.Dropped) }) && answered
	st.mu.Lock()
	defer st.mu.Unlock()
	st.returned = true
	return func() {
		defer st.cancel()
		st.warnRefused(results, answered)
		st.warnAttempts(results)
		st.warnAge(results)
		st.warnOrigins(results)
		st.tellSchedule(results)
	}
}

// releaseNotStarted has records that were not started come back at once, or, if
// their batch was aborted, when that said. If none of the batch was, and that not
// for the first time, something is wrong with the configuration, and they come
// back with backoff: released at once they would be in the dead-letter queue
// within seconds.
func (st *Settlement) releaseNotStarted(results []batch.Result) {
	stuck := !slices.ContainsFunc(results, func(r batch.Result) bool { return r.Outcome != batch.NotStarted })
	for i := range results {
		if r := &results[i]; r.Outcome == batch.NotStarted {
			backoff := batch.VerdictOf(r.Err).Aborts || stuck && r.Record.Attempt > 1
			st.comeBack(st.group([]*batch.Result{r}, time.Now()), backoff)
		}
	}
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
	start()
	idle := st.calling.ended()
	st.mu.Unlock()
	select {
	case <-idle:
	case <-st.ctx.Done():
	}
	st.mu.Lock()
	defer st.mu.Unlock()
	return st.calling.n == 0 && !st.cutShort
}

// apply writes what became of the groups into their results. Answers that come
// later change nothing.
func (st *Settlement) apply() {
	st.mu.Lock()
	defer st.mu.Unlock()
	st.closed = true
	for _, g := range st.groups {
		failed := g.entries[0]
		if queue := st.inPlace[failed.Record]; queue != "" {
			g.outcome, g.queue = batch.DeadLettered, queue
		}
		for _, e := range g.entries {
			e.VisibleIn, e.VisibilitySet = e.visible, e.set
		}
		if g.outcome != batch.Pending {
			failed.Outcome, failed.DeadLetterQueue = g.outcome, g.queue
		}
	}
}

// running counts goroutines. The settlement's lock guards it.
type running struct {
	n    int
	idle chan struct{} // closed when n falls to 0
}

func (r *running) add() {
	if r.n++; r.n == 1 {
		r.idle = make(chan struct{})
	}
}

func (r *running) end() {
	if r.n--; r.n == 0 {
		close(r.idle)
	}
}

// ended returns a channel that is closed once none runs.
func (r *running) ended() <-chan struct{} {
	if r.idle == nil {
		r.idle = make(chan struct{})
		close(r.idle)
	}
	return r.idle
}
