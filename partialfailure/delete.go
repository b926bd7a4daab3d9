package partialfailure

import (
	"context"
	"strconv"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/sqs"
	"github.com/aws/aws-sdk-go-v2/service/sqs/types"
	"github.com/sqsbatch/sqsbatch/batch"
)

// deleteDone deletes the records that are done with, if others are not: see
// Config.DeleteDone.
func (st *Settlement) deleteDone(results []batch.Result) {
	byQueue := make(map[string][]*batch.Record)
	failed := false
	for i := range results {
		if !results[i].Outcome.Done() {
			failed = true
			continue
		}
		r := results[i].Record
		byQueue[r.QueueARN] = append(byQueue[r.QueueARN], r)
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
