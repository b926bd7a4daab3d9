package batch

import (
	"context"

	"github.com/sqsbatch/sqsbatch/internal/jsonbody"
)

// JSON makes a [Handler] of a function that takes the record's body decoded
// from JSON. A body that cannot be decoded does not reach fn: the record fails
// with a [MalformedError], which goes to the dead-letter queue. Without fn there
// is no handler: what runs handlers refuses the nil that JSON returns then.
//
// A T with a method Validate() error, its own or its pointer's, is asked by it;
// an error means that the body is malformed, too. Its text is told in logs and in
// the dead-letter: it should name fields, not values.
//
// Unknown fields are ignored unless [DisallowUnknownFields] is given; anything
// but white space after the value is always an error, and so is null where T is a
// struct or a pointer, unless it decodes itself.
func JSON[T any](fn func(ctx context.Context, v T) error, opts ...JSONOption) HandlerFunc {
	if fn == nil {
		return nil
	}
	var o jsonbody.Options
	for _, opt := range opts {
		opt(&o)
	}
	return func(ctx context.Context, r Record) error {
		var v T
		if bad := jsonbody.Decode(r.Body, &v, o.Strict); bad != nil {
			return &MalformedError{Reason: bad.Reason(), Err: bad.Unwrap()}
		}
		return fn(ctx, v)
	}
}

// JSONOption changes how [JSON] decodes. Other packages' functions for JSON take
// it as well.
type JSONOption func(*jsonbody.Options)

// DisallowUnknownFields makes a field that T does not have an error. The error has
// the field's offset in the body, not its name, which may hold data of the sender's.
func DisallowUnknownFields() JSONOption {
	return func(o *jsonbody.Options) { o.Strict = true }
}

// Text makes a [Handler] of a function that takes the record's body as it is.
func Text(fn func(ctx context.Context, body string) error) HandlerFunc {
	if fn == nil {
		return nil
	}
	return func(ctx context.Context, r Record) error { return fn(ctx, r.Body) }
}

// Bytes makes a [Handler] of a function that takes the record's body as bytes,
// which are its own: one copy a record.
func Bytes(fn func(ctx context.Context, body []byte) error) HandlerFunc {
	if fn == nil {
		return nil
	}
	return func(ctx context.Context, r Record) error { return fn(ctx, []byte(r.Body)) }
}
