package main

import (
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	awssqs "github.com/aws/aws-sdk-go-v2/service/sqs"
	"github.com/aws/aws-sdk-go-v2/service/sqs/types"
)

var visibilityChecks = []Check{
	check("visibility/hides", pageVisibility, "A message that was received is hidden until its visibility timeout ends, and then received again.", func(e *env) {
		q := e.queue("VisibilityTimeout", "3")
		q.send("a")
		began := time.Now()
		m := q.one()
		q.none("a message in flight")
		want(e, "MessageId", *q.comes(began, 3).MessageId, *m.MessageId)
	}),
	check("visibility/of-the-receive", pageVisibility, "The visibility timeout of a receive counts instead of the queue's.", func(e *env) {
		q := e.filled("a")
		began := time.Now()
		q.one(hidden(2))
		q.comes(began, 2)
	}),
	check("visibility/zero-receive", pageVisibility, "A message that was received with a visibility timeout of 0 can be received again at once.", func(e *env) {
		q := e.filled("a")
		e.eventually("the message, received without being hidden", func() (string, bool) {
			out := must(e.ReceiveMessage(e.ctx, &awssqs.ReceiveMessageInput{QueueUrl: q.url, WaitTimeSeconds: 1}, withField("VisibilityTimeout", 0)))
			return bodies(out.Messages), len(out.Messages) == 1
		})
		q.one()
	}),
	check("visibility/per-message", pageVisibility, "Each message has a visibility timeout of its own.", func(e *env) {
		q := e.filled("short", "long")
		for _, m := range q.take(2) {
			if *m.Body == "short" {
				q.hide(m, 1)
			}
		}
		want(e, "the message that came back", *q.one().Body, "short")
		q.none("the message that is hidden for ten minutes")
	}),
	check("visibility/extend", pageVisibility, "A longer timeout hides the message for so long, counted from the call.", func(e *env) {
		q, m := e.received("VisibilityTimeout", "2")
		e.sleep(time.Second)
		began := time.Now()
		q.hide(m, 4)
		q.none("a message whose timeout was extended", waiting(2))
		q.comes(began, 4)
	}),
	check("visibility/shorten", pageVisibility, "A shorter timeout makes the message visible sooner.", func(e *env) {
		q, m := e.received("VisibilityTimeout", "600")
		began := time.Now()
		q.hide(m, 2)
		q.comes(began, 2)
	}),
	check("visibility/zero", pageVisibility, "A timeout of 0 makes the message visible at once.", func(e *env) {
		q := e.filled("a")
		q.hide(q.one(), 0)
		began := time.Now()
		q.comes(began, 0)
	}),
	check("visibility/not-kept", api("ChangeMessageVisibility"), "A changed timeout is of that receive only: the next one has the queue's again.", func(e *env) {
		q := e.queue("VisibilityTimeout", "3")
		q.send("a")
		q.hide(q.one(), 600)
		q.none("a message that is hidden for ten minutes")
		q = e.queue("VisibilityTimeout", "600")
		q.send("b")
		q.hide(q.one(), 1)
		q.one()
		q.none("a message whose second receive hid it for ten minutes", waiting(3))
	}),
	check("visibility/change-bounds", api("ChangeMessageVisibility"), "The timeout of ChangeMessageVisibility is 0 to 43,200.", func(e *env) {
		q, m := e.received()
		e.bounds("VisibilityTimeout", nil, []int32{-1, 43_201}, func(n int32) error { return q.tryHide(m, n) })
	}).reading(),
	check("visibility/total-12h", pageVisibility, "12 hours from the receive are the most: a timeout beyond that is refused, and not cut.", func(e *env) {
		q, m := e.received("VisibilityTimeout", "600")
		e.sleep(3 * time.Second)
		e.refused("ChangeMessageVisibility to 43200, 3 s after the receive", q.tryHide(m, 43_200))
		e.must("ChangeMessageVisibility to 43100, 3 s after the receive", q.tryHide(m, 43_100))
	}).recorded(quoted("2017-11-14", "aws/aws-sdk-net/issues/794")),
	check("visibility/total-is-not-reset", pageVisibility, "Extending a timeout does not begin the 12 hours anew.", func(e *env) {
		q, m := e.received("VisibilityTimeout", "600")
		e.sleep(2 * time.Second)
		q.hide(m, 43_100)
		e.sleep(time.Second)
		e.refused("ChangeMessageVisibility to 43200, 3 s after the receive", q.tryHide(m, 43_200))
	}),
	check("visibility/no-handle", api("ChangeMessageVisibility"), "ChangeMessageVisibility with what is no receipt handle is ReceiptHandleIsInvalid.", func(e *env) {
		refusedAs[*types.ReceiptHandleIsInvalid](e, "ChangeMessageVisibility", e.queue().tryHide(types.Message{ReceiptHandle: aws.String("no handle")}, 5))
	}),
	check("visibility/late", api("ChangeMessageVisibility"),
		"ChangeMessageVisibility succeeds on a standard queue after the timeout, while the message was not received again.", func(e *env) {
			q, m := e.received("VisibilityTimeout", "1")
			e.sleep(2 * time.Second)
			e.must("ChangeMessageVisibility, a second after the timeout", q.tryHide(m, 2))
		}).recorded(localStack("2024-04-30", "test_change_message_visibility_after_visibility_timeout_expiration[sqs]")),
	// The page has ReceiptHandleIsInvalid among the errors, but not for what.
	check("visibility/deleted-in-a-batch", api("ChangeMessageVisibilityBatch"),
		"An entry of ChangeMessageVisibilityBatch whose message was deleted fails as ReceiptHandleIsInvalid, by the sender's fault.", func(e *env) {
			q, m := e.received("VisibilityTimeout", "600")
			q.delete(m)
			out := must(e.ChangeMessageVisibilityBatch(e.ctx, &awssqs.ChangeMessageVisibilityBatchInput{QueueUrl: q.url,
				Entries: []types.ChangeMessageVisibilityBatchRequestEntry{{Id: aws.String("a"), ReceiptHandle: m.ReceiptHandle, VisibilityTimeout: 1}}}))
			failed := e.failedEntry("a", out.Failed)
			want(e, "Code", aws.ToString(failed.Code), "ReceiptHandleIsInvalid")
			want(e, "Message", aws.ToString(failed.Message), "Message does not exist or is not available for visibility timeout change")
		}).recorded(goCloud("2026-03-19", "TestConformanceSQSTopic/TestDoubleAck")),
	check("visibility/deleted", api("ChangeMessageVisibility"), "ChangeMessageVisibility of a message that was deleted is InvalidParameterValue.", func(e *env) {
		q, m := e.received("VisibilityTimeout", "600")
		q.delete(m)
		e.said("ChangeMessageVisibility", q.tryHide(m, 1), "Value "+*m.ReceiptHandle+
			" for parameter ReceiptHandle is invalid. Reason: Message does not exist or is not available for visibility timeout change.")
	}).undocumented().recorded(localStackValidated("test_change_visibility_on_deleted_message_raises_invalid_parameter_value")),
	check("visibility/group", api("ChangeMessageVisibility"), "ChangeMessageVisibility to 0 makes a message of a FIFO queue visible at once.", func(e *env) {
		q := e.group("a")
		q.hide(q.one(), 0)
		want(e, "body", *q.one().Body, "a")
	}),
}

