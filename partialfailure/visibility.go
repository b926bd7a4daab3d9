package partialfailure

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/sqs"
	"github.com/aws/aws-sdk-go-v2/service/sqs/types"
	"github.com/sqsbatch/sqsbatch/batch"
	"github.com/sqsbatch/sqsbatch/internal/sqserror"
)

// maxVisibility is what SQS allows from the receipt of a message to its next
// appearance. Beyond that ChangeMessageVisibility is an error, see "Amazon SQS
// visibility timeout" in the Developer Guide.
const maxVisibility = 12 * time.Hour

// maxWindow is the longest that a message may have been with Lambda before the
// invocation began: the longest batching window, and some time to spare.
const maxWindow = 5*time.Minute + 30*time.Second

// callMargin is left of the 12 hours for the call itself and for clocks that differ.
const callMargin = 5 * time.Second

// visibility is one entry of a call: result i of a unit.
type visibility struct {
	unit *unit
	i    int
}

func (v visibility) result() *batch.Result { return v.unit.results[v.i] }

// flushVisible starts a call for the first ten entries that wait.
func (st *Settlement) flushVisible(p *pending) {
	n := min(len(p.visible), maxEntries)
	entries := p.visible[:n:n]
	p.visible = p.visible[n:]
	if st.cfg.DryRun {
		for _, e := range st.decide(entries) {
			e.unit.visible[e.i] = e.unit.visibleIn
		}
		return
	}
	st.background(func() { st.changeVisibility(p.arn, entries) })
}

// policyWait bounds the time for which a backoff waits for the queue to say its
// maxReceiveCount, which then counts as 5.
const policyWait = time.Second

// awaitPolicy waits for the answer about a queue, if it was asked, for policyWait or a
// quarter of the time that is left.
func (st *Settlement) awaitPolicy(arn string) {
	st.mu.Lock()
	answered := st.asked[arn]
	st.mu.Unlock()
	if answered == nil {
		return
	}
	wait := policyWait
	if by, bounded := st.ctx.Deadline(); bounded {
		wait = min(wait, time.Until(by)/4)
	}
	late := time.NewTimer(wait)
	defer late.Stop()
	select {
	case <-answered:
	case <-late.C:
	case <-st.ctx.Done():
	}
}

// decide works out when the units come back of which that is not known, and returns
// the entries that are to be set. What is not is left to the queue's visibility
// timeout: an abandoned record, and those behind it, never come back sooner than that,
// since the handler may still be at work. The caller holds the lock.
func (st *Settlement) decide(entries []visibility) (set []visibility) {
	for _, e := range entries {
		u, failed := e.unit, e.unit.results[0]
		if u.backoff {
			u.backoff = false
			u.visibleIn = st.backoff(failed.Record, batch.VerdictOf(failed.Err), u.failedAt)
		}
		if failed.Outcome == batch.Abandoned && u.outcome == batch.Pending {
			until := st.hiddenUntil(e.result().Record)
			if until.IsZero() || !u.failedAt.Add(u.visibleIn).After(until) {
				continue
			}
		}
		set = append(set, e)
	}
	return set
}

// hiddenUntil is when SQS shows a record by itself at the latest; zero if that is
// not known.
func (st *Settlement) hiddenUntil(r *batch.Record) time.Time {
	if st.cfg.HiddenUntil != nil {
		return st.cfg.HiddenUntil(r)
	}
	policy, known := st.redrive.known(r.QueueARN)
	if !known || policy.visibility == 0 {
		return time.Time{}
	}
	return st.began.Add(policy.visibility) // it was received before that
}

// decided is decide for entries of one queue, whose maxReceiveCount it waits for.
func (st *Settlement) decided(arn string, entries []visibility) []visibility {
	st.mu.Lock()
	defer st.mu.Unlock()
	if slices.ContainsFunc(entries, func(e visibility) bool { return e.unit.backoff }) {
		st.mu.Unlock()
		st.awaitPolicy(arn)
		st.mu.Lock()
	}
	return st.decide(entries)
}

