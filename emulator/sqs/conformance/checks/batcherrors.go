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
		return errOf(e.DeleteMessageBatch(e.ctx, &awssqs.DeleteMessageBatchInput{QueueUrl: url, Entries: entries}))
	}},
	{"ChangeMessageVisibilityBatch", func(e *env, url *string, ids ...string) error {
		entries := []types.ChangeMessageVisibilityBatchRequestEntry{}
		for _, id := range ids {
			entries = append(entries, types.ChangeMessageVisibilityBatchRequestEntry{
				Id: aws.String(id), ReceiptHandle: aws.String("a"), VisibilityTimeout: 1})
		}
		return errOf(e.ChangeMessageVisibilityBatch(e.ctx, &awssqs.ChangeMessageVisibilityBatchInput{QueueUrl: url, Entries: entries}))
	}},
}

// batchErrorChecks has, for each batch operation, what makes it fail as a whole.
func batchErrorChecks() []Check {
	badIDs := map[string]Recording{
		"SendMessageBatch":   localStack("2024-04-30", "test_invalid_batch_id[sqs]"),
		"DeleteMessageBatch": localStack("2024-04-30", "test_delete_message_batch_invalid_msg_id[sqs-invalid:id]"),
	}
	var all []Check
	for _, batch := range batchCalls {
		add := func(id, must string, run func(e *env, url *string)) {
			all = append(all, check("batch/"+id+"-"+batch.name, api(batch.name), batch.name+must, func(e *env) { run(e, e.queue().url) }))
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
			for _, bad := range []string{"a b", "a.b", "a:b", strings.Repeat("x", 81)} {
				refusedAs[*types.InvalidBatchEntryId](e, "the id "+show(bad), batch.call(e, url, bad))
			}
		})
		all[len(all)-1].Recorded = badIDs[batch.name]
	}
	return append(all,
		// "Alphanumeric" was not A to Z only where AWS's answer is known
		// (attributes-of-messages/name-letters).
		check("batch/ascii-ids", api("SendMessageBatch"),
			"Letters outside ASCII in an entry's id are InvalidBatchEntryId.", func(e *env) {
				q := e.queue()
				for _, batch := range batchCalls {
					refusedAs[*types.InvalidBatchEntryId](e, batch.name, batch.call(e, q.url, "ä"))
				}
			}).reading(),
		check("batch/size-in-all", api("SendMessageBatch"),
			"The messages of a batch have 1,048,576 bytes at most, all together; more is BatchRequestTooLong.", func(e *env) {
				q := e.queue()
				half := strings.Repeat("x", mebibyte/2)
				q.sendAll(entry("a", half), entry("b", half))
				refusedAs[*types.BatchRequestTooLong](e, "SendMessageBatch of 1 MiB and a byte", errOf(q.sendBatch(entry("a", half), entry("b", half+"x"))))
			}).recorded(localStack("2025-08-19", "test_send_message_batch_with_oversized_contents[sqs]")),
		check("batch/refused-sends-nothing", api("SendMessageBatch"),
			"A batch that fails as a whole sends none of its messages.", func(e *env) {
				q := e.queue()
				refusedAs[*types.BatchEntryIdsNotDistinct](e, "SendMessageBatch", errOf(q.sendBatch(entry("a", "one"), entry("a", "two"))))
				q.none("the queue after a batch that failed as a whole")
			}),
	)
}
