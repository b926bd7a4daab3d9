package settle

import (
	"fmt"
	"time"

	"github.com/sqsbatch/sqsbatch/batch"
)

// Report notes the queue's maxReceiveCount in results that are not done, as far as it is
// known, and warns of what SQS is about to give up on.
func (s *Settler) Report(results []*batch.Result) {
	var last, oldest *batch.Result
	n := 0 // at their last attempt, or the one before
	for _, r := range results {
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
	who := "the record is near the dead-letter queue: it"
	if n > 1 {
		who = fmt.Sprintf("%d records are near the dead-letter queue: this one", n)
	}
	s.owner.Warn(batch.Warning{
		MessageID: last.Record.MessageID,
		Message:   fmt.Sprintf("%s was at attempt %d of %d", who, last.Record.Attempt, last.MaxReceiveCount),
	})
}

// agedShare is the part of a queue's retention after which a record that is not
// done is told of.
const agedShare = 0.8

// warnAge warns when SQS will delete a record unhandled before long. The retention is known
// where the RedrivePolicy was asked for.
func (s *Settler) warnAge(r *batch.Record) {
	queue, _ := s.queues.known(r.QueueARN)
	age, retention := time.Since(r.SentAt).Round(time.Second), queue.retention
	if retention == 0 || float64(age) < agedShare*float64(retention) || !s.tells("age") {
		return
	}
	s.owner.Warn(batch.Warning{
		MessageID: r.MessageID,
		Message: fmt.Sprintf("the record was sent %v ago and will be deleted by SQS unless it is handled (MessageRetentionPeriod is %v): fix the cause of its failure, or raise the retention. "+
			"A standard dead-letter queue keeps its age: give that queue a longer retention. In a FIFO dead-letter queue its age starts again from 0", age, retention),
	})
}
