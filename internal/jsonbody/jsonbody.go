// Package jsonbody decodes bodies from JSON, and says what is wrong with one
// without quoting it.
package jsonbody

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"reflect"
	"strings"
	"unicode/utf8"

	"github.com/sqsbatch/sqsbatch/internal/jsontext"
)

// Options are what batch.JSONOption sets.
type Options struct {
	Strict bool // fields that v does not have are an error
}

// Decode reads body into v, and asks v's method Validate() error, if it has one.
// With strict, fields that v does not have are an error; anything but white
// space after the value always is, and so is null for a struct or a pointer that
// does not decode itself.
//
// reason says where an error is and quotes nothing of the body, unlike err may:
// the decoder's own texts hold numbers and, from a type's own UnmarshalJSON,
// whole values. What Validate says is its author's choice, and is in it.
func Decode[T any](body string, v *T, strict bool) (reason string, err error) {
	if err := decode(body, v, strict); err != nil {
		return Where(err), err
	}
	if isNull(body) && !takesNull[T]() {
		return errNull.Error(), errNull
	}
	return Validate(v)
}

// isNull reports whether a body, which is valid JSON, is null.
func isNull(body string) bool {
	return strings.HasPrefix(body[jsontext.SpaceEnd(body, 0):], "n")
}

// takesNull reports whether null is a T: encoding/json leaves a struct as it is,
// which nobody would tell from one whose members are all missing.
func takesNull[T any]() bool {
	t := reflect.TypeFor[T]()
	return t.Kind() != reflect.Struct && t.Kind() != reflect.Pointer || reflect.PointerTo(t).Implements(reflect.TypeFor[json.Unmarshaler]())
}

// Validate asks v's or *v's method Validate() error, if there is one.
func Validate[T any](v *T) (reason string, err error) {
	validator, ok := any(v).(interface{ Validate() error })
	if !ok { // T is a pointer or an interface, perhaps
		validator, ok = any(*v).(interface{ Validate() error })
	}
	if !ok {
		return "", nil
	}
	if err := validator.Validate(); err != nil {
		return "it is not valid: " + short(err.Error()), err
	}
	return "", nil
}

func decode(body string, v any, strict bool) error {
	if !strict {
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

var errNull = errors.New("the JSON value is null")

var errTrailing = errors.New("data after the JSON value")

// Where describes a decoding error of encoding/json without quoting what was decoded.
func Where(err error) string {
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
		return inWords(syntax)
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

// inWords tells apart what a look at the offset would not: there is nothing wrong
// to be seen where a body is cut off, goes on after its value, or is nested deeper
// than encoding/json goes.
func inWords(err *json.SyntaxError) string {
	at := fmt.Sprintf("not valid JSON at offset %d", err.Offset)
	switch text := err.Error(); {
	case text == "unexpected end of JSON input" && err.Offset > 0:
		return at + ", where it ends too early"
	case strings.HasSuffix(text, "exceeded max depth"):
		return fmt.Sprintf("JSON nested too deeply, at offset %d", err.Offset)
	case strings.HasSuffix(text, " after top-level value"):
		return at + ", behind the value"
	default:
		return at
	}
}

// maxReason is enough for a few fields' names.
const maxReason = 200

// short cuts a text that is too long for a reason.
func short(s string) string {
	if len(s) <= maxReason {
		return s
	}
	s = s[:maxReason]
	for !utf8.ValidString(s) && len(s) > maxReason-utf8.UTFMax {
		s = s[:len(s)-1]
	}
	return s + "…"
}
