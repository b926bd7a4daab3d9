package checks

import (
	"time"
)

var attemptChecks = []Check{
	{
		ID: "attempts/same-messages", Page: api("ReceiveMessage"),
		Must: "A receive with the attempt id of an earlier one returns its messages and receipt handles again.",
		run: func(e *env) {
			q := e.fifo("VisibilityTimeout", "600")
			q.sendTo("g", "a", "b")
			q.counts(2, 0, 0)
			first := q.receive(attempt("attempt-1"), waiting(20))
			if len(first) == 0 {
				e.fail("the first receive: want messages, got none")
			}
			again := q.receive(attempt("attempt-1"), waiting(2))
			want(e, "messages of the second receive", bodies(again), bodies(first))
			for i := range first {
				want(e, "ReceiptHandle", *again[i].ReceiptHandle, *first[i].ReceiptHandle)
			}
			e.must("DeleteMessage", q.delete(again[0]))
		},
	}, {
		ID: "attempts/other-id", Page: api("ReceiveMessage"),
		Must: "A receive with another attempt id gets nothing of a group in flight.",
		run: func(e *env) {
			q := e.fifo("VisibilityTimeout", "600")
			q.sendTo("g", "a", "b")
			q.one(attempt("attempt-1"))
			q.none("a group in flight, with another attempt id", attempt("attempt-2"))
			q.none("a group in flight, without an attempt id")
		},
	}, {
		ID: "attempts/other-groups", Page: api("ReceiveMessage"),
		Must: "Messages of other groups can be received between two receives with one attempt id.",
		run: func(e *env) {
			q := e.fifo("VisibilityTimeout", "600")
			q.sendTo("g", "a")
			first := q.one(attempt("attempt-1"))
			q.sendTo("h", "b")
			want(e, "of the other group", *q.one().Body, "b")
			want(e, "the retry's messages", bodies(q.receive(attempt("attempt-1"))), show(*first.Body))
		},
	}, {
		ID: "attempts/reset-visibility", Page: api("ReceiveMessage"),
		Must: "A receive with the attempt id of an earlier one begins the visibility timeout anew.",
		run: func(e *env) {
			q := e.fifo("VisibilityTimeout", "4")
			q.sendTo("g", "a")
			q.one(attempt("attempt-1"))
			e.sleep(2 * time.Second)
			began := time.Now()
			want(e, "number of messages of the retry", len(q.receive(attempt("attempt-1"))), 1)
			q.one()
			e.within("the message's return", began, 3*time.Second, 4*time.Second+soon)
		},
	}, {
		ID: "attempts/five-minutes", Page: api("ReceiveMessage"), Slow: true,
		Must: "An attempt id counts for five minutes.",
		run: func(e *env) {
			q := e.fifo("VisibilityTimeout", "3600")
			q.sendTo("g", "a")
			q.one(attempt("attempt-1"))
			e.sleep(330 * time.Second)
			q.none("an attempt id of five and a half minutes ago", attempt("attempt-1"))
		},
	},
}