func (st *Settlement) changeVisibility(arn string, entries []visibility) {
	if entries = st.decided(arn, entries); len(entries) == 0 {
		return
	}
	visible := make([]time.Duration, len(entries))
	unsure := false // whether an earlier try took effect
	errs := st.call(opVisibility, arn, st.source(arn), len(entries), func(ctx context.Context, q queue, left []int) (answer, error) {
		in := &sqs.ChangeMessageVisibilityBatchInput{QueueUrl: &q.url}
		now := time.Now()
		for _, k := range left {
			if u := entries[k].unit; unsure && u.visibleIn > 0 && now.Sub(u.failedAt) >= u.visibleIn {
				continue // it may be visible again, and with another receiver
			}
			seconds, appears := st.timeout(entries[k], now)
			visible[k] = appears
			in.Entries = append(in.Entries, types.ChangeMessageVisibilityBatchRequestEntry{
				Id:                aws.String(strconv.Itoa(k)),
				ReceiptHandle:     &entries[k].result().Record.ReceiptHandle,
				VisibilityTimeout: seconds,
			})
		}
		if len(in.Entries) == 0 {
			return answer{}, errTooLate
		}
		out, err := q.client.ChangeMessageVisibilityBatch(ctx, in, q.options...)
		if err != nil {
			unsure = unsure || sqserror.Unsure(err)
			return answer{}, err
		}
		return answerOf(out.Successful, func(e types.ChangeMessageVisibilityBatchResultEntry) *string { return e.Id }, out.Failed), nil
	})
	st.mu.Lock()
	defer st.mu.Unlock()
	for k, err := range errs {
		if err == nil {
			entries[k].unit.visible[entries[k].i] = visible[k]
		}
	}
}

// timeout is the visibility timeout in seconds that makes an entry appear when
// its unit shall: SQS counts it from the call, the backoff counts from the
// failure. It also returns after how long that is, counted from the failure.
func (st *Settlement) timeout(v visibility, now time.Time) (seconds int32, appears time.Duration) {
	elapsed := now.Sub(v.unit.failedAt)
	left := wholeSeconds(max(0, v.unit.visibleIn-elapsed))
	most := (maxVisibility - now.Sub(st.received(v.result().Record)) - callMargin).Truncate(time.Second)
	if left <= most {
		return int32(left / time.Second), v.unit.visibleIn
	}
	most = max(0, most)
	return int32(most / time.Second), most + elapsed.Truncate(time.Second)
}

// received is when the message was received, as early as it may have been.
// On Lambda, SQS tells it only of a first delivery.
func (st *Settlement) received(r *batch.Record) time.Time {
	if !r.ReceivedAt.IsZero() {
		return r.ReceivedAt
	}
	earliest := st.began.Add(-maxWindow)
	switch first := r.FirstReceivedAt; {
	case r.Attempt != 1 || first.Before(earliest):
		return earliest
	case first.After(st.began): // clocks differ
		return st.began
	default:
		return first
	}
}

// warnDryRun tells what would have been set, where no call is made.
func (st *Settlement) warnDryRun(results []batch.Result) {
	if !st.cfg.DryRun {
		return
	}
	said := map[*batch.Record]string{}
	for _, u := range st.units {
		for i, r := range u.results {
			if u.visible[i] != notSet {
				said[r.Record] = fmt.Sprintf("%s visible in %v", r.Record.MessageID, u.visible[i])
			}
		}
		if u.wouldGoTo != "" {
			said[u.results[0].Record] = fmt.Sprintf("%s sent to %s", u.results[0].Record.MessageID, u.wouldGoTo)
		}
	}
	var would []string
	for _, r := range results { // the batch's order, whichever failed first
		if s := said[r.Record]; s != "" {
			would = append(would, s)
		}
	}
	if len(would) > 0 {
		const most = 10
		more := ""
		if len(would) > most {
			more = fmt.Sprintf(", and %d more", len(would)-most)
			would = would[:most]
		}
		st.warn(results, batch.Warning{
			Message: "sam local: receipt handles are samples, SQS is not called; it would be: " + strings.Join(would, ", ") + more,
		})
	}
}
