package checks

import (
	"fmt"
	"slices"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	awssqs "github.com/aws/aws-sdk-go-v2/service/sqs"
	"github.com/aws/aws-sdk-go-v2/service/sqs/types"
)

// entry is one of a SendMessageBatch.
func entry(id, body string) types.SendMessageBatchRequestEntry {
	return types.SendMessageBatchRequestEntry{Id: &id, MessageBody: &body}
}

func (q *queue) sendBatch(entries ...types.SendMessageBatchRequestEntry) (*awssqs.SendMessageBatchOutput, error) {
	return q.SendMessageBatch(q.ctx, &awssqs.SendMessageBatchInput{QueueUrl: q.url, Entries: entries})
}

// sendAll ends the check unless every entry is sent.
func (q *queue) sendAll(entries ...types.SendMessageBatchRequestEntry) *awssqs.SendMessageBatchOutput {
	out := must(q.sendBatch(entries...))
	want(q.env, "Failed", failures(out.Failed), "[]")
	return out
}

// ten are ten entries; entry n has the id "id-n" and the body "body n".
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
	check("batch/send", api("SendMessageBatch"),
		"SendMessageBatch sends ten messages, and answers for each of them.", func(e *env) {
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
	check("batch/send-settings", api("SendMessageBatch"),
		"Each entry has a delay of its own; without one it has the queue's.", func(e *env) {
			q := e.queue()
			later := entry("b", "later")
			later.DelaySeconds = 900
			must(q.sendBatch(entry("a", "now"), later))
			q.counts(1, 0, 1)
			want(e, "body", *q.one().Body, "now")
		}),
	check("batch/send-partly", api("SendMessageBatch"),
		"An entry that cannot be sent fails on its own, in an answer with HTTP status 200.", func(e *env) {
			q := e.queue("VisibilityTimeout", "600")
			out := must(q.sendBatch(entry("a", "good"), entry("b", "bad \x01"), entry("c", "better")))
			e.failedEntry("b", out.Failed)
			want(e, "Successful", ids(out.Successful, func(s types.SendMessageBatchResultEntry) *string { return s.Id }), "a c")
			want(e, "messages", sorted(q.take(2)), `"better", "good"`)
			q.none("the entry that failed")
		}).recorded(localStack("2024-04-30", "test_send_batch_message_size: SenderFault")),
	check("batch/send-order", api("SendMessageBatch"),
		"The messages of a batch are enqueued on a FIFO queue in the batch's order.", func(e *env) {
			q := e.fifo("VisibilityTimeout", "600")
			entries := ten()
			for i := range entries {
				entries[i].MessageGroupId, entries[i].MessageDeduplicationId = aws.String("g"), entries[i].Id
			}
			q.sendAll(entries...)
			q.inOrder("body 0", "body 1", "body 2", "body 3", "body 4", "body 5", "body 6", "body 7", "body 8", "body 9")
		}),
	check("batch/delete", api("DeleteMessageBatch"),
		"DeleteMessageBatch deletes each message, and answers for each of them.", func(e *env) {
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
	check("batch/delete-partly", api("DeleteMessageBatch"),
		"An entry with what is no receipt handle fails on its own; the others are deleted.", func(e *env) {
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
