package main

import (
	"fmt"
	"slices"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	awssqs "github.com/aws/aws-sdk-go-v2/service/sqs"
	"github.com/aws/aws-sdk-go-v2/service/sqs/types"
)

func entry(id, body string) types.SendMessageBatchRequestEntry {
	return types.SendMessageBatchRequestEntry{Id: &id, MessageBody: &body}
}

func (q *queue) sendBatch(entries ...types.SendMessageBatchRequestEntry) (*awssqs.SendMessageBatchOutput, error) {
	return q.SendMessageBatch(q.ctx, &awssqs.SendMessageBatchInput{QueueUrl: q.url, Entries: entries})
}

// sendAll sends entries, and ends the check if one fails.
func (q *queue) sendAll(entries ...types.SendMessageBatchRequestEntry) *awssqs.SendMessageBatchOutput {
	out := must(q.sendBatch(entries...))
	want(q.env, "Failed", failures(out.Failed), "[]")
	return out
}

// ten returns ten entries. Entry n has the id "id-n" and the body "body n".
func ten() (entries []types.SendMessageBatchRequestEntry) {
	for i := range 10 {
		entries = append(entries, entry(fmt.Sprintf("id-%d", i), fmt.Sprintf("body %d", i)))
	}
	return entries
}

// failedEntry ends the check unless exactly the one entry failed, by the client's fault.
func (e *env) failedEntry(id string, failed []types.BatchResultErrorEntry) types.BatchResultErrorEntry {
	if len(failed) != 1 || aws.ToString(failed[0].Id) != id {
		e.fail("Failed: want the entry %s alone, got %s", id, failures(failed))
	}
	f := failed[0]
	if aws.ToString(f.Code) == "" || !f.SenderFault {
		e.fail("Failed: want a Code and SenderFault true, got %s", failures(failed))
	}
	return f
}

func failures(failed []types.BatchResultErrorEntry) string {
	var all []string
	for _, f := range failed {
		all = append(all, fmt.Sprintf("%s (%s, sender's fault %t)", aws.ToString(f.Id), aws.ToString(f.Code), f.SenderFault))
	}
	return "[" + strings.Join(all, ", ") + "]"
}

func ids[T any](entries []T, id func(T) *string) string {
	var all []string
	for _, e := range entries {
		all = append(all, aws.ToString(id(e)))
	}
	slices.Sort(all)
	return strings.Join(all, " ")
}

