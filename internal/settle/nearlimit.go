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
// where the RedrivePolicy was asked for, and told of once for each answer.
func (s *Settler) warnAge(r *batch.Record) {
	age := time.Since(r.SentAt).Round(time.Second)
	retention, tell := s.queues.aged(r.QueueARN, age)
	if !tell {
		return
	}
	left := "is due to be deleted by SQS"
	if age < retention {
		left = fmt.Sprintf("will be deleted by SQS in %v", retention-age)
	}
	clock := "A standard dead-letter queue keeps its age: give that queue a longer retention"
	if r.FIFO() {
		clock = "In a FIFO dead-letter queue its age starts again from 0"
	}
	s.owner.Warn(batch.Warning{
		MessageID: r.MessageID,
		Message: fmt.Sprintf("the record was sent %v ago and %s unless it is handled (MessageRetentionPeriod is %v): fix the cause of its failure, or raise the retention. %s",
			age, left, retention, clock),
	})
}

// aged reports whether an age is near a queue's retention, and was not told of
// since SQS said that.
func (c *queueCache) aged(arn string, age time.Duration) (retention time.Duration, tell bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	q := c.of(arn)
	if q.last == nil || q.err != nil || q.aged || q.last.retention == 0 || float64(age) < agedShare*float64(q.last.retention) {
		return 0, false
	}
	q.aged = true
	return q.last.retention, true
}
