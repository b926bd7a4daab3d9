// Package reply sends requests over a queue and waits for answers.
//
//	c, err := reply.NewClient(client, reply.Config{})
//	...
//	quote, err := reply.Call[Quote](ctx, c, "quotes", Request{Product: "A-17"})
//
// A function for one request answers it, on Lambda or in a container:
//
//	handler.Run(reply.Handler(func(ctx context.Context, r Request) (Quote, error) {…}))
//
// Read docs/request-response.md first: it compares the cost with HTTP, and lists cases for
// HTTP.
//
// # A call
//
// A client has one reply queue, which it creates at the first call and deletes in Close. A
// request carries an id, the URL of the reply queue, and the deadline of the call, in one
// attribute, sqsbatch.request. The answer is a message on the reply queue, with the id in the
// attribute sqsbatch.answer. So any number of calls share a reply queue, and each gets its own
// answer. Duplicate and late answers are dropped.
//
// Every call ends by its deadline: with the answer, with an [*Error] from the handler, or with
// an error that says why there is no answer. A request without answer may have been handled.
//
// # A handler
//
// A request whose deadline has passed is not handled: its outcome is [batch.Expired]. The
// context of the function ends at the deadline. Only the deadline is sent with a request: a
// handler does not notice a caller that is cancelled or killed before.
//
// An error of the function is an answer, too: the caller gets it as an [*Error], and decides
// what to do. The request is then done: it is not retried and not dead-lettered. A log line
// reports the error. SQS delivers a request again only if the function panics or hangs, its
// context ends, it returns [batch.Abort], [batch.ErrInProgress] or [batch.ErrStopped], or the
// answer cannot be sent.
//
// SQS delivers at least once, so a request may be handled twice. The caller gets one answer.
// With package idempotency inside the handler, a repeated request is answered with the kept
// result or the kept permanent failure, see [Kept].
package reply
