package checks

import (
	"context"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	awssqs "github.com/aws/aws-sdk-go-v2/service/sqs"
	"github.com/aws/aws-sdk-go-v2/service/sqs/types"
)

// soon is within what a service answers at once, also one far away and slow.
// It is far below the 20 seconds of the polls that it is compared with.
const soon = 8 * time.Second

// within ends the check unless what began then took between the two.
func (e *env) within(what string, began time.Time, least, most time.Duration) {
	if took := time.Since(began); took < least || took > most {
		e.fail("%s: want it after %v to %v, got it after %v", what, least, most, took.Round(time.Millisecond))
	}
}

type polled struct {
	messages []types.Message
	err      error
	at       time.Time
}

// poll starts a receive that waits 20 s, and gives it time to arrive.
func (q *queue) poll(ctx context.Context) <-chan polled {
	answers := make(chan polled, 1)
	go func() {
		out, err := q.ReceiveMessage(ctx, &awssqs.ReceiveMessageInput{
			QueueUrl: q.url, MaxNumberOfMessages: 10, WaitTimeSeconds: 20})
		answer := polled{err: err, at: time.Now()}
		if err == nil {
			answer.messages = out.Messages
		}
		answers <- answer
	}()
	q.sleep(time.Second)
	return answers
}

var longPollChecks = []Check{
	check("long-poll/wakes", pagePolling, "A long poll returns a message as soon as one is sent.", func(e *env) {
		q := e.queue()
		answers := q.poll(e.ctx)
		began := time.Now()
		q.send("wake up")
		answer := <-answers
		e.must("ReceiveMessage", answer.err)
		want(e, "messages", bodies(answer.messages), show("wake up"))
		e.within("the poll's answer", began, 0, soon)
	}),
	check("long-poll/one-is-enough", pagePolling, "A long poll answers when there is one message, and does not wait for more.", func(e *env) {
		q := e.filled("one of ten")
		began := time.Now()
		want(e, "messages", bodies(q.receive(atMost(10), waiting(20))), show("one of ten"))
		e.within("the answer", began, 0, soon)
	}),
	check("long-poll/ends-empty", pagePolling, "A long poll without messages answers when its time is over, and not before.", func(e *env) {
		q := e.queue()
		began := time.Now()
		want(e, "number of messages", len(q.receive(waiting(2))), 0)
		e.within("the empty answer to a poll of 2 s", began, 1900*time.Millisecond, 2*time.Second+soon)
	}),
	check("long-poll/of-the-queue", pagePolling, "A receive without WaitTimeSeconds waits as long as the queue's ReceiveMessageWaitTimeSeconds.", func(e *env) {
		q := e.queue("ReceiveMessageWaitTimeSeconds", "2")
		began := time.Now()
		want(e, "number of messages", len(q.receive()), 0)
		e.within("the empty answer", began, 1900*time.Millisecond, 2*time.Second+soon)
	}),
	check("long-poll/zero-is-short", pagePolling, "WaitTimeSeconds 0 is a short poll, whatever the queue's ReceiveMessageWaitTimeSeconds.", func(e *env) {
		q := e.queue("ReceiveMessageWaitTimeSeconds", "20")
		began := time.Now()
		must(e.ReceiveMessage(e.ctx, &awssqs.ReceiveMessageInput{QueueUrl: q.url}, withField("WaitTimeSeconds", 0)))
		e.within("the answer", began, 0, soon)
	}),
	check("long-poll/visible-again", pagePolling, "A long poll returns a message as soon as its visibility timeout ends.", func(e *env) {
		q := e.filled("again")
		q.one(hidden(2))
		began := time.Now()
		want(e, "messages", bodies(q.receive(waiting(20))), show("again"))
		e.within("the message", began, time.Second, 2*time.Second+soon)
	}),
	check("long-poll/delay-over", pagePolling, "A long poll returns a message as soon as its delay ends.", func(e *env) {
		q := e.queue()
		q.send("delayed", func(in *awssqs.SendMessageInput) { in.DelaySeconds = 2 })
		began := time.Now()
		want(e, "messages", bodies(q.receive(waiting(20))), show("delayed"))
		e.within("the message", began, time.Second, 2*time.Second+soon)
	}),
	check("long-poll/client-gone", api("ReceiveMessage"), "A long poll whose client has left takes no message.", func(e *env) {
		q := e.queue("VisibilityTimeout", "600")
		ctx, leave := context.WithCancel(e.ctx)
		defer leave()
		answers := q.poll(ctx)
		leave()
		<-answers
		e.sleep(500 * time.Millisecond) // for the service to learn of it
		q.send("for who is still there")
		m := q.one()
		want(e, "ApproximateReceiveCount", m.Attributes["ApproximateReceiveCount"], "1")
		want(e, "body", aws.ToString(m.Body), "for who is still there")
	}).undocumented(),
}
