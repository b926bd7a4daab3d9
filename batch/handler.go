package batch

import "context"

// Handler handles one record. Nil means that the record is done with and may
// be deleted; an error means that it is not, and comes back after a backoff
// unless the error says otherwise: [Permanent], [RetryAfter], [Abort], see
// [VerdictOf].
//
// ctx ends at the record's deadline. A handler should return soon after that:
// one that does not is abandoned, and its record is delivered again while it
// may still be running.
//
// Handle is called from several goroutines at a time.
//
// A Handler may have two methods more, which are asked where it is started:
// Validate() error, whose error ends the start, and Concurrency() int, how many
// records it wants at a time where [Config].Concurrency is 0. Middleware around
// it hides both.
type Handler interface {
	Handle(ctx context.Context, r Record) error
}

// HandlerFunc makes a function a [Handler].
type HandlerFunc func(ctx context.Context, r Record) error

// Handle calls f.
func (f HandlerFunc) Handle(ctx context.Context, r Record) error { return f(ctx, r) }

// Chain wraps h in middleware, the first outermost:
// Chain(h, a, b) handles a record by a, which calls b, which calls h.
func Chain(h Handler, middleware ...func(Handler) Handler) Handler {
	for i := len(middleware) - 1; i >= 0; i-- {
		h = middleware[i](h)
	}
	return h
}
