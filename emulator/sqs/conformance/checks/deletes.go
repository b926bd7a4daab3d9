package checks

import (
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	awssqs "github.com/aws/aws-sdk-go-v2/service/sqs"
	"github.com/aws/aws-sdk-go-v2/service/sqs/types"
)

var deleteChecks = []Check{
	{
		ID: "delete/gone", Page: api("DeleteMessage"),
		Must: "A message that was deleted is not received again when its visibility timeout ends.",
		run: func(e *env) {
			q := e.queue("VisibilityTimeout", "1")
			q.send("a")
			e.must("DeleteMessage", q.delete(q.one()))
			q.none("a deleted message", waiting(3))
			q.counts(0, 0, 0)
		},
	}, {
		ID: "delete/only-that-one", Page: api("DeleteMessage"),
		Must: "DeleteMessage deletes the message of its handle, and no other.",
		run: func(e *env) {
			q := e.queue("VisibilityTimeout", "600")
			q.send("deleted")
			q.send("kept")
			for _, m := range q.take(2) {
				if *m.Body == "deleted" {
					e.must("DeleteMessage", q.delete(m))
				} else {
					e.must("ChangeMessageVisibility", q.hide(m, 0))
				}
			}
			want(e, "what is left", *q.one().Body, "kept")
			q.none("a deleted message")
		},
	}, {
		ID: "delete/old-handle", Page: api("DeleteMessage"),
		Must: "DeleteMessage with the handle of an earlier receive succeeds on a standard queue.",
		run: func(e *env) {
			q, old := e.received("VisibilityTimeout", "600")
			e.must("ChangeMessageVisibility", q.hide(old, 0))
			q.one()
			e.must("DeleteMessage with the first receive's handle", q.delete(old))
		},
	}, {
		ID: "delete/latest-handle", Page: api("DeleteMessage"),
		Must: "The handle of the most recent receive deletes a message that was received more than once.",
		run: func(e *env) {
			q := e.queue("VisibilityTimeout", "1")
			q.send("a")
			q.one()
			latest := q.one(hidden(600))
			e.must("DeleteMessage", q.delete(latest))
			q.counts(0, 0, 0)
		},
	}, {
		ID: "delete/twice", Page: api("DeleteMessage"), Undocumented: true,
		Must: "DeleteMessage can be repeated: a message that is gone is no error.",
		run: func(e *env) {
			q, m := e.received("VisibilityTimeout", "600")
			e.must("DeleteMessage", q.delete(m))
			e.must("DeleteMessage again", q.delete(m))
		},
	}, {
		ID: "delete/no-handle", Page: api("DeleteMessage"),
		Must: "DeleteMessage with what is no receipt handle is ReceiptHandleIsInvalid.",
		run: func(e *env) {
			refusedAs[*types.ReceiptHandleIsInvalid](e, "DeleteMessage", e.queue().delete(types.Message{ReceiptHandle: aws.String("no handle")}))
		},
	}, {
		ID: "delete/message-id", Page: pageIdentifiers,
		Must: "A message's id is no receipt handle: a message must be received before it can be deleted.",
		run: func(e *env) {
			q := e.queue()
			sent := q.send("a")
			refusedAs[*types.ReceiptHandleIsInvalid](e, "DeleteMessage with a MessageId", q.delete(types.Message{ReceiptHandle: sent.MessageId}))
			q.one()
		},
	}, {
		ID: "delete/expired-fifo", Page: pageVisibility,
		Must: "A FIFO queue refuses to delete a message after its visibility timeout, and delivers it again.",
		run: func(e *env) {
			q := e.fifo("VisibilityTimeout", "1")
			q.sendTo("g", "a")
			m := q.one()
			e.sleep(2500 * time.Millisecond)
			e.refused("DeleteMessage after the visibility timeout", q.delete(m))
			want(e, "body", *q.one().Body, "a")
		},
	}, {
		ID: "delete/frees-group", Page: pageFIFOLogic,
		Must: "When the message in flight is deleted, the next of its group can be received.",
		run: func(e *env) {
			q := e.fifo("VisibilityTimeout", "600")
			q.sendTo("g", "a", "b")
			m := q.one()
			want(e, "first", *m.Body, "a")
			e.must("DeleteMessage", q.delete(m))
			want(e, "second", *q.one().Body, "b")
		},
	}, {
		ID: "delete/retention", Page: api("CreateQueue"), Slow: true,
		Must: "A message is dropped when it is older than MessageRetentionPeriod.",
		run: func(e *env) {
			q := e.queue("MessageRetentionPeriod", "60")
			q.send("a")
			e.sleep(120 * time.Second)
			q.none("a message sent two minutes ago to a queue that keeps for one")
		},
	},
}

func (q *queue) purge() error {
	_, err := q.PurgeQueue(q.ctx, &awssqs.PurgeQueueInput{QueueUrl: q.url})
	return err
}

var purgeChecks = []Check{
	{
		ID: "purge/everything", Page: api("PurgeQueue"),
		Must: "PurgeQueue deletes all messages, those in flight too.",
		run: func(e *env) {
			q := e.queue("VisibilityTimeout", "600")
			for range 3 {
				q.send("a")
			}
			q.one()
			e.must("PurgeQueue", q.purge())
			q.counts(0, 0, 0)
			q.none("a purged queue")
		},
	}, {
		ID: "purge/fifo", Page: api("PurgeQueue"),
		Must: "PurgeQueue empties a FIFO queue, and its groups are not blocked by what was in flight.",
		run: func(e *env) {
			q := e.fifo("VisibilityTimeout", "600")
			q.sendTo("g", "a", "b")
			q.one()
			e.must("PurgeQueue", q.purge())
			q.counts(0, 0, 0)
			if e.config.Settle > 0 { // AWS may purge what is sent in the next minute
				return
			}
			q.sendTo("g", "c")
			want(e, "body", *q.one().Body, "c")
		},
	}, {
		ID: "purge/twice", Page: api("PurgeQueue"), Recorded: localStack("2024-04-30", "test_successive_purge_calls_fail[sqs]"),
		Must: "A second PurgeQueue within 60 seconds is PurgeQueueInProgress.",
		run: func(e *env) {
			q := e.queue()
			e.must("PurgeQueue", q.purge())
			refusedAs[*types.PurgeQueueInProgress](e, "PurgeQueue again", q.purge())
		},
	}, {
		ID: "purge/later", Page: api("PurgeQueue"), Slow: true,
		Must: "A queue can be purged again after 60 seconds.",
		run: func(e *env) {
			q := e.queue()
			e.must("PurgeQueue", q.purge())
			e.sleep(65 * time.Second)
			e.must("PurgeQueue 65 s later", q.purge())
		},
	},
}
