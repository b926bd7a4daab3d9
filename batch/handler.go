package batch

import (
	"cmp"
	"context"

	"github.com/sqsbatch/sqsbatch/internal/wrapped"
)

// Handler handles one record. If it returns nil, the record is done and is deleted. If it
// returns an error, the record comes back after a backoff. The errors [Permanent],
// [RetryAfter] and [Abort] change that; see [VerdictOf].
//
// ctx ends at the record's deadline. A handler should return soon after that. A handler
// that does not is abandoned: its record is delivered again, perhaps while it still runs.
//
// Handle is called from several goroutines at the same time.
//
// A Handler may have two optional methods, which are called once at the start: Validate()
// error, whose error prevents the start, and Concurrency() int, the default of
// handler.Config.Concurrency. Wrap a handler with [Chain] to keep both methods; other wrapping
// hides them.
type Handler interface {
	Handle(ctx context.Context, r Record) error
}

// HandlerFunc adapts a function to [Handler].
type HandlerFunc func(ctx context.Context, r Record) error

// Handle calls f.
func (f HandlerFunc) Handle(ctx context.Context, r Record) error { return f(ctx, r) }

// Chain wraps h in middleware. The first middleware is the outermost: in Chain(h, a, b), a
// calls b and b calls h. The result keeps the optional methods Validate and Concurrency of
// h and of every middleware.
//
// Chain returns nil if h is nil or a middleware returns nil. Functions that run handlers
// refuse nil with an error.
func Chain(h Handler, middleware ...func(Handler) Handler) Handler {
	for i := len(middleware) - 1; i >= 0; i-- {
		if wrapped.IsNil(h) {
			return nil
		}
		h = around(middleware[i](h), h)
	}
	return h
}

// around wraps h in outer and keeps the optional methods of both.
func around(outer, h Handler) Handler {
	_, validates := h.(interface{ Validate() error })
	if wrapped.IsNil(outer) || !validates && wrapped.Concurrency(h) == 0 {
		return outer
	}
	return layer{outer, h}
}

// layer is a middleware's handler with the optional methods of the handler inside it.
type layer struct {
	Handler
	next Handler
}

// Validate validates the middleware first, then the handler inside it.
func (l layer) Validate() error {
	return cmp.Or(wrapped.Validate(l.Handler), wrapped.Validate(l.next))
}

// Concurrency returns the concurrency of the outermost handler that asks for one, or 0.
func (l layer) Concurrency() int {
	return cmp.Or(wrapped.Concurrency(l.Handler), wrapped.Concurrency(l.next))
}
