package checks

import (
	"time"

	awssqs "github.com/aws/aws-sdk-go-v2/service/sqs"
)

func delayed(seconds int32) func(*awssqs.SendMessageInput) {
	return func(in *awssqs.SendMessageInput) { in.DelaySeconds = seconds }
}

var delayChecks = []Check{
	check("delay/queue", pageDelayQueues, "A message to a delay queue is hidden for the queue's delay, and then received.", func(e *env) {
		q := e.queue("DelaySeconds", "3")
		began := time.Now()
		q.send("a")
		q.none("a message whose delay is not over")
		q.one()
		e.within("the message", began, 2*time.Second, 3*time.Second+soon)
	}),
	check("delay/message", pageTimers, "A message with a timer is hidden for so long on a queue without delay.", func(e *env) {
		q := e.queue()
		began := time.Now()
		q.send("a", delayed(3))
		q.none("a message whose timer is not over")
		q.one()
		e.within("the message", began, 2*time.Second, 3*time.Second+soon)
	}),
	check("delay/message-over-queue", pageTimers, "A message's timer counts instead of the queue's delay.", func(e *env) {
		q := e.queue("DelaySeconds", "900")
		began := time.Now()
		q.send("a", delayed(1))
		q.one()
		e.within("the message", began, 0, time.Second+soon)
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
			q.one()
			e.within("the message", began, 3*time.Second, 4*time.Second+soon)
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
		want(e, "body", *q.one().Body, "a")
		e.within("the message", began, 2*time.Second, 3*time.Second+soon)
	}),
	check("delay/fifo-message", api("SendMessage"), "A FIFO queue refuses a delay of a single message.", func(e *env) {
		e.refused("SendMessage with DelaySeconds to a FIFO queue", e.fifo().trySend("a", inGroup("g"), withID("a"), delayed(1)))
	}),
}
