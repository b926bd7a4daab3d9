package checks

import (
	"time"
)

var attemptChecks = []Check{
	check("attempts/same-messages", api("ReceiveMessage"),
		"A receive with the attempt id of an earlier one returns its messages and receipt handles again.", func(e *env) {
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
		}),
	check("attempts/other-id", api("ReceiveMessage"),
		"A receive with another attempt id gets nothing of a group in flight.", func(e *env) {
			q := e.fifo("VisibilityTimeout", "600")
			q.sendTo("g", "a", "b")
			q.one(attempt("attempt-1"))
			q.none("a group in flight, with another attempt id", attempt("attempt-2"))
			q.none("a group in flight, without an attempt id")
		}),
	check("attempts/other-groups", api("ReceiveMessage"),
		"Messages of other groups can be received between two receives with one attempt id.", func(e *env) {
			q := e.fifo("VisibilityTimeout", "600")
			q.sendTo("g", "a")
			first := q.one(attempt("attempt-1"))
			q.sendTo("h", "b")
			want(e, "of the other group", *q.one().Body, "b")
			want(e, "the retry's messages", bodies(q.receive(attempt("attempt-1"))), show(*first.Body))
		}),
	check("attempts/reset-visibility", api("ReceiveMessage"),
		"A receive with the attempt id of an earlier one begins the visibility timeout anew.", func(e *env) {
			q := e.fifo("VisibilityTimeout", "4")
			q.sendTo("g", "a")
			q.one(attempt("attempt-1"))
			e.sleep(2 * time.Second)
			began := time.Now()
			want(e, "number of messages of the retry", len(q.receive(attempt("attempt-1"))), 1)
			q.one()
			e.within("the message's return", began, 3*time.Second, 4*time.Second+soon)
		}),
	check("attempts/five-minutes", api("ReceiveMessage"),
		"An attempt id counts for five minutes.", func(e *env) {
			q := e.fifo("VisibilityTimeout", "3600")
			q.sendTo("g", "a")
			q.one(attempt("attempt-1"))
			e.sleep(330 * time.Second)
			q.none("an attempt id of five and a half minutes ago", attempt("attempt-1"))
		}).slow(),
}
