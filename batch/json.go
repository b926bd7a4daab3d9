package batch

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
)

// JSON makes a [Handler] of a function that takes the record's body decoded
// from JSON. A body that cannot be decoded does not reach fn: the record fails
// with a [MalformedError], which goes to the dead-letter queue. Without fn there
// is no handler: what runs handlers refuses the nil that JSON returns then.
//
// Unknown fields are ignored unless [DisallowUnknownFields] is given; anything
// but white space after the value is always an error.
func JSON[T any](fn func(ctx context.Context, v T) error, opts ...JSONOption) HandlerFunc {
	if fn == nil {
		return nil
	}
	var o jsonOptions
	for _, opt := range opts {
		opt(&o)
	}
	return func(ctx context.Context, r Record) error {
		var v T
		if err := decodeJSON(r.Body, &v, o); err != nil {
			return &MalformedError{Reason: whereJSON(err), Err: err}
		}
		return fn(ctx, v)
	}
}

// JSONOption changes how [JSON] decodes.
type JSONOption func(*jsonOptions)

type jsonOptions struct{ strict bool }

// DisallowUnknownFields makes a field that T does not have an error.
func DisallowUnknownFields() JSONOption {
	return func(o *jsonOptions) { o.strict = true }
}

func decodeJSON(body string, v any, o jsonOptions) error {
	if !o.strict {
		return json.Unmarshal([]byte(body), v)
	}
	d := json.NewDecoder(strings.NewReader(body))
	d.DisallowUnknownFields()
	if err := d.Decode(v); err != nil {
		return err
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		return errTrailing
	}
	return nil
}

var errTrailing = errors.New("data after the JSON value")

// whereJSON describes a decoding error without quoting the body: the decoder's
// own texts hold numbers and, from a type's own UnmarshalJSON, whole values.
func whereJSON(err error) string {
	var syntax *json.SyntaxError
	var mismatch *json.UnmarshalTypeError
	switch {
	case errors.Is(err, io.EOF):
		return "it is empty"
	case errors.Is(err, io.ErrUnexpectedEOF):
		return "the JSON ends too early"
	case errors.Is(err, errTrailing):
		return err.Error()
	case errors.As(err, &syntax):
		return fmt.Sprintf("not valid JSON at offset %d", syntax.Offset)
	case errors.As(err, &mismatch):
		kind, _, _ := strings.Cut(mismatch.Value, " ") // "number 300" when it does not fit
		field := ""
		if mismatch.Field != "" {
			field = fmt.Sprintf("field %q: ", mismatch.Field)
		}
		return fmt.Sprintf("%sa JSON %s does not go into %s, at offset %d", field, kind, mismatch.Type, mismatch.Offset)
	case strings.HasPrefix(err.Error(), "json: unknown field "):
		return fmt.Sprintf("%.60s", strings.TrimPrefix(err.Error(), "json: ")) // a name is part of the body: no more than helps
	default:
		return fmt.Sprintf("a value is not accepted by its type (%T)", err)
	}
}
