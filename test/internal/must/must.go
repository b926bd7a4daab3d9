// Package must ends a function of a check at its first error, as t.Fatal ends a test: each
// step needs the ones before it.
//
//	func build(ctx context.Context, s *stage.Stage) (err error) {
//		defer must.Return(&err)
//		sam := must.Get(samcli.Install(ctx))
//		must.Do(samcli.Copy(ctx, s, dir, arch))
//		…
//
// A helper without Return, and without an error among its results, ends the function that calls
// it. Return is needed where an error is looked at or a goroutine begins. It has to be the first
// deferred call, so that those which close something are done by then. They run before it, so
// they do not see the error that ended the function.
package must

import (
	"errors"
	"fmt"
)

// failure is what Do panics with, and nothing else does.
type failure struct{ err error }

// Do ends the function if there is an error.
func Do(err error) {
	if err != nil {
		panic(failure{err})
	}
}

// Failf ends the function with an error of its own, as [fmt.Errorf] makes it.
func Failf(format string, args ...any) { Do(fmt.Errorf(format, args...)) }

// Get is the result of a call, if it has no error.
func Get[T any](result T, err error) T {
	Do(err)
	return result
}

// Get2 is Get for a call with two results.
func Get2[T, U any](first T, second U, err error) (T, U) {
	Do(err)
	return first, second
}

// Run calls a function without an error among its results, and returns the one that ended it.
func Run(f func()) (err error) {
	defer Return(&err)
	f()
	return nil
}

// Return has a function that ended return the error, next to one that it returns anyway. It is
// to be deferred.
func Return(err *error) {
	switch ended := recover().(type) {
	case nil:
	case failure:
		*err = errors.Join(*err, ended.err)
	default:
		panic(ended)
	}
}
