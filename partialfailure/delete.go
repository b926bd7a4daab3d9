package partialfailure

import (
	"context"
	"errors"
	"slices"

	"github.com/aws/aws-sdk-go-v2/service/sqs"
	"github.com/aws/aws-sdk-go-v2/service/sqs/types"
	"github.com/sqsbatch/sqsbatch/batch"
	"github.com/sqsbatch/sqsbatch/internal/sqserror"
)

// errNoTime is why a record was not deleted that was done with at the last moment.
var errNoTime = errors.New("the time was over before it could be deleted")

// deleteDone deletes the records that are done with by one of some outcomes, see
// Config.Delete. The caller holds the lock.
func (st *Settlement) deleteDone(results []batch.Result, by ...batch.Outcome) {
	failed := func(r batch.Result) bool { return !r.Outcome.Done() }
	if st.cfg.Delete == DeleteNever || st.cfg.Delete == DeleteIfOthersFail && !slices.ContainsFunc(results, failed) {
		return
	}
	late := st.ctx.Err() != nil
	list := make([]entry, len(results))
	for i := range results {
		r := &results[i]
		switch {
		case !slices.Contains(by, r.Outcome):
		case late:
			r.DeleteErr, st.cutShort = errNoTime, true
		default:
			r.DeleteErr = errNoAnswer // until there is one
			list[i].Result = r
			st.enqueue(opDelete, &list[i])
		}
	}
	st.flush(true)
}

func (st *Settlement) delete(arn string, entries []*entry) {
	errs := st.call(opDelete, arn, "", len(entries), func(ctx context.Context, q queue, left []int) ([]*string, []types.BatchResultErrorEntry, error) {
		in := &sqs.DeleteMessageBatchInput{QueueUrl: &q.url}
		for _, k := range left {
			in.Entries = append(in.Entries, types.DeleteMessageBatchRequestEntry{Id: idOf(k), ReceiptHandle: &entries[k].Record.ReceiptHandle})
		}
		out, err := q.client.DeleteMessageBatch(ctx, in, q.options...)
		if err != nil {
			return nil, nil, err
		}
		return idsOf(out.Successful, func(e types.DeleteMessageBatchResultEntry) *string { return e.Id }), out.Failed, nil
	})
	st.mu.Lock()
	defer st.mu.Unlock()
	for k, e := range entries {
		if !st.returned { // else the results are the caller's again
			e.Deleted, e.DeleteErr = errs[k] == nil, errs[k]
		}
	}
}

// StaleReceipt reports whether SQS refused a delete ([batch.Result].DeleteErr)
// because the receipt handle is no longer good: no further try with it can succeed.
func StaleReceipt(err error) bool { return sqserror.Gone(err) }
