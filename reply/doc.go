// Package reply sends requests over a queue, and waits for their answers.
//
//	c, err := reply.NewClient(client, reply.Config{})
//	...
//	quote, err := reply.Call[Quote](ctx, c, "quotes", Request{Product: "A-17"})
//
// A function for one request answers it, on Lambda or in a container:
//
//	handler.Run(reply.Handler(func(ctx context.Context, r Request) (Quote, error) {…}))
//
// Read docs/request-response.md first: it says what this costs compared with HTTP, and when
// not to use it.
//
// # A call
//
// A client has one reply queue, which it makes at the first call and deletes in Close. A
// request carries an id, the URL of that queue, and the time at which its caller gives up.
// They are in one attribute, sqsbatch.request. The answer is a message on the reply queue,
// whose attribute sqsbatch.answer has the id. So any number of calls share a reply queue,
// and each gets its own answer. An answer that comes twice, or too late, is dropped.
//
// Every call ends by its deadline: with its answer, with an [*Error] that the handler has
// answered, or with an error that says why there is none. A request whose answer is lost
// may have been handled.
//
// # A handler
//
// A request whose caller has given up is not handled: its outcome is [batch.Expired]. The
// context of the function ends when the caller gives up. Only the deadline of a call travels:
// the handler does not learn of a caller that is cancelled or killed before.
//
// An error of the function is an answer, too: the caller gets it as an [*Error], and decides
// what to do. The request is then done: it is not retried, and makes no dead letter. A line
// in the log says so. A request is left to the queue, and comes back, only if the function
// panics or hangs, its context ends, it returns [batch.Abort], [batch.ErrInProgress] or
// [batch.ErrStopped], or the answer cannot be sent.
//
// SQS delivers at least once, so a request may be handled twice. Its caller gets one answer.
// With package idempotency inside the handler, a repeated request is answered with the result
// or the permanent failure that was kept, see [Kept].
package reply
