package checks

import (
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	awssqs "github.com/aws/aws-sdk-go-v2/service/sqs"
	"github.com/aws/aws-sdk-go-v2/service/sqs/types"
)

// batchCalls are the three batch operations, each as a call with entries of the given ids.
var batchCalls = []struct {
	name string
	call func(e *env, url *string, ids ...string) error
}{
	{"SendMessageBatch", func(e *env, url *string, ids ...string) error {
		entries := []types.SendMessageBatchRequestEntry{}
		for _, id := range ids {
			entries = append(entries, entry(id, "a"))
		}
		out, err := e.SendMessageBatch(e.ctx, &awssqs.SendMessageBatchInput{QueueUrl: url, Entries: entries})
		if err == nil && len(out.Failed) > 0 {
			e.fail("SendMessageBatch: want no failed entries, got %s", failures(out.Failed))
		}
		return err
	}},
	{"DeleteMessageBatch", func(e *env, url *string, ids ...string) error {
		entries := []types.DeleteMessageBatchRequestEntry{}
		for _, id := range ids {
			entries = append(entries, types.DeleteMessageBatchRequestEntry{Id: aws.String(id), ReceiptHandle: aws.String("a")})
		}
		_, err := e.DeleteMessageBatch(e.ctx, &awssqs.DeleteMessageBatchInput{QueueUrl: url, Entries: entries})
		return err
	}},
	{"ChangeMessageVisibilityBatch", func(e *env, url *string, ids ...string) error {
		entries := []types.ChangeMessageVisibilityBatchRequestEntry{}
		for _, id := range ids {
			entries = append(entries, types.ChangeMessageVisibilityBatchRequestEntry{
				Id: aws.String(id), ReceiptHandle: aws.String("a"), VisibilityTimeout: 1})
		}
		_, err := e.ChangeMessageVisibilityBatch(e.ctx, &awssqs.ChangeMessageVisibilityBatchInput{QueueUrl: url, Entries: entries})
		return err
	}},
}

// batchErrorChecks has, for each batch operation, what makes it fail as a whole.
func batchErrorChecks() []Check {
	var all []Check
	for _, batch := range batchCalls {
		add := func(id, must string, run func(e *env, url *string)) {
			all = append(all, Check{ID: "batch/" + id + "-" + batch.name, Must: batch.name + must, Page: api(batch.name),
				run: func(e *env) { run(e, e.queue().url) }})
		}
		add("empty", " without entries is EmptyBatchRequest.", func(e *env, url *string) {
			refusedAs[*types.EmptyBatchRequest](e, "no entries", batch.call(e, url))
		})
		add("too-many", " with eleven entries is TooManyEntriesInBatchRequest.", func(e *env, url *string) {
			err := batch.call(e, url, "0", "1", "2", "3", "4", "5", "6", "7", "8", "9", "10")
			refusedAs[*types.TooManyEntriesInBatchRequest](e, "eleven entries", err)
		})
		add("same-ids", " with two entries of one id is BatchEntryIdsNotDistinct.", func(e *env, url *string) {
			refusedAs[*types.BatchEntryIdsNotDistinct](e, "the ids a, b, a", batch.call(e, url, "a", "b", "a"))
		})
		add("bad-ids", " takes ids of 1 to 80 letters, digits, hyphens and underscores; others are InvalidBatchEntryId.", func(e *env, url *string) {
			e.must("an id of 80 characters", batch.call(e, url, "aZ_09-"+strings.Repeat("x", 74)))
			for _, bad := range []string{"a b", "a.b", "ä", strings.Repeat("x", 81)} {
				refusedAs[*types.InvalidBatchEntryId](e, "the id "+show(bad), batch.call(e, url, bad))
			}
		})
	}
	return append(all,
		Check{
			ID: "batch/size-in-all", Page: api("SendMessageBatch"),
			Must: "The messages of a batch have 1,048,576 bytes at most, all together; more is BatchRequestTooLong.",
			run: func(e *env) {
				q := e.queue()
				half := strings.Repeat("x", mebibyte/2)
				out, err := q.sendBatch(entry("a", half), entry("b", half))
				e.must("SendMessageBatch of 1 MiB", err)
				want(e, "Failed", failures(out.Failed), "[]")
				_, err = q.sendBatch(entry("a", half), entry("b", half+"x"))
				refusedAs[*types.BatchRequestTooLong](e, "SendMessageBatch of 1 MiB and a byte", err)
			},
		},
		Check{
			ID: "batch/refused-sends-nothing", Page: api("SendMessageBatch"),
			Must: "A batch that fails as a whole sends none of its messages.",
			run: func(e *env) {
				q := e.queue()
				_, err := q.sendBatch(entry("a", "one"), entry("a", "two"))
				refusedAs[*types.BatchEntryIdsNotDistinct](e, "SendMessageBatch", err)
				q.none("the queue after a batch that failed as a whole")
			},
		})
}
