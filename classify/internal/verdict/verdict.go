// Package verdict has what classifiers share: which errors are not theirs to
// judge, and what becomes of what they say about the parts of a joined error.
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

// Kind is what a classifier says about an error.
type Kind uint8

const (
	Unknown   Kind = iota // nothing
	Permanent             // no retry can fix it
	Retry                 // a retry may
)

// Verdict is a kind and, of a retry, how long to wait; 0 when that is not known.
type Verdict struct {
	Kind  Kind
	After time.Duration
}

// Apply returns err, wrapped with the verb that follows from what judge says.
//
// judge is given an error with what it wraps, outermost first, down to the
// first that wraps several; then each of those is judged by itself. Where one
// of them is to be retried the whole is (a first host was not to be reached,
// the second does not know the order), else where one is permanent the whole
// is: what judge does not know says nothing, such as the sentinel in
// fmt.Errorf("%w: %w", ErrShip, err).
//
// An error that was decided already is returned as it is, see [Decided], and so
// is one whose methods panic.
func Apply(err error, judge func(chain []error) Verdict) (classified error) {
	if err == nil {
		return nil
	}
	defer func() {
		if recover() != nil {
			classified = err
		}
	}()
	if Decided(err) {
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

// Decided reports whether err is not a classifier's to judge: it has a verb of
// batch, is Retryable or not by itself, a context's end, or a panic's.
func Decided(err error) bool {
	var panics *batch.PanicError
	var says interface{ Retryable() bool }
	return errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) || batch.VerdictOf(err).Verb ||
		errors.As(err, &panics) || errors.As(err, &says)
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
