package partialfailure

import (
	"context"
	"errors"
	"slices"
	"strconv"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/sqs"
	"github.com/aws/aws-sdk-go-v2/service/sqs/types"
	"github.com/sqsbatch/sqsbatch/batch"
	"github.com/sqsbatch/sqsbatch/internal/sqserror"
)

// deleteDone deletes the records that are done with by one of some outcomes,
// see Config.Delete.
func (st *Settlement) deleteDone(results []batch.Result, by ...batch.Outcome) {
	if st.cfg.Delete == DeleteNever || st.cfg.DryRun {
		return
	}
	byQueue := make(map[string][]*batch.Result)
	failed := false
	for i := range results {
		r := &results[i]
		failed = failed || !r.Outcome.Done()
		if slices.Contains(by, r.Outcome) {
			byQueue[r.Record.QueueARN] = append(byQueue[r.Record.QueueARN], r)
		}
	}
	if !failed && st.cfg.Delete == DeleteIfOthersFail {
		return
	}
	if len(byQueue) > 0 && st.ctx.Err() != nil {
		st.cutShort = true
		for _, done := range byQueue {
			for _, r := range done {
				r.DeleteErr = errNoTime
			}
		}
		return
	}
	for arn, done := range byQueue {
		for len(done) > 0 {
			n := min(len(done), maxEntries)
			ten := done[:n]
			done = done[n:]
			for _, r := range ten {
				r.DeleteErr = errNoAnswer // until there is one
			}
			st.background(func() { st.delete(arn, ten) })
		}
	}
}

// errNoTime is why a record was not deleted that was done with at the last moment.
var errNoTime = errors.New("the time was over before it could be deleted")

func (st *Settlement) delete(arn string, done []*batch.Result) {
	handles := make([]*string, len(done))
	for k, r := range done {
		handles[k] = &r.Record.ReceiptHandle
	}
	errs := st.call(opDelete, arn, st.source(arn), len(done), func(ctx context.Context, q queue, left []int) (answer, error) {
		in := &sqs.DeleteMessageBatchInput{QueueUrl: &q.url}
		for _, k := range left {
			in.Entries = append(in.Entries, types.DeleteMessageBatchRequestEntry{
				Id:            aws.String(strconv.Itoa(k)),
				ReceiptHandle: handles[k],
			})
		}
		out, err := q.client.DeleteMessageBatch(ctx, in, q.options...)
		if err != nil {
			return answer{}, err
		}
		return answerOf(out.Successful, func(e types.DeleteMessageBatchResultEntry) *string { return e.Id }, out.Failed), nil
	})
	st.mu.Lock()
	defer st.mu.Unlock()
	if st.over { // the results are the caller's again
		return
	}
	for k, r := range done {
		r.Deleted, r.DeleteErr = errs[k] == nil, errs[k]
	}
}

// StaleReceipt reports whether SQS refused a delete ([batch.Result].DeleteErr)
// because the receipt handle is no longer good: no further try with it can succeed.
func StaleReceipt(err error) bool { return sqserror.Gone(err) }
