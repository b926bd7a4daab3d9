package partialfailure

import (
	"slices"
	"time"

	"github.com/sqsbatch/sqsbatch/batch"
)

// unit is a failure and the records that were skipped because of it. They are
// settled alike, so that a FIFO group is not blocked by some of its records.
type unit struct {
	results   []*batch.Result
	failedAt  time.Time
	outcome   batch.Outcome // of the first record, when it is not what the engine said
	queue     string        // where a dead-lettered record went
	wouldGoTo string        // where it would have, were this not a dry run
	backoff   bool          // visibleIn is still to be worked out, see decide
	visibleIn time.Duration // counted from failedAt
	// visible is, by result, what SQS has accepted, or notSet.
	visible []time.Duration
}

const notSet = time.Duration(-1)

func newUnit(results []*batch.Result, failedAt time.Time) *unit {
	u := &unit{results: results, failedAt: failedAt, visible: make([]time.Duration, len(results))}
	for i := range u.visible {
		u.visible[i] = notSet
	}
	return u
}

// pending is what waits for a call about one queue.
type pending struct {
	arn     string
	visible []visibility
	dead    []*unit
}

// route decides what to do about a failure.
func (st *Settlement) route(u *unit) {
	failed := u.results[0]
	if _, is := st.givenUp(u); is {
		st.retryLater(u)
		return
	}
	switch st.onPermanent(batch.VerdictOf(failed.Err)) {
	case DeadLetter:
		p := st.pendingOf(failed.Record.QueueARN)
		p.dead = append(p.dead, u)
		return
	case Drop:
		u.outcome = batch.Dropped
		st.release(u)
		return
	}
	st.retryLater(u)
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

// retryLater has the whole unit come back after its backoff.
func (st *Settlement) retryLater(u *unit) {
	u.backoff = true
	if failed := u.results[0]; st.cfg.Backoff == nil || failed.Record.Attempt > 1 || failed.Outcome == batch.Abandoned {
		st.askPolicy(failed.Record.QueueARN)
	}
	st.enqueue(u, 0)
}

// release has what was skipped come back at once: the record in its way is gone.
func (st *Settlement) release(u *unit) {
	st.enqueue(u, 1)
}

func (st *Settlement) enqueue(u *unit, from int) {
	p := st.pendingOf(u.results[0].Record.QueueARN)
	for i := from; i < len(u.results); i++ {
		p.visible = append(p.visible, visibility{unit: u, i: i})
	}
}

func (st *Settlement) pendingOf(arn string) *pending {
	p := st.queues[arn]
	if p == nil {
		if st.queues == nil {
			st.queues = make(map[string]*pending, 1)
		}
		p = &pending{arn: arn}
		st.queues[arn] = p
	}
	return p
}

// flushFull starts a call for every ten that wait.
func (st *Settlement) flushFull() {
	for _, p := range st.queues {
		for len(p.visible) >= maxEntries {
			st.flushVisible(p)
		}
		for len(p.dead) >= maxEntries {
			st.flushDead(p)
		}
	}
}

// flushAll starts calls for all that waits.
func (st *Settlement) flushAll() {
	for _, p := range st.queues {
		for len(p.dead) > 0 {
			st.flushDead(p)
		}
		for len(p.visible) > 0 {
			st.flushVisible(p)
		}
	}
}

// lingerOn flushes what waits a little later, unless ten come together before.
func (st *Settlement) lingerOn() {
	if st.timer != nil {
		return
	}
	waiting := false
	for _, p := range st.queues {
		waiting = waiting || len(p.visible) > 0 || len(p.dead) > 0
	}
	if !waiting {
		return
	}
	st.timer = time.AfterFunc(linger, func() {
		st.mu.Lock()
		defer st.mu.Unlock()
		st.timer = nil
		if !st.closed {
			st.flushAll()
		}
	})
}

// releaseNotStarted has records that were not started come back at once, or, if
// their batch was aborted, when that said. If none of the batch was, and that not
// for the first time, something is wrong with the configuration, and they come
// back with backoff: released at once they would be in the dead-letter queue
// within seconds.
func (st *Settlement) releaseNotStarted(results []batch.Result) {
	stuck := !slices.ContainsFunc(results, func(r batch.Result) bool { return r.Outcome != batch.NotStarted })
	for i := range results {
		r := &results[i]
		if r.Outcome != batch.NotStarted {
			continue
		}
		u := newUnit([]*batch.Result{r}, time.Now())
		verdict := batch.VerdictOf(r.Err)
		u.backoff = verdict.Aborts || stuck && r.Record.Attempt > 1
		st.units = append(st.units, u)
		st.enqueue(u, 0)
		if r.Record.Attempt > 1 || u.backoff && st.cfg.Backoff == nil {
			st.askPolicy(r.Record.QueueARN)
		}
	}
}