var batchChecks = []Check{
	check("batch/send", api("SendMessageBatch"), "SendMessageBatch sends ten messages, and answers for each of them.", func(e *env) {
		q := e.queue("VisibilityTimeout", "600")
		entries := ten()
		entries[3].MessageAttributes = sample()
		out := q.sendAll(entries...)
		want(e, "Successful", len(out.Successful), 10)
		known := map[string]bool{}
		for _, s := range out.Successful {
			i := slices.IndexFunc(entries, func(x types.SendMessageBatchRequestEntry) bool { return *x.Id == aws.ToString(s.Id) })
			if i < 0 {
				e.fail("Successful: want ids of the request, got %q", aws.ToString(s.Id))
			}
			want(e, "MD5OfMessageBody of "+*s.Id, aws.ToString(s.MD5OfMessageBody), md5Of([]byte(*entries[i].MessageBody)))
			digests := ""
			if i == 3 {
				digests = digest(sample())
			}
			want(e, "MD5OfMessageAttributes of "+*s.Id, aws.ToString(s.MD5OfMessageAttributes), digests)
			known[aws.ToString(s.MessageId)] = true
		}
		want(e, "number of different message ids", len(known), 10)
		for _, m := range q.take(10) {
			if !known[*m.MessageId] {
				e.fail("received %s: want an id that SendMessageBatch returned", *m.MessageId)
			}
		}
	}),
	check("batch/send-settings", api("SendMessageBatch"), "Each entry has a delay of its own; without one it has the queue's.", func(e *env) {
		q := e.queue()
		later := entry("b", "later")
		later.DelaySeconds = 900
		must(q.sendBatch(entry("a", "now"), later))
		q.counts(1, 0, 1)
		want(e, "body", *q.one().Body, "now")
	}),
	check("batch/send-partly", api("SendMessageBatch"), "An entry that cannot be sent fails on its own, in an answer with HTTP status 200.", func(e *env) {
		q := e.queue("VisibilityTimeout", "600")
		out := must(q.sendBatch(entry("a", "good"), entry("b", "bad \x01"), entry("c", "better")))
		e.failedEntry("b", out.Failed)
		want(e, "Successful", ids(out.Successful, func(s types.SendMessageBatchResultEntry) *string { return s.Id }), "a c")
		want(e, "messages", sorted(q.take(2)), `"better", "good"`)
		q.none("the entry that failed")
	}).recorded(localStack("2024-04-30", "test_send_batch_message_size: SenderFault")),
	check("batch/send-order", api("SendMessageBatch"), "The messages of a batch are enqueued on a FIFO queue in the batch's order.", func(e *env) {
		q := e.fifo("VisibilityTimeout", "600")
		entries := ten()
		for i := range entries {
			entries[i].MessageGroupId, entries[i].MessageDeduplicationId = aws.String("g"), entries[i].Id
		}
		q.sendAll(entries...)
		q.inOrder("body 0", "body 1", "body 2", "body 3", "body 4", "body 5", "body 6", "body 7", "body 8", "body 9")
	}),
	check("batch/delete", api("DeleteMessageBatch"), "DeleteMessageBatch deletes each message, and answers for each of them.", func(e *env) {
		q := e.queue("VisibilityTimeout", "600")
		must(q.sendBatch(ten()...))
		var entries []types.DeleteMessageBatchRequestEntry
		for i, m := range q.take(10) {
			entries = append(entries, types.DeleteMessageBatchRequestEntry{Id: aws.String(fmt.Sprint(i)), ReceiptHandle: m.ReceiptHandle})
		}
		out := must(e.DeleteMessageBatch(e.ctx, &awssqs.DeleteMessageBatchInput{QueueUrl: q.url, Entries: entries}))
		want(e, "Failed", failures(out.Failed), "[]")
		want(e, "Successful", ids(out.Successful, func(s types.DeleteMessageBatchResultEntry) *string { return s.Id }), "0 1 2 3 4 5 6 7 8 9")
		q.counts(0, 0, 0)
	}),
	check("batch/delete-partly", api("DeleteMessageBatch"), "An entry with what is no receipt handle fails on its own; the others are deleted.", func(e *env) {
		q, m := e.received("VisibilityTimeout", "600")
		out := must(e.DeleteMessageBatch(e.ctx, &awssqs.DeleteMessageBatchInput{QueueUrl: q.url, Entries: []types.DeleteMessageBatchRequestEntry{
			{Id: aws.String("bad"), ReceiptHandle: aws.String("no handle")}, {Id: aws.String("good"), ReceiptHandle: m.ReceiptHandle}}}))
		want(e, "Code", aws.ToString(e.failedEntry("bad", out.Failed).Code), "ReceiptHandleIsInvalid")
		want(e, "Successful", ids(out.Successful, func(s types.DeleteMessageBatchResultEntry) *string { return s.Id }), "good")
		q.counts(0, 0, 0)
	}),
	check("batch/change-visibility", api("ChangeMessageVisibilityBatch"),
		"ChangeMessageVisibilityBatch changes each message's timeout to its own value.", func(e *env) {
			q := e.queue("VisibilityTimeout", "600")
			must(q.sendBatch(entry("a", "back"), entry("b", "hidden")))
			var entries []types.ChangeMessageVisibilityBatchRequestEntry
			for _, m := range q.take(2) {
				seconds := map[string]int32{"back": 0, "hidden": 900}[*m.Body]
				entries = append(entries, types.ChangeMessageVisibilityBatchRequestEntry{Id: m.Body, ReceiptHandle: m.ReceiptHandle, VisibilityTimeout: seconds})
			}
			out := must(e.ChangeMessageVisibilityBatch(e.ctx, &awssqs.ChangeMessageVisibilityBatchInput{QueueUrl: q.url, Entries: entries}))
			want(e, "Failed", failures(out.Failed), "[]")
			want(e, "Successful", ids(out.Successful, func(s types.ChangeMessageVisibilityBatchResultEntry) *string { return s.Id }), "back hidden")
			want(e, "the message that came back", *q.one().Body, "back")
			q.none("the message that is hidden")
		}),
	check("batch/change-partly", api("ChangeMessageVisibilityBatch"),
		"An entry whose timeout cannot be changed fails on its own; the others are changed.", func(e *env) {
			q, m := e.received("VisibilityTimeout", "600")
			out := must(e.ChangeMessageVisibilityBatch(e.ctx, &awssqs.ChangeMessageVisibilityBatchInput{QueueUrl: q.url,
				Entries: []types.ChangeMessageVisibilityBatchRequestEntry{
					{Id: aws.String("bad"), ReceiptHandle: aws.String("no handle"), VisibilityTimeout: 1},
					{Id: aws.String("good"), ReceiptHandle: m.ReceiptHandle, VisibilityTimeout: 0}}}))
			want(e, "Code", aws.ToString(e.failedEntry("bad", out.Failed).Code), "ReceiptHandleIsInvalid")
			want(e, "Successful", ids(out.Successful, func(s types.ChangeMessageVisibilityBatchResultEntry) *string { return s.Id }), "good")
			q.one()
		}),
}

// batchCalls are the three batch operations, as calls with entries of the given ids.
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

// batchErrorChecks has checks of the errors of whole batches, for each batch operation.
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
		check("batch/ascii-ids", api("SendMessageBatch"), "Letters outside ASCII in an entry's id are InvalidBatchEntryId.", func(e *env) {
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
		check("batch/refused-sends-nothing", api("SendMessageBatch"), "A batch that fails as a whole sends none of its messages.", func(e *env) {
			q := e.queue()
			refusedAs[*types.BatchEntryIdsNotDistinct](e, "SendMessageBatch", errOf(q.sendBatch(entry("a", "one"), entry("a", "two"))))
			q.none("the queue after a batch that failed as a whole")
		}),
	)
}
