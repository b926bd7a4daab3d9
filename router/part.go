package router

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/sqsbatch/sqsbatch/batch"
	"github.com/sqsbatch/sqsbatch/internal/jsonbody"
	"github.com/sqsbatch/sqsbatch/internal/wrapped"
)

// Part hands on a part of a JSON body as the record's body: what the path leads to, as it
// is written. The record that h gets, and [batch.RecordFrom] gives, has no MD5 of the body,
// since SQS's is of the whole; all else is the SQS message's.
//
// A body without the part is malformed. Where h finds its body malformed the error names
// the part, and offsets are counted from its beginning. Without h there is no handler: what
// runs handlers refuses the nil that Part returns then.
func Part(h batch.Handler, path ...string) batch.Handler {
	if wrapped.IsNil(h) {
		return nil
	}
	return &part{h, path}
}

type part struct {
	next batch.Handler
	path []string
}

// Handle hands on the part.
func (p *part) Handle(ctx context.Context, r batch.Record) error {
	name := strings.Join(p.path, ".")
	value, bad := jsonbody.Find(r.Body, p.path...)
	if bad != nil {
		return &batch.MalformedError{Reason: bad.Reason(), Err: bad.Unwrap()}
	}
	if value == "" {
		return &batch.MalformedError{Reason: fmt.Sprintf("the body has no field %q", name)}
	}
	r.Body, r.MD5OfBody = value, ""
	err := p.next.Handle(batch.WithRecord(ctx, r), r)
	if malformed, ok := err.(*batch.MalformedError); ok {
		return &batch.MalformedError{Reason: fmt.Sprintf("in %q: %s", name, malformed.Reason), Err: malformed.Err}
	}
	return err
}

// Validate asks the handler that gets the part.
func (p *part) Validate() error { return wrapped.Validate(p.next) }

// Concurrency is what the handler that gets the part asks for.
func (p *part) Concurrency() int {
	if c, ok := p.next.(interface{ Concurrency() int }); ok {
		return c.Concurrency()
	}
	return 0
}

// First tries handlers in order, until one does not find the body malformed: for a queue
// with bodies of several formats. Where all do, the record's error has each one's reason.
//
// A struct without any of a body's fields takes it nevertheless: give the handlers before
// the last one batch.DisallowUnknownFields, or a payload with a method Validate() error.
// A handler whose function itself returns a [batch.MalformedError] has found the body
// malformed, too: the next one is tried.
//
// Without handlers, or if one is nil, there is no handler: what runs handlers refuses the
// nil that First returns then.
func First(handlers ...batch.Handler) batch.Handler {
	for _, h := range handlers {
		if wrapped.IsNil(h) {
			return nil
		}
	}
	if len(handlers) == 0 {
		return nil
	}
	return first(handlers)
}

type first []batch.Handler

// Handle tries the handlers in order.
func (f first) Handle(ctx context.Context, r batch.Record) error {
	var reasons []string
	var errs []error
	for _, h := range f {
		err := h.Handle(ctx, r)
		var malformed *batch.MalformedError
		if ctx.Err() != nil || !errors.As(err, &malformed) {
			return err
		}
		if !slices.Contains(reasons, malformed.Reason) {
			reasons = append(reasons, malformed.Reason)
		}
		errs = append(errs, err)
	}
	return &batch.MalformedError{Reason: strings.Join(reasons, "; or: "), Err: errors.Join(errs...)}
}

// Validate asks all of the handlers.
func (f first) Validate() error {
	var errs []error
	for _, h := range f {
		errs = append(errs, wrapped.Validate(h))
	}
	return errors.Join(errs...)
}
