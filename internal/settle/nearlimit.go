package settle

import (
	"fmt"
	"time"

	"github.com/sqsbatch/sqsbatch/batch"
	"github.com/sqsbatch/sqsbatch/partialfailure"
)

// Report notes the queue's maxReceiveCount in results that are not done, as far as it is
// known, and warns of what SQS is about to give up on, and of dead letters that do not say
// where they came from.
func (s *Settler) Report(results []*batch.Result) {
	s.warnAttempts(results)
	s.warnAge(results)
	s.warnOrigins(results)
}

// warnAttempts notes the maximum in the failures and warns of those that SQS
// is about to give up on: at their last attempt, or the one before.
func (s *Settler) warnAttempts(results []*batch.Result) {
	var near *batch.Result
	n := 0
	for _, r := range results {
		if r.Outcome.Done() {
			continue
		}
		r.MaxReceiveCount, _ = s.maxReceiveCount(r.Record.QueueARN)
		if r.MaxReceiveCount > 0 && r.Record.Attempt >= r.MaxReceiveCount-1 {
			n++
			if near == nil || r.Record.Attempt > near.Record.Attempt {
				near = r
			}
		}
	}
	if n == 0 {
		return
	}
	who := "the record is near the dead-letter queue: it"
	if n > 1 {
		who = fmt.Sprintf("%d records are near the dead-letter queue: this one", n)
	}
	s.owner.Warn(batch.Warning{
		MessageID: near.Record.MessageID,
		Message:   fmt.Sprintf("%s was at attempt %d of %d", who, near.Record.Attempt, near.MaxReceiveCount),
	})
}

// agedShare is the part of a queue's retention after which a record that is not
// done is told of.
const agedShare = 0.8

// warnAge warns when SQS will delete a record unhandled before long. It is known
// where the RedrivePolicy was asked for, and told once for each answer.
func (s *Settler) warnAge(results []*batch.Result) {
	var oldest *batch.Result
	for _, r := range results {
		if !r.Outcome.Done() && !r.Record.SentAt.IsZero() && (oldest == nil || r.Record.SentAt.Before(oldest.Record.SentAt)) {
			oldest = r
		}
	}
	if oldest == nil {
		return
	}
	age := time.Since(oldest.Record.SentAt)
	retention, tell := s.queues.aged(oldest.Record.QueueARN, age)
	if !tell {
		return
	}
	left := "is due to be deleted by SQS"
	if age < retention {
		left = "will be deleted by SQS in " + coarse(retention-age)
	}
	clock := "A standard dead-letter queue keeps its age: give that queue a longer retention"
	if oldest.Record.FIFO() {
		clock = "In a FIFO dead-letter queue its age starts again from 0"
	}
	s.owner.Warn(batch.Warning{
		MessageID: oldest.Record.MessageID,
		Message: fmt.Sprintf("the record was sent %s ago and %s unless it is handled (MessageRetentionPeriod is %s): fix the cause of its failure, or raise the retention. %s",
			coarse(age), left, coarse(retention), clock),
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

// coarse is a duration in its two largest units, of which days are one.
func coarse(d time.Duration) string {
	d = max(d, time.Second)
	units, names := []time.Duration{24 * time.Hour, time.Hour, time.Minute, time.Second, 1}, "dhms"
	for i, unit := range units {
		if d < unit {
			continue
		}
		text := fmt.Sprintf("%d%c", d/unit, names[i])
		if rest := d % unit / units[i+1]; unit > time.Second && rest > 0 {
			text += fmt.Sprintf("%d%c", rest, names[i+1])
		}
		return text
	}
	return ""
}

// warnOrigins warns of dead letters that do not say where they came from.
func (s *Settler) warnOrigins(results []*batch.Result) {
	for _, r := range results {
		if r.Outcome != batch.DeadLettered {
			continue
		}
		if _, err := s.origin(r); err != nil {
			s.owner.Warn(batch.Warning{
				MessageID: r.Record.MessageID,
				Message:   fmt.Sprintf("the record's dead letter has no attribute %s, so that only its body tells which record it was", partialfailure.OriginAttribute),
				Err:       err,
			})
		}
	}
}
