package partialfailure

import (
	"context"
	"fmt"
	"time"

	"github.com/sqsbatch/sqsbatch/batch"
)

// Near does for records that are not done, and that no settlement tells SQS of
// (their handlers still run, or they were made visible at once), what
// [Settlement.Finish] does for others: it writes MaxReceiveCount into results,
// asking the queue if need be, and warns of those that SQS is about to give up on.
// It returns by the time by; what is not known then is left out.
func (s *Settler) Near(ctx context.Context, by time.Time, results []batch.Result) {
	st := s.Begin(ctx, batch.Times{SettleBy: by})
	defer st.cancel()
	if st.ctx.Err() == nil {
		st.wait(func() {
			for i := range results {
				if r := &results[i]; !r.Outcome.Done() && r.Record.Attempt > 1 {
					st.askPolicy(r.Record.QueueARN)
				}
			}
		})
	}
	st.warnRefused(results, true)
	st.warnAttempts(results)
	st.warnAge(results)
}

// askPolicy asks the queue when the last attempt is, once in a batch and only where
// that is not configured.
func (st *Settlement) askPolicy(arn string) {
	if st.cfg.MaxReceiveCount > 0 || st.cfg.DryRun || st.asked[arn] != nil {
		return
	}
	if st.asked == nil {
		st.asked = make(map[string]chan struct{}, 1)
	}
	answered := make(chan struct{})
	st.asked[arn] = answered
	st.background(func() {
		defer close(answered)
		_, _ = st.redriveOf(arn)
	})
}

// maxReceiveCount is a queue's, 0 without a RedrivePolicy, and whether it is known.
func (s *Settler) maxReceiveCount(arn string) (most int, known bool) {
	if s.cfg.MaxReceiveCount > 0 {
		return s.cfg.MaxReceiveCount, true
	}
	policy, known := s.redrive.known(arn)
	return policy.maxReceiveCount, known
}

// warnAttempts notes the maximum in the failures and warns of those that SQS
// is about to give up on: at their last attempt, or the one before.
func (st *Settlement) warnAttempts(results []batch.Result) {
	var near *batch.Result
	n := 0
	for i := range results {
		r := &results[i]
		if r.Outcome.Done() {
			continue
		}
		r.MaxReceiveCount, _ = st.maxReceiveCount(r.Record.QueueARN)
		if r.MaxReceiveCount > 0 && r.Record.Attempt >= r.MaxReceiveCount-1 {
			n++
			if near == nil || r.Record.Attempt > near.Record.Attempt {
				near = r
			}
		}
	}
	if n > 0 {
		who := "the record is near the dead-letter queue: it"
		if n > 1 {
			who = fmt.Sprintf("%d records are near the dead-letter queue: this one", n)
		}
		st.warn(results, batch.Warning{
			MessageID: near.Record.MessageID,
			Message:   fmt.Sprintf("%s was at attempt %d of %d", who, near.Record.Attempt, near.MaxReceiveCount),
		})
	}
}

// agedShare is the part of a queue's retention after which a record that is not
// done is told of.
const agedShare = 0.8

// warnAge warns when SQS will delete a record unhandled before long. It is known
// where the RedrivePolicy was asked for, and told once for each answer.
func (st *Settlement) warnAge(results []batch.Result) {
	var oldest *batch.Result
	for i := range results {
		r := &results[i]
		if !r.Outcome.Done() && !r.Record.SentAt.IsZero() && (oldest == nil || r.Record.SentAt.Before(oldest.Record.SentAt)) {
			oldest = r
		}
	}
	if oldest == nil {
		return
	}
	age := time.Since(oldest.Record.SentAt)
	retention, tell := st.redrive.aged(oldest.Record.QueueARN, age)
	if !tell {
		return
	}
	left := "is due to be deleted by SQS"
	if age < retention {
		left = "will be deleted by SQS in " + coarse(retention-age)
	}
	clock := saysClockGoesOn
	if oldest.Record.FIFO() {
		clock = saysClockBegins
	}
	st.warn(results, batch.Warning{
		MessageID: oldest.Record.MessageID,
		Message: fmt.Sprintf("the record was sent %s ago and %s unless it is handled (MessageRetentionPeriod is %s): mend what it fails of, or raise the retention. %s",
			coarse(age), left, coarse(retention), st.say(clock)),
	})
}

// aged reports whether an age is near a queue's retention, and was not told of
// since that was asked for.
func (c *redriveCache) aged(arn string, age time.Duration) (retention time.Duration, tell bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	a := c.answers[arn]
	if a == nil || a.until.IsZero() || a.value.retention == 0 || a.aged || float64(age) < agedShare*float64(a.value.retention) {
		return 0, false
	}
	a.aged = true
	return a.value.retention, true
}

// coarse is a duration in its two largest units, of which days are one.
func coarse(d time.Duration) string {
	const day = 24 * time.Hour
	switch {
	case d >= day:
		return withRest(d/day, "d", d%day/time.Hour, "h")
	case d >= time.Hour:
		return withRest(d/time.Hour, "h", d%time.Hour/time.Minute, "m")
	case d >= time.Minute:
		return withRest(d/time.Minute, "m", d%time.Minute/time.Second, "s")
	}
	return fmt.Sprintf("%ds", max(1, d/time.Second))
}

func withRest(n time.Duration, unit string, rest time.Duration, of string) string {
	if rest == 0 {
		return fmt.Sprintf("%d%s", n, unit)
	}
	return fmt.Sprintf("%d%s%d%s", n, unit, rest, of)
}
