package batch

import (
	"cmp"
	"context"

	"github.com/sqsbatch/sqsbatch/internal/wrapped"
)

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
// it hides both, unless [Chain] puts it there.
type Handler interface {
	Handle(ctx context.Context, r Record) error
}

// HandlerFunc makes a function a [Handler].
type HandlerFunc func(ctx context.Context, r Record) error

// Handle calls f.
func (f HandlerFunc) Handle(ctx context.Context, r Record) error { return f(ctx, r) }

// Chain wraps h in middleware, the first outermost:
// Chain(h, a, b) handles a record by a, which calls b, which calls h. What it
// returns has the methods Validate and Concurrency of what it is made of. It is
// nil, which whatever runs handlers refuses, when h or what middleware returns is.
func Chain(h Handler, middleware ...func(Handler) Handler) Handler {
	for i := len(middleware) - 1; i >= 0; i-- {
		if wrapped.IsNil(h) {
			return nil
		}
		h = around(middleware[i](h), h)
	}
	return h
}

// around makes outer, which calls h, ask it as well for what outer hides.
func around(outer, h Handler) Handler {
	_, validates := h.(interface{ Validate() error })
	if wrapped.IsNil(outer) || !validates && wish(h) == 0 {
		return outer
	}
	return layer{outer, h}
}

// layer is middleware around something that is to be asked.
type layer struct {
	Handler
	next Handler
}

// Validate asks the middleware, and then what is in it.
func (l layer) Validate() error {
	return cmp.Or(wrapped.Validate(l.Handler), wrapped.Validate(l.next))
}

// Concurrency is what the outermost that asks for it does; 0 if none does.
func (l layer) Concurrency() int { return cmp.Or(wish(l.Handler), wish(l.next)) }

// wish is the Concurrency that h asks for, 0 for none.
func wish(h Handler) int {
	if w, ok := h.(interface{ Concurrency() int }); ok {
		return w.Concurrency()
	}
	return 0
}
