// Package wrapped is what everything that makes a handler of another does with the
// one that it wraps. It imports the standard library only.
package wrapped

import "reflect"

// IsNil reports whether h is nil or a nil function of any type, such as
// batch.HandlerFunc(nil) in a batch.Handler. What wraps it returns nil then, so
// that what runs handlers can refuse it.
func IsNil(h any) bool {
	if h == nil {
		return true
	}
	v := reflect.ValueOf(h)
	return v.Kind() == reflect.Func && v.IsNil()
}

// Validate asks h's method Validate() error, if it has one.
func Validate(h any) error {
	if v, ok := h.(interface{ Validate() error }); ok {
		return v.Validate()
	}
	return nil
}
