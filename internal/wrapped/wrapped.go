// Package wrapped is what everything that makes a handler of another does with the
// one that it wraps. It imports the standard library only.
package wrapped

import "reflect"

// IsNil reports whether h is nil or a nil function of any type, such as
// batch.HandlerFunc(nil) in a batch.Handler. What wraps it returns nil then, so
// that what runs handlers can refuse it.
func IsNil(h any) bool { return isNil(h, reflect.Func) }

// IsNilPointer reports whether v is nil or a nil pointer of any type, such as a client that
// was never made. In an interface it does not equal nil, and panics at its first use.
func IsNilPointer(v any) bool { return isNil(v, reflect.Pointer) }

func isNil(v any, kind reflect.Kind) bool {
	if v == nil {
		return true
	}
	r := reflect.ValueOf(v)
	return r.Kind() == kind && r.IsNil()
}

// Validate asks h's method Validate() error, if it has one.
func Validate(h any) error {
	if v, ok := h.(interface{ Validate() error }); ok {
		return v.Validate()
	}
	return nil
}

// Concurrency returns what h asks for, see batch.Handler; 0 if it does not ask.
func Concurrency(h any) int {
	if c, ok := h.(interface{ Concurrency() int }); ok {
		return c.Concurrency()
	}
	return 0
}

// Last returns the last of an optional argument's values, or the zero value if there is none.
func Last[C any](cfg []C) (c C) {
	if n := len(cfg); n > 0 {
		c = cfg[n-1]
	}
	return c
}
