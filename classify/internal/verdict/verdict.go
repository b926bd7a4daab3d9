// Package verdict has what classifiers share: it recognizes errors that were decided
// before, and combines the verdicts on the parts of a joined error.
//
//	return verdict.Apply(err, func(chain []error) verdict.Verdict {
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

// Verdict is a kind and, for a retry, how long to wait; 0 if that is not known.
type Verdict struct {
	Kind  Kind
	After time.Duration
}

// Apply returns err, wrapped with the verb that follows from judge's verdict.
//
// judge gets an error and the errors that it wraps, outermost first, down to the first one
// that wraps several. Each of those is then judged by itself. If one of them is to be
// retried, the whole is: perhaps a first host could not be reached, and the second does not
// know the order. Else if one of them is permanent, the whole is. An error without a
// verdict does not count, such as the sentinel in fmt.Errorf("%w: %w", ErrShip, err).
//
// An error that was decided before, or whose methods panic, is returned unchanged.
func Apply(err error, judge func(chain []error) Verdict) (classified error) {
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
	switch v := of(err, judge); {
	case v.Kind == Permanent:
		return batch.Permanent(err)
	case v.Kind == Retry && v.After > 0:
		return batch.RetryAfter(v.After, err)
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

func of(err error, judge func(chain []error) Verdict) Verdict {
	var chain []error
	for err != nil {
		chain = append(chain, err)
		if several, ok := err.(interface{ Unwrap() []error }); ok {
			if v := judge(chain); v.Kind != Unknown {
				return v
			}
			return joined(several.Unwrap(), judge)
		}
		err = errors.Unwrap(err)
	}
	return judge(chain)
}

func joined(errs []error, judge func(chain []error) Verdict) Verdict {
	var whole Verdict
	for _, err := range errs {
		v := of(err, judge)
		whole.Kind = max(whole.Kind, v.Kind)
		whole.After = max(whole.After, v.After)
	}
	return whole
}
