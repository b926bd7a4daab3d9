package checks

import (
	"fmt"
	"time"

	awssqs "github.com/aws/aws-sdk-go-v2/service/sqs"
)

var receiveChecks = []Check{
	{
		ID: "receive/empty", Page: pagePolling,
		Must: "A short poll of an empty queue answers right away, without messages.",
		run: func(e *env) {
			q := e.queue()
			began := time.Now()
			want(e, "number of messages", len(q.receive()), 0)
			if took := time.Since(began); took > 5*time.Second {
				e.fail("want an answer right away, got it after %v", took)
			}
		},
	}, {
		ID: "receive/one-by-default", Page: api("ReceiveMessage"),
		Must: "Without MaxNumberOfMessages a receive returns one message.",
		run: func(e *env) {
			q := e.queue()
			for range 3 {
				q.send("a")
			}
			q.counts(3, 0, 0)
			for range 3 {
				want(e, "number of messages", len(q.receive(atMost(0), waiting(20))), 1)
			}
		},
	}, {
		ID: "receive/never-more", Page: api("ReceiveMessage"),
		Must: "A receive returns no more messages than MaxNumberOfMessages.",
		run: func(e *env) {
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
		},
	}, {
		ID: "receive/max-bounds", Page: api("ReceiveMessage"), Recorded: localStack("2024-04-30", "test_send_receive_max_number_of_messages[sqs]"),
		Must: "MaxNumberOfMessages is 1 to 10.",
		run: func(e *env) {
			q := e.queue()
			for _, n := range []int{1, 10} {
				_, err := e.ReceiveMessage(e.ctx, &awssqs.ReceiveMessageInput{QueueUrl: q.url}, withField("MaxNumberOfMessages", n))
				e.must(fmt.Sprintf("ReceiveMessage with MaxNumberOfMessages %d", n), err)
			}
			for _, n := range []int{0, -1, 11} {
				_, err := e.ReceiveMessage(e.ctx, &awssqs.ReceiveMessageInput{QueueUrl: q.url}, withField("MaxNumberOfMessages", n))
				e.refused(fmt.Sprintf("ReceiveMessage with MaxNumberOfMessages %d", n), err)
			}
		},
	}, {
		ID: "receive/wait-bounds", Page: pagePolling, Recorded: localStack("2025-02-10", "test_send_receive_wait_time_seconds[sqs]"),
		Must: "The maximum long polling wait time is 20 seconds.",
		run: func(e *env) {
			q := e.queue()
			q.send("a")
			_, err := q.tryReceive(waiting(20))
			e.must("ReceiveMessage with WaitTimeSeconds 20", err)
			for _, seconds := range []int32{21, -1} {
				_, err := q.tryReceive(waiting(seconds))
				e.refused(fmt.Sprintf("ReceiveMessage with WaitTimeSeconds %d", seconds), err)
			}
		},
	}, {
		ID: "receive/visibility-bounds", Page: pageVisibility, Reading: true,
		Must: "The visibility timeout of a receive is 0 seconds to 12 hours.",
		run: func(e *env) {
			q := e.queue()
			for _, seconds := range []int32{43_200, 0} {
				_, err := e.ReceiveMessage(e.ctx, &awssqs.ReceiveMessageInput{QueueUrl: q.url}, withField("VisibilityTimeout", seconds))
				e.must(fmt.Sprintf("ReceiveMessage with VisibilityTimeout %d", seconds), err)
			}
			for _, seconds := range []int32{43_201, -1} {
				_, err := q.tryReceive(hidden(seconds))
				e.refused(fmt.Sprintf("ReceiveMessage with VisibilityTimeout %d", seconds), err)
			}
		},
	}, {
		ID: "receive/new-handle", Page: pageIdentifiers,
		Must: "Every receive of a message gives it another receipt handle, of 1,024 characters at most.",
		run: func(e *env) {
			q := e.queue()
			q.send("a")
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
				e.must("ChangeMessageVisibility to 0", q.hide(m, 0))
			}
		},
	}, {
		ID: "receive/every-message", Page: pagePolling,
		Must: "Who keeps receiving gets every message.",
		run: func(e *env) {
			q := e.queue("VisibilityTimeout", "600")
			for i := range 25 {
				q.send(fmt.Sprintf("%02d", i))
			}
			seen := map[string]bool{}
			for _, m := range q.take(25) {
				seen[*m.Body] = true
			}
			want(e, "number of different messages", len(seen), 25)
		},
	}, {
		ID: "receive/same-id", Page: pageIdentifiers,
		Must: "A message's id is the same at each receive.",
		run: func(e *env) {
			q := e.queue()
			sent := q.send("a")
			for range 2 {
				m := q.one()
				want(e, "MessageId", *m.MessageId, *sent.MessageId)
				e.must("ChangeMessageVisibility to 0", q.hide(m, 0))
			}
		},
	},
}
