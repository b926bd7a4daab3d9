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

// Part returns a handler that passes a part of a JSON body to h as the record's body: the value
// at path, as written in the body. The record of h, also from [batch.RecordFrom], has no
// MD5OfBody, since SQS's digest is of the whole body. Its other fields are from the SQS message.
//
// A body without the part is malformed, and so is a body that [Field] refuses. If h returns a
// [batch.MalformedError], the error names the part, and offsets count from the beginning of the
// part.
//
// Part returns nil if h is nil.
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

// Handle passes on the part.
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

// Validate validates the handler of the part.
func (p *part) Validate() error { return wrapped.Validate(p.next) }

// Concurrency returns the concurrency that the handler of the part asks for.
func (p *part) Concurrency() int { return wrapped.Concurrency(p.next) }

// First returns a handler that tries handlers in order until one of them accepts the body. Use
// it for a queue with bodies of several formats. A handler that returns a
// [batch.MalformedError] has not accepted the body. If all do, the record's error has all
// reasons.
//
// JSON can be decoded into a struct with no field in common. So give every handler except the
// last one batch.JSONConfig.DisallowUnknownFields, or a payload with a method Validate() error.
//
// First returns nil if there are no handlers or one of them is nil.
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

// Validate validates all handlers.
func (f first) Validate() error {
	var errs []error
	for _, h := range f {
		errs = append(errs, wrapped.Validate(h))
	}
	return errors.Join(errs...)
}
