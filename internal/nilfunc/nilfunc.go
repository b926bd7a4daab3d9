// Package nilfunc knows handlers that are not there: what makes a handler of
// another returns nil for them, so that what runs handlers can refuse it. It
// imports the standard library only.
package nilfunc

import "reflect"

// Is reports whether h is nil or a nil function of any type, such as
// batch.HandlerFunc(nil) in a batch.Handler.
func Is(h any) bool {
	if h == nil {
		return true
	}
	v := reflect.ValueOf(h)
	return v.Kind() == reflect.Func && v.IsNil()
}
