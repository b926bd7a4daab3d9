package settle

import (
	"errors"
	"fmt"
	"time"

	"github.com/sqsbatch/sqsbatch/batch"
	"github.com/sqsbatch/sqsbatch/internal/sqserror"
)

// costs says what a failed operation means for the records.
var costs = map[operation]string{
	opVisibility: "failed records come back when their visibility timeout is over, instead of after their backoff",
	opSend:       "permanent failures stay in the queue and are retried",
	opDelete:     "records that were handled will be delivered again, unless a later try deletes them",
	opAttributes: "the dead-letter queue and maxReceiveCount are unknown: permanent failures are retried, and nothing warns of last attempts, or of the end of the retention",
}

// staleCost is the consequence for the record, whatever the operation.
const staleCost = "another receiver may have it, or it comes back"

// ownErrors are the errors of this package: what to do about each, and whether no further
// call of the operation is made, see refusedFor.
var ownErrors = map[error]struct {
	advice string
	lasts  bool
}{
	errOwnQueue:          {"the dead-letter queue is the queue that the records come from: nothing is sent there", true},
	errNoDeadLetterQueue: {"there is no dead-letter queue: give the queue a RedrivePolicy, or set DeadLetterQueue; to keep it so, set OnPermanent to \"retry\" or \"drop\" (with package handler: SQSBATCH_DEAD_LETTER_QUEUE, SQSBATCH_ON_PERMANENT)", false},
	errNoARN:             {"the records' eventSourceARN is not the ARN of a queue", true},
	errNoClient:          {sqserror.NotSent, true},
	errPolicy:            {errPolicy.Error(), false},
	errNoAnswer:          {"SQS's answer is incomplete", false},
}

// diagnose says what to do about the error of a call to target, and whether the error lasts.
func diagnose(err error, op operation, target string) (advice string, lasts bool) {
	for own, d := range ownErrors {
		if errors.Is(err, own) {
			return d.advice, d.lasts
		}
	}
	return sqserror.Advice(err, "sqs:"+string(op), target), sqserror.Lasts(err)
}

// warnOf warns of an error of an operation, once for each cause.
func (s *Settler) warnOf(op operation, target string, err error) {
	if s.ctx.Err() != nil {
		s.late = true // Batch.report or Poller.reportLeft warns
		return
	}
	if errors.Is(err, errRefused) || errors.Is(err, errUnknown) {
		return // its cause was reported
	}
	advice, _ := diagnose(err, op, target)
	cause := advice
	if code := sqserror.Code(err); code != "" { // SQS's answer is about this operation
		cause += code + string(op)
	}
	if !s.shouldWarn(cause) {
		return
	}
	cost := costs[op]
	if sqserror.Of(err) == sqserror.Stale {
		cost = staleCost
	}
	s.owner.Warn(batch.Warning{Message: fmt.Sprintf("%v: %s (%s)", op, advice, cost), Err: err})
}

// remindAfter is the time after which a poller repeats a warning.
const remindAfter = 5 * time.Minute

// shouldWarn reports whether a warning about a cause is due, and notes that it is given.
func (s *Settler) shouldWarn(cause string) bool {
	warned, now := s.causes[cause], time.Now()
	if now.Sub(warned) < remindAfter {
		return false
	}
	s.causes[cause] = now
	return true
}

// note sets MaxReceiveCount, if it is known, in those results that are of unfinished
// records. It warns of the records on which SQS is about to give up.
func (s *Settler) note(results int, at func(i int) *batch.Result) {
	var last, oldest *batch.Result
	n := 0 // at their last attempt, or the one before
	for i := range results {
		r := at(i)
		if r.Outcome.Done() {
			continue
		}
		if sent := r.Record.SentAt; !sent.IsZero() && (oldest == nil || sent.Before(oldest.Record.SentAt)) {
			oldest = r
		}
		r.MaxReceiveCount, _ = s.maxReceiveCount(r.Record.QueueARN)
		if r.MaxReceiveCount == 0 || r.Record.Attempt < r.MaxReceiveCount-1 {
			continue
		}
		if n++; last == nil || r.Record.Attempt > last.Record.Attempt {
			last = r
		}
	}
	if last != nil {
		s.warnAttempts(last, n)
	}
	if oldest != nil {
		s.warnAge(oldest.Record)
	}
}

// warnAttempts warns of n records that SQS is about to move to the dead-letter queue, of
// which last has the most attempts.
func (s *Settler) warnAttempts(last *batch.Result, n int) {
	left := "no attempt"
	if n := last.MaxReceiveCount - last.Record.Attempt; n > 0 {
		left = fmt.Sprintf("%d attempt", n)
	}
	text := fmt.Sprintf("%s left before the dead-letter queue (%d of %d used)", left, last.Record.Attempt, last.MaxReceiveCount)
	if n > 1 {
		text = fmt.Sprintf("%d records near maxReceiveCount; the closest: %s", n, text)
	}
	s.owner.Warn(batch.Warning{MessageID: last.Record.MessageID, Message: text})
}

// agedShare is the part of a queue's retention after which there is a warning about an
// unfinished record.
const agedShare = 0.8

// warnAge warns if SQS will soon delete a record unhandled. The retention is known if the
// RedrivePolicy was read.
func (s *Settler) warnAge(r *batch.Record) {
	queue, _ := s.queues.known(r.QueueARN)
	age, retention := time.Since(r.SentAt).Round(time.Second), queue.retention
	if retention == 0 || float64(age) < agedShare*float64(retention) {
		return
	}
	now, last := time.Now(), s.aged.Load()
	if last != 0 && now.Sub(time.Unix(0, last)) < remindAfter || !s.aged.CompareAndSwap(last, now.UnixNano()) {
		return
	}
	s.owner.Warn(batch.Warning{
		MessageID: r.MessageID,
		Message: fmt.Sprintf("the record was sent %v ago and will be deleted by SQS unless it is handled (MessageRetentionPeriod is %v): fix the cause of its failure, or raise the retention. "+
			"A standard dead-letter queue keeps its age: give that queue a longer retention. In a FIFO dead-letter queue its age starts again from 0", age, retention),
	})
}
