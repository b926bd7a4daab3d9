package partialfailure

import (
	"context"
	"time"

	"github.com/sqsbatch/sqsbatch/batch"
)

// DeadLetter sends a record of a FIFO group to the dead-letter queue, or drops it, if
// it failed for good or for the last time before SQS would move it there, so
// that the records behind it are handled in the same delivery: see
// package runner. They were delivered as often as it was, and SQS would move
// them with the next delivery, although no handler has seen them.
//
// Only what SQS confirms is buried, and nothing after the end of ctx. With
// OnPermanent Retry, and in a dry run, nothing is.
func (st *Settlement) DeadLetter(ctx context.Context, r *batch.Result) bool {
	policy := st.onPermanent(batch.VerdictOf(r.Err))
	_, known := st.maxReceiveCount(r.Record.QueueARN)
	switch {
	case st.cfg.DryRun || policy == Retry && st.cfg.OnPermanent == Retry:
		return false
	case policy == Drop:
		r.Outcome = batch.Dropped
		return true
	}
	if ctx.Err() != nil || policy == Retry && known && !st.Settler.LastAttempt(r.Record) {
		return false
	}
	failed := *r
	sent := make(chan string, 1)
	st.mu.Lock()
	if st.closed {
		st.mu.Unlock()
		return false
	}
	if st.burials == nil {
		st.burials = map[*batch.Record]string{}
	}
	st.burials[r.Record] = ""
	st.background(func() {
		url := ""
		if policy == DeadLetter || st.isLast(failed.Record) {
			if to, errs := st.send(failed.Record.QueueARN, []*batch.Result{&failed}); errs[0] == nil {
				url = to
			}
		}
		st.mu.Lock()
		defer st.mu.Unlock()
		if st.burials[failed.Record] = url; url == "" {
			delete(st.burials, failed.Record)
		}
		sent <- url
	})
	st.mu.Unlock()
	// Not until the end of ctx: a send that is under way may still be confirmed. The
	// batch gives up on it by itself, see givenUp, and the send ends with the
	// settlement's calls.
	url, enough := "", time.NewTimer(burialPatience)
	defer enough.Stop()
	select {
	case url = <-sent:
	case <-enough.C: // the other records of the batch need the worker, see givenUp
	}
	if url == "" {
		return false
	}
	r.Outcome, r.DeadLetterQueue = batch.DeadLettered, url
	return true
}

// givenUp reports whether the batch took u for a failure before SQS answered its
// burial, and which queue has it if SQS has confirmed it since. It is not sent once
// more, and is no failure if it is there. The caller holds the lock.
func (st *Settlement) givenUp(u *unit) (queue string, is bool) {
	queue, is = st.burials[u.results[0].Record]
	return queue, is
}

// LastAttempt reports whether SQS will move a record to the dead-letter queue instead
// of delivering it again; see package runner. It asks the queue for its
// RedrivePolicy if need be, and waits for the answer for 1 s at most. No first attempt
// asks, since it may well succeed.
func (st *Settlement) LastAttempt(r *batch.Record) bool {
	if r.Attempt <= 1 {
		return st.Settler.LastAttempt(r)
	}
	return st.isLast(r)
}

func (st *Settlement) isLast(r *batch.Record) bool {
	if st.cfg.MaxReceiveCount == 0 {
		st.mu.Lock()
		if !st.closed {
			st.askPolicy(r.QueueARN)
		}
		st.mu.Unlock()
		st.awaitPolicy(r.QueueARN)
	}
	return st.Settler.LastAttempt(r)
}

// LastAttempt is [Settlement.LastAttempt] by what is known of the queue already. Where
// no last failure is dead-lettered here (OnPermanent is Retry, or it is a dry run), it
// is false.
func (s *Settler) LastAttempt(r *batch.Record) bool {
	most, _ := s.maxReceiveCount(r.QueueARN)
	return most > 0 && r.Attempt >= most && !s.cfg.DryRun && s.cfg.OnPermanent != Retry
}