func delayed(seconds int32) func(*awssqs.SendMessageInput) {
	return func(in *awssqs.SendMessageInput) { in.DelaySeconds = seconds }
}

var delayChecks = []Check{
	check("delay/queue", pageDelayQueues, "A message to a delay queue is hidden for the queue's delay, and then received.", func(e *env) {
		q := e.queue("DelaySeconds", "3")
		began := time.Now()
		q.send("a")
		q.none("a message whose delay is not over")
		q.comes(began, 3)
	}),
	check("delay/message", pageTimers, "A message with a timer is hidden for so long on a queue without delay.", func(e *env) {
		q := e.queue()
		began := time.Now()
		q.send("a", delayed(3))
		q.none("a message whose timer is not over")
		q.comes(began, 3)
	}),
	check("delay/message-over-queue", pageTimers, "A message's timer counts instead of the queue's delay.", func(e *env) {
		q := e.queue("DelaySeconds", "900")
		began := time.Now()
		q.send("a", delayed(1))
		q.comes(began, 1)
	}),
	check("delay/zero-over-queue", pageTimers, "DelaySeconds 0 of a message counts instead of the queue's delay.", func(e *env) {
		q := e.queue("DelaySeconds", "900")
		body := "a"
		must(e.SendMessage(e.ctx, &awssqs.SendMessageInput{QueueUrl: q.url, MessageBody: &body}, withField("DelaySeconds", 0)))
		q.one()
	}),
	check("delay/only-once", pageDelayQueues, "The delay counts when a message is first added, not when it becomes visible again.", func(e *env) {
		q := e.queue("DelaySeconds", "2", "VisibilityTimeout", "600")
		q.send("a")
		q.hide(q.one(), 0)
		began := time.Now()
		q.one()
		e.within("the second receive", began, 0, 1500*time.Millisecond)
	}),
	check("delay/standard-not-retroactive", pageDelayQueues,
		"A new delay of a standard queue does not change when messages come that are in it already.", func(e *env) {
			q := e.queue("DelaySeconds", "4")
			began := time.Now()
			q.send("a")
			q.set("DelaySeconds", "0")
			q.none("a message whose delay is not over", waiting(2))
			q.comes(began, 4)
		}),
	check("delay/fifo-retroactive", pageDelayQueues, "A new delay of a FIFO queue counts for the messages that are in it already.", func(e *env) {
		q := e.fifo("DelaySeconds", "900")
		q.sendTo("g", "a")
		q.none("a message whose delay is not over")
		q.set("DelaySeconds", "0")
		want(e, "body", *q.one().Body, "a")
	}),
	check("delay/fifo", pageDelayQueues, "A FIFO queue's delay hides its messages for so long.", func(e *env) {
		q := e.fifo("DelaySeconds", "3")
		began := time.Now()
		q.sendTo("g", "a")
		q.none("a message whose delay is not over")
		want(e, "body", *q.comes(began, 3).Body, "a")
	}),
	check("delay/fifo-message", api("SendMessage"), "A FIFO queue refuses a delay of a single message.", func(e *env) {
		e.refused("SendMessage with DelaySeconds to a FIFO queue", e.fifo().trySend("a", inGroup("g"), withID("a"), delayed(1)))
	}),
}
