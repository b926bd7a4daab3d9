// Package jsonbody decodes JSON bodies, and says what is wrong without quoting it.
package jsonbody

import (
	"encoding/json"
	"errors"
	"io"
	"reflect"
	"strings"

	"github.com/sqsbatch/sqsbatch/internal/plainjson"
)

// Decode decodes body into v, and calls v's method Validate() error, if it has one. With
// strict, fields that v does not have are an error. Anything but white space after the
// value is an error. So is null for a struct or a pointer that does not decode itself.
//
// The fault says where it is and quotes nothing of the body, unlike the decoder's own
// texts, which contain keys and values. The text of Validate's error is included, since its
// author decides what it contains.
func Decode[T any](body string, v *T, strict bool) *Fault {
	if err := decode(body, v, strict); err != nil {
		return find(body, reflect.TypeFor[T](), strict, err)
	}
	if isNull(body) && !takesNull[T]() {
		return nowhere(errNull.Error(), errNull)
	}
	if reason, err := Validate(v); err != nil {
		return nowhere(reason, err)
	}
	return nil
}

// Where returns why json.Unmarshal refused body for v, without quoting the body.
func Where(body string, v any) string {
	return find(body, reflect.TypeOf(v).Elem(), false, nil).Reason()
}

// isNull reports whether a body, which is valid JSON, is null.
func isNull(body string) bool {
	return strings.HasPrefix(body[plainjson.SpaceEnd(body, 0):], "n")
}

// takesNull reports whether null is a valid T. encoding/json leaves a struct unchanged, so
// it would look like one whose members are all missing.
func takesNull[T any]() bool {
	t := reflect.TypeFor[T]()
	return t.Kind() != reflect.Struct && t.Kind() != reflect.Pointer || reflect.PointerTo(t).Implements(reflect.TypeFor[json.Unmarshaler]())
}

// Validate calls v's or *v's method Validate() error, if there is one.
func Validate[T any](v *T) (reason string, err error) {
	validator, ok := any(v).(interface{ Validate() error })
	if !ok { // T is a pointer or an interface, perhaps
		validator, ok = any(*v).(interface{ Validate() error })
	}
	if !ok {
		return "", nil
	}
	if err := validator.Validate(); err != nil {
		return "Validate: " + short(err.Error()), err
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
