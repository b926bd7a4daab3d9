package batch

import (
	"context"

	"github.com/sqsbatch/sqsbatch/internal/jsonbody"
	"github.com/sqsbatch/sqsbatch/internal/wrapped"
)

// JSON returns a [Handler] that passes the record's body to fn, decoded from JSON. If a body
// cannot be decoded, fn is not called: the record fails with a [MalformedError] and goes to the
// dead-letter queue.
//
// If T or *T has a method Validate() error, JSON calls it after decoding. An error means
// that the body is malformed, too. Its text appears in logs and in the dead letter, so it
// should name fields, not values.
//
// Unknown fields are ignored unless [JSONConfig].DisallowUnknownFields is set. Anything but
// white space after the value is an error. So is null if T is a struct or a pointer, unless T
// decodes itself.
//
// JSON returns nil if fn is nil. Functions that run handlers refuse nil with an error.
func JSON[T any](fn func(ctx context.Context, v T) error, cfg ...JSONConfig) HandlerFunc {
	if fn == nil {
		return nil
	}
	strict := wrapped.Last(cfg).DisallowUnknownFields
	return func(ctx context.Context, r Record) error {
		var v T
		if bad := jsonbody.Decode(r.Body, &v, strict); bad != nil {
			return &MalformedError{Reason: bad.Reason(), Err: bad.Unwrap()}
		}
		return fn(ctx, v)
	}
}

// JSONConfig configures [JSON], which takes one at most. The zero value is ready to use.
type JSONConfig struct {
	// DisallowUnknownFields makes a field that T does not have an error. The error gives the
	// field's offset in the body. It does not give the name, which may contain the sender's
	// data. Defaults to false: such fields are ignored.
	DisallowUnknownFields bool
}

// Text returns a [Handler] that passes the record's body to fn as a string.
func Text(fn func(ctx context.Context, body string) error) HandlerFunc {
	if fn == nil {
		return nil
	}
	return func(ctx context.Context, r Record) error { return fn(ctx, r.Body) }
}
