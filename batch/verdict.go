package batch

import (
	"context"
	"errors"
	"time"
)

// Verdict is the effect of an error on its record, see [VerdictOf]. The zero value is a retry
// with the configured backoff.
type Verdict struct {
	// Permanent: no retry can fix the error.
	Permanent bool
	// Malformed: permanent, because the record could not be decoded.
	Malformed bool
	// Aborts: the records of the batch that were not started come back after After, too.
	Aborts bool
	// Outcome is [Duplicate] or [Expired] if the error is [ErrDuplicate] or [ErrExpired] and
	// wraps no other verb, [InProgress] if it wraps [ErrInProgress] and neither Permanent nor
	// Abort, and else [Pending].
	Outcome Outcome
	// Verb is true if the error wraps a verb of this package. It is false if only a method
	// of another package's error decided.
	Verb bool
	// After is the delay of the record, instead of the backoff, if HasAfter is true.
	HasAfter bool
	After    time.Duration
}

// VerdictOf returns the verdict of an error. All errors that err wraps or joins count, in this
// order:
//
//   - [Permanent] or a [MalformedError] anywhere makes the error permanent, whatever else is
//     joined to it. A time that is also asked for counts only if the record is retried after
//     all, because there is no dead-letter queue.
//   - Else [Abort] counts, with the longest time that any Abort asks for.
//   - Else [RetryAfter] counts, with the longest time of all.
//   - Else, if there is no verb, methods of other packages' errors count. The longest
//     RetryAfter() time.Duration above 0 sets the time. A Retryable() bool that returns false
//     makes the error permanent, unless the error also wraps the end of a context: for a
//     client that is not retryable, but for the record it is.
//
// If an error and the errors that it wraps have such a method, the outermost one counts.
func VerdictOf(err error) Verdict {
	if err == nil {
		return Verdict{}
	}
	var v Verdict
	v.addVerbs(err)
	done := v.Outcome == Duplicate || v.Outcome == Expired
	switch {
	case v.Permanent:
		v.Aborts, v.Outcome, v.Verb = false, Pending, true
		return v
	case v.Aborts, v.HasAfter && done:
		v.Outcome, v.Verb = Pending, true
		return v
	case v.HasAfter, v.Outcome == InProgress, done && onlyDone(err):
		v.Verb = true
		return v
	}
	v.Outcome = Pending
	v.addMethods(err, true, true)
	if v.Permanent && !errors.Is(err, context.Canceled) && !errors.Is(err, context.DeadlineExceeded) {
		return Verdict{Permanent: true}
	}
	v.Permanent = false
	return v
}

// onlyDone reports whether an error is only [ErrDuplicate] or [ErrExpired], perhaps wrapped. An
// error that is joined to it is a failure, and so is a panic with it.
func onlyDone(err error) bool {
	switch err.(type) {
	case *doneError:
		return true
	case *PanicError:
		return false
	}
	found, only := false, true
	eachWrapped(err, func(inner error) { found, only = true, only && onlyDone(inner) })
	return found && only
}

// addVerbs adds the verbs of this package's errors in err.
func (v *Verdict) addVerbs(err error) {
	switch e := err.(type) {
	case *permanentError:
		v.Permanent = true
	case *MalformedError:
		v.Permanent, v.Malformed = true, true
	case *abortError:
		v.addAbort(e.after)
	case *retryAfterError:
		v.addAfter(e.after)
	case *doneError:
		if v.Outcome != InProgress {
			v.Outcome = e.outcome
		}
	case *inProgressError:
		v.Outcome = InProgress
	case interface{ As(any) bool }: // may contain several errors, as in hashicorp/go-multierror
		addFound[*permanentError](v, e)
		addFound[*MalformedError](v, e)
		addFound[*abortError](v, e)
		addFound[*retryAfterError](v, e)
		addFound[*inProgressError](v, e)
	}
	eachWrapped(err, v.addVerbs)
}

func addFound[E error](v *Verdict, in interface{ As(any) bool }) {
	var found E
	if in.As(&found) {
		v.addVerbs(found)
	}
}

// addAbort adds an Abort. Like addAfter, it keeps the longest time. The time of an Abort takes
// precedence over any other.
func (v *Verdict) addAbort(d time.Duration) {
	if !v.Aborts {
		v.After = 0
	}
	v.Aborts, v.HasAfter = true, true
	v.After = max(v.After, d)
}

func (v *Verdict) addAfter(d time.Duration) {
	if v.Aborts {
		return
	}
	v.HasAfter = true
	v.After = max(v.After, d)
}

// addMethods adds the results of methods of other packages' errors.
func (v *Verdict) addMethods(err error, retryable, after bool) {
	if _, panicked := err.(*PanicError); panicked {
		return // a panic is a bug, whatever it is joined with
	}
	if e, ok := err.(interface{ Retryable() bool }); ok && retryable {
		v.Permanent = v.Permanent || !e.Retryable()
		retryable = false
	}
	if e, ok := err.(interface{ RetryAfter() time.Duration }); ok && after {
		if d := e.RetryAfter(); d > 0 {
			v.addAfter(d)
		}
		after = false
	}
	eachWrapped(err, func(err error) { v.addMethods(err, retryable, after) })
}

// eachWrapped calls f for each error that err wraps or joins directly.
func eachWrapped(err error, f func(error)) {
	switch e := err.(type) {
	case interface{ Unwrap() error }:
		if inner := e.Unwrap(); inner != nil {
			f(inner)
		}
	case interface{ Unwrap() []error }:
		for _, inner := range e.Unwrap() {
			if inner != nil {
				f(inner)
			}
		}
	}
}

// FirstOf combines several functions for handler.Config.Classify. The first one that adds a
// verb to an error decides.
func FirstOf(classifiers ...func(error) error) func(error) error {
	return func(err error) error {
		for _, classify := range classifiers {
			if classify == nil {
				continue
			}
			if classified := classify(err); classified != nil && VerdictOf(classified).Verb {
				return classified
			}
		}
		return err
	}
}
