package main

import (
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	awssqs "github.com/aws/aws-sdk-go-v2/service/sqs"
	"github.com/aws/aws-sdk-go-v2/service/sqs/types"
)

var deleteChecks = []Check{
	check("delete/gone", api("DeleteMessage"), "A message that was deleted is not received again when its visibility timeout ends.", func(e *env) {
		q := e.queue("VisibilityTimeout", "1")
		q.send("a")
		q.delete(q.one())
		q.none("a deleted message", waiting(3))
		q.counts(0, 0, 0)
	}),
	check("delete/only-that-one", api("DeleteMessage"), "DeleteMessage deletes the message of its handle, and no other.", func(e *env) {
		q := e.filled("deleted", "kept")
		for _, m := range q.take(2) {
			if *m.Body == "deleted" {
				q.delete(m)
			} else {
				q.hide(m, 0)
			}
		}
		want(e, "what is left", *q.one().Body, "kept")
		q.none("a deleted message")
	}),
	check("delete/old-handle", api("DeleteMessage"), "DeleteMessage with the handle of an earlier receive succeeds on a standard queue.", func(e *env) {
		q, old := e.received("VisibilityTimeout", "600")
		q.hide(old, 0)
		q.one()
		e.must("DeleteMessage with the first receive's handle", q.tryDelete(old))
	}),
	check("delete/latest-handle", api("DeleteMessage"), "The handle of the most recent receive deletes a message that was received more than once.", func(e *env) {
		q := e.queue("VisibilityTimeout", "1")
		q.send("a")
		q.one()
		q.delete(q.one(hidden(600)))
		q.counts(0, 0, 0)
	}),
	check("delete/twice", api("DeleteMessage"), "DeleteMessage can be repeated: a message that is gone is no error.", func(e *env) {
		q, m := e.received("VisibilityTimeout", "600")
		q.delete(m)
		e.must("DeleteMessage again", q.tryDelete(m))
	}).undocumented(),
	check("delete/no-handle", api("DeleteMessage"), "DeleteMessage with what is no receipt handle is ReceiptHandleIsInvalid.", func(e *env) {
		refusedAs[*types.ReceiptHandleIsInvalid](e, "DeleteMessage", e.queue().tryDelete(types.Message{ReceiptHandle: aws.String("no handle")}))
	}),
	check("delete/message-id", pageIdentifiers, "A message's id is no receipt handle: a message must be received before it can be deleted.", func(e *env) {
		q := e.queue()
		sent := q.send("a")
		refusedAs[*types.ReceiptHandleIsInvalid](e, "DeleteMessage with a MessageId", q.tryDelete(types.Message{ReceiptHandle: sent.MessageId}))
		q.one()
	}),
	check("delete/expired-fifo", pageVisibility, "A FIFO queue refuses to delete a message after its visibility timeout, and delivers it again.", func(e *env) {
		q := e.fifo("VisibilityTimeout", "1")
		q.sendTo("g", "a")
		m := q.one()
		e.sleep(2500 * time.Millisecond)
		e.refused("DeleteMessage after the visibility timeout", q.tryDelete(m))
		want(e, "body", *q.one().Body, "a")
	}),
	check("delete/frees-group", pageFIFOLogic, "When the message in flight is deleted, the next of its group can be received.", func(e *env) {
		q := e.group("a", "b")
		m := q.one()
		want(e, "first", *m.Body, "a")
		q.delete(m)
		want(e, "second", *q.one().Body, "b")
	}),
	check("delete/retention", api("CreateQueue"), "A message is dropped when it is older than MessageRetentionPeriod.", func(e *env) {
		q := e.queue("MessageRetentionPeriod", "60")
		q.send("a")
		e.sleep(120 * time.Second)
		q.none("a message sent two minutes ago to a queue that keeps for one")
	}).slow(),
}

func (q *queue) purge() { q.must("PurgeQueue", q.tryPurge()) }

func (q *queue) tryPurge() error {
	return errOf(q.PurgeQueue(q.ctx, &awssqs.PurgeQueueInput{QueueUrl: q.url}))
}

var purgeChecks = []Check{
	check("purge/everything", api("PurgeQueue"), "PurgeQueue deletes all messages, those in flight too.", func(e *env) {
		q := e.filled("a", "a", "a")
		q.one()
		q.purge()
		q.counts(0, 0, 0)
		q.none("a purged queue")
	}),
	check("purge/fifo", api("PurgeQueue"), "PurgeQueue empties a FIFO queue, and its groups are not blocked by what was in flight.", func(e *env) {
		q := e.group("a", "b")
		q.one()
		q.purge()
		q.counts(0, 0, 0)
		if e.config.Settle > 0 { // AWS may purge what is sent in the next minute
			return
		}
		q.sendTo("g", "c")
		want(e, "body", *q.one().Body, "c")
	}),
	check("purge/twice", api("PurgeQueue"), "A second PurgeQueue within 60 seconds is PurgeQueueInProgress.", func(e *env) {
		q := e.queue()
		q.purge()
		refusedAs[*types.PurgeQueueInProgress](e, "PurgeQueue again", q.tryPurge())
	}).recorded(localStack("2024-04-30", "test_successive_purge_calls_fail[sqs]")),
	check("purge/later", api("PurgeQueue"), "A queue can be purged again after 60 seconds.", func(e *env) {
		q := e.queue()
		q.purge()
		e.sleep(65 * time.Second)
		e.must("PurgeQueue 65 s later", q.tryPurge())
	}).slow(),
}
