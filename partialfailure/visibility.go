package partialfailure

import (
	"context"
	"slices"
	"time"

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

// decide works out when the groups come back of which that is not known, and returns
// the entries that are to be set. The others are left to the queue's visibility
// timeout: an abandoned record, and those behind it, never come back sooner than that,
// since the handler may still be at work. decide waits for the queue's maxReceiveCount.
func (st *Settlement) decide(arn string, entries []*entry) (set []*entry) {
	st.mu.Lock()
	defer st.mu.Unlock()
	if slices.ContainsFunc(entries, func(e *entry) bool { return e.group.undecided }) {
		st.mu.Unlock()
		st.awaitPolicy(arn)
		st.mu.Lock()
	}
	for _, e := range entries {
		g, failed := e.group, e.group.entries[0]
		if g.undecided {
			g.undecided = false
			g.visibleIn = st.backoff(failed.Record, batch.VerdictOf(failed.Err), g.failedAt)
		}
		if failed.Outcome == batch.Abandoned && g.outcome == batch.Pending {
			until := st.hiddenUntil(e.Record)
			if until.IsZero() || !g.failedAt.Add(g.visibleIn).After(until) {
				continue
			}
		}
		e.visible = g.visibleIn
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
	attributes, known := st.queues.known(r.QueueARN)
	if !known || attributes.visibility == 0 {
		return time.Time{}
	}
	return st.began.Add(attributes.visibility) // it was received before that
}

func (st *Settlement) changeVisibility(arn string, entries []*entry) {
	if entries = st.decide(arn, entries); len(entries) == 0 {
		return
	}
	visible := make([]time.Duration, len(entries))
	unsure := false // whether an earlier try took effect
	errs := st.call(opVisibility, arn, "", len(entries), func(ctx context.Context, q queue, left []int) ([]*string, []types.BatchResultErrorEntry, error) {
		in := &sqs.ChangeMessageVisibilityBatchInput{QueueUrl: &q.url}
		now := time.Now()
		for _, k := range left {
			g := entries[k].group
			if unsure && g.visibleIn > 0 && now.Sub(g.failedAt) >= g.visibleIn {
				continue // it may be visible again, and with another receiver
			}
			seconds, appears := st.timeout(entries[k], now)
			visible[k] = appears
			in.Entries = append(in.Entries, types.ChangeMessageVisibilityBatchRequestEntry{
				Id: idOf(k), ReceiptHandle: &entries[k].Record.ReceiptHandle, VisibilityTimeout: seconds,
			})
		}
		if len(in.Entries) == 0 {
			return nil, nil, errTooLate
		}
		out, err := q.client.ChangeMessageVisibilityBatch(ctx, in, q.options...)
		if err != nil {
			unsure = unsure || sqserror.Unsure(err)
			return nil, nil, err
		}
		return idsOf(out.Successful, func(e types.ChangeMessageVisibilityBatchResultEntry) *string { return e.Id }), out.Failed, nil
	})
	st.mu.Lock()
	defer st.mu.Unlock()
	for k, err := range errs {
		if err == nil {
			entries[k].visible, entries[k].set = visible[k], true
		}
	}
}

// timeout is the visibility timeout in seconds that makes an entry appear when
// its group shall: SQS counts it from the call, the backoff counts from the
// failure. It also returns after how long that is, counted from the failure.
func (st *Settlement) timeout(e *entry, now time.Time) (seconds int32, appears time.Duration) {
	elapsed := now.Sub(e.group.failedAt)
	left := wholeSeconds(max(0, e.group.visibleIn-elapsed))
	most := (maxVisibility - now.Sub(st.received(e.Record)) - callMargin).Truncate(time.Second)
	if left <= most {
		return int32(left / time.Second), e.group.visibleIn
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
