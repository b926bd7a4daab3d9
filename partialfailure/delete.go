package partialfailure

import (
	"context"
	"slices"
	"strconv"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/sqs"
	"github.com/aws/aws-sdk-go-v2/service/sqs/types"
	"github.com/sqsbatch/sqsbatch/batch"
)

// deleteDone deletes the records that are done with by one of some outcomes, if
// other records are not done: see Config.DeleteDone.
func (st *Settlement) deleteDone(results []batch.Result, by ...batch.Outcome) {
	if !st.cfg.DeleteDone || st.cfg.DryRun {
		return
	}
	byQueue := make(map[string][]*batch.Record)
	failed := false
	for i := range results {
		failed = failed || !results[i].Outcome.Done()
		if slices.Contains(by, results[i].Outcome) {
			r := results[i].Record
			byQueue[r.QueueARN] = append(byQueue[r.QueueARN], r)
		}
	}
	if !failed {
		return
	}
	for arn, records := range byQueue {
		for len(records) > 0 {
			n := min(len(records), maxEntries)
			ten := records[:n]
			records = records[n:]
			st.background(func() { st.delete(arn, ten) })
		}
	}
}

func (st *Settlement) delete(arn string, records []*batch.Record) {
	st.call(opDelete, arn, len(records), func(ctx context.Context, q queue, left []int) (answer, error) {
		in := &sqs.DeleteMessageBatchInput{QueueUrl: &q.url}
		for _, k := range left {
			in.Entries = append(in.Entries, types.DeleteMessageBatchRequestEntry{
				Id:            aws.String(strconv.Itoa(k)),
				ReceiptHandle: &records[k].ReceiptHandle,
			})
		}
		out, err := q.client.DeleteMessageBatch(ctx, in, q.options...)
		if err != nil {
			return answer{}, err
		}
		return answerOf(out.Successful, func(e types.DeleteMessageBatchResultEntry) *string { return e.Id }, out.Failed), nil
	})
}
