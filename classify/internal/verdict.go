// Package verdict applies classifiers: it leaves out errors that already have a verdict, and
// combines the verdicts on the parts of a joined error.
//
//	return verdict.Apply(err, func(chain []error) (verdict.Kind, time.Duration) {
//		…
//	})
package verdict

import (
	"context"
	"errors"
	"time"

	"github.com/sqsbatch/sqsbatch/batch"
)

// Kind is the verdict on an error.
type Kind uint8

const (
	Unknown   Kind = iota // no verdict
	Permanent             // no retry can fix it
	Retry                 // a retry may fix it
)

// Judge returns the verdict on a chain of errors and, for a retry, the time to wait; 0 if it is
// unknown.
type Judge func(chain []error) (Kind, time.Duration)

// Apply returns err, wrapped with the verb that follows from judge's verdict.
//
// judge gets an error and the errors that it wraps, outermost first, down to the first one
// that wraps several. Each of those is then judged by itself. The joined error is retried if one
// of them is: perhaps a first host could not be reached, and a second has no such order.
// Otherwise it is permanent if one of them is. Errors without a verdict do not count, such as
// the sentinel in fmt.Errorf("%w: %w", ErrShip, err).
//
// An error that is decided, or whose methods panic, is returned unchanged.
func Apply(err error, judge Judge) (classified error) {
	if err == nil {
		return nil
	}
	defer func() {
		if recover() != nil {
			classified = err
		}
	}()
	if decided(err) {
		return err
	}
	switch kind, after := judge.of(err); {
	case kind == Permanent:
		return batch.Permanent(err)
	case kind == Retry && after > 0:
		return batch.RetryAfter(after, err)
	}
	return err
}

// decided reports whether a classifier must not judge err: it has a verb of package batch,
// has a method Retryable() bool, is the end of a context, or comes from a panic.
func decided(err error) bool {
	_, panicked := errors.AsType[*batch.PanicError](err)
	var says interface{ Retryable() bool }
	return panicked || errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) || batch.VerdictOf(err).Verb || errors.As(err, &says)
}

func (judge Judge) of(err error) (Kind, time.Duration) {
	var chain []error
	for err != nil {
		chain = append(chain, err)
		if several, ok := err.(interface{ Unwrap() []error }); ok {
			kind, after := judge(chain)
			if kind == Unknown {
				for _, err := range several.Unwrap() {
					k, a := judge.of(err)
					kind, after = max(kind, k), max(after, a)
				}
			}
			return kind, after
		}
		err = errors.Unwrap(err)
	}
	return judge(chain)
}
