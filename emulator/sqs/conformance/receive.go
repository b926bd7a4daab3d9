package main

import (
	"context"
	"fmt"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	awssqs "github.com/aws/aws-sdk-go-v2/service/sqs"
	"github.com/aws/aws-sdk-go-v2/service/sqs/types"
)

var receiveChecks = []Check{
	check("receive/empty", pagePolling, "A short poll of an empty queue answers right away, without messages.", func(e *env) {
		q := e.queue()
		began := time.Now()
		want(e, "number of messages", len(q.receive()), 0)
		if took := time.Since(began); took > 5*time.Second {
			e.fail("want an answer right away, got it after %v", took)
		}
	}),
	check("receive/one-by-default", api("ReceiveMessage"), "Without MaxNumberOfMessages a receive returns one message.", func(e *env) {
		q := e.filled("a", "a", "a")
		q.counts(3, 0, 0)
		for range 3 {
			want(e, "number of messages", len(q.receive(atMost(0), waiting(20))), 1)
		}
	}),
	check("receive/never-more", api("ReceiveMessage"), "A receive returns no more messages than MaxNumberOfMessages.", func(e *env) {
		q := e.queue()
		for i := range 7 {
			q.send(fmt.Sprint(i))
		}
		for left := 7; left > 0; {
			got := len(q.receive(atMost(3), waiting(20)))
			if got < 1 || got > 3 {
				e.fail("want 1 to 3 messages, got %d", got)
			}
			left -= got
		}
	}),
	check("receive/max-bounds", api("ReceiveMessage"), "MaxNumberOfMessages is 1 to 10.", func(e *env) {
		q := e.queue()
		e.bounds("MaxNumberOfMessages", []int32{1, 10}, []int32{0, -1, 11}, func(n int32) error {
			return errOf(e.ReceiveMessage(e.ctx, &awssqs.ReceiveMessageInput{QueueUrl: q.url}, withField("MaxNumberOfMessages", n)))
		})
	}).recorded(localStack("2024-04-30", "test_send_receive_max_number_of_messages[sqs]")),
	check("receive/wait-bounds", pagePolling, "The maximum long polling wait time is 20 seconds.", func(e *env) {
		q := e.filled("a")
		e.bounds("WaitTimeSeconds", []int32{20}, []int32{21, -1}, func(n int32) error { return errOf(q.tryReceive(waiting(n))) })
	}).recorded(localStack("2025-02-10", "test_send_receive_wait_time_seconds[sqs]")),
	check("receive/visibility-bounds", pageVisibility, "The visibility timeout of a receive is 0 seconds to 12 hours.", func(e *env) {
		q := e.queue()
		e.bounds("VisibilityTimeout", []int32{43_200, 0}, []int32{43_201, -1}, func(n int32) error {
			return errOf(e.ReceiveMessage(e.ctx, &awssqs.ReceiveMessageInput{QueueUrl: q.url}, withField("VisibilityTimeout", n)))
		})
	}).reading(),
	check("receive/new-handle", pageIdentifiers, "Every receive of a message gives it another receipt handle, of 1,024 characters at most.", func(e *env) {
		q := e.filled("a")
		handles := map[string]bool{}
		for range 3 {
			m := q.one()
			if n := len(*m.ReceiptHandle); n == 0 || n > 1024 {
				e.fail("ReceiptHandle: want 1 to 1024 characters, got %d", n)
			}
			if handles[*m.ReceiptHandle] {
				e.fail("want another receipt handle at each receive, got %s again", *m.ReceiptHandle)
			}
			handles[*m.ReceiptHandle] = true
			q.hide(m, 0)
		}
	}),
	check("receive/every-message", pagePolling, "Who keeps receiving gets every message.", func(e *env) {
		q := e.queue("VisibilityTimeout", "600")
		for i := range 25 {
			q.send(fmt.Sprintf("%02d", i))
		}
		seen := map[string]bool{}
		for _, m := range q.take(25) {
			seen[*m.Body] = true
		}
		want(e, "number of different messages", len(seen), 25)
	}),
	check("receive/same-id", pageIdentifiers, "A message's id is the same at each receive.", func(e *env) {
		q := e.queue()
		sent := q.send("a")
		for range 2 {
			m := q.one()
			want(e, "MessageId", *m.MessageId, *sent.MessageId)
			q.hide(m, 0)
		}
	}),
}

// soon limits the duration of an immediate answer, also of a distant, slow service. It is
// far below the 20 seconds of the long polls.
const soon = 8 * time.Second

// within ends the check unless the time since a start is between the two.
func (e *env) within(what string, began time.Time, least, most time.Duration) {
	if took := time.Since(began); took < least || took > most {
		e.fail("%s: want it after %v to %v, got it after %v", what, least, most, took.Round(time.Millisecond))
	}
}

// comes ends the check unless a message is received about so many seconds after a start.
func (q *queue) comes(began time.Time, seconds int) types.Message {
	m := q.one()
	after := time.Duration(seconds) * time.Second
	q.within("the message", began, max(0, after-time.Second), after+soon)
	return m
}

type polled struct {
	messages []types.Message
	err      error
	at       time.Time
}

// poll starts a receive that waits 20 s, and pauses until it has probably arrived.
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
		q.send("delayed", delayed(2))
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
		e.sleep(500 * time.Millisecond) // until the service has probably noticed
		q.send("for who is still there")
		m := q.one()
		want(e, "ApproximateReceiveCount", m.Attributes["ApproximateReceiveCount"], "1")
		want(e, "body", aws.ToString(m.Body), "for who is still there")
	}).undocumented(),
}
