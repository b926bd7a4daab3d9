package partialfailure

import (
	"context"

	"github.com/sqsbatch/sqsbatch/batch"
)

// Bury sends a record of a FIFO group to the dead-letter queue, or drops it, if
// it failed for good or for the last time before SQS would move it there, so
// that the records behind it are handled in the same delivery: see
// [batch.Settling]. They were delivered as often as it was, and SQS would move
// them with the next delivery, although no handler has seen them.
//
// Only what SQS confirms is buried, and nothing after the end of ctx. With
// OnPermanent Retry, and in a dry run, nothing is.
func (st *Settlement) Bury(ctx context.Context, r *batch.Result) bool {
	policy := st.onPermanent(batch.VerdictOf(r.Err))
	switch {
	case st.cfg.DryRun || policy == Retry && st.cfg.OnPermanent == Retry:
		return false
	case policy == Drop:
		r.Outcome = batch.Dropped
		return true
	case policy == Retry && !st.mayBeLast(r.Record.Attempt):
		return false
	}
	if ctx.Err() != nil {
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
	url := <-sent
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

// mayBeLast reports whether it is worth asking: no first attempt asks the queue.
func (st *Settlement) mayBeLast(attempt int) bool {
	return attempt > 1 || st.cfg.MaxReceiveCount == 1
}

// isLast reports whether SQS will move a record to the dead-letter queue instead
// of delivering it again, asking for the queue's RedrivePolicy if need be.
func (st *Settlement) isLast(r *batch.Record) bool {
	most := st.cfg.MaxReceiveCount
	if most == 0 {
		policy, err := st.redriveOf(r.QueueARN)
		if err != nil || policy.deadLetterARN == "" {
			return false
		}
		most = policy.maxReceiveCount
	}
	return most > 0 && r.Attempt >= most
}
