package batch

import (
	"context"
	"errors"
	"time"
)

// Verdict is what an error asks for its record, see [VerdictOf]. The zero value
// asks for nothing: a retry with the configured backoff.
type Verdict struct {
	// Permanent: no retry can mend it.
	Permanent bool
	// Malformed: permanent, because the record could not be decoded.
	Malformed bool
	// Aborts: what of the batch was not started shall come back after After, too.
	Aborts bool
	// Duplicate: the error is [ErrDuplicate], and no other verb is in it.
	Duplicate bool
	// InProgress: [ErrInProgress] is in it, and neither Permanent nor Abort.
	InProgress bool
	// Verb says that a verb of this package was in the error, rather than a
	// method of another one's.
	Verb bool
	// After is when to come back, in place of the backoff; it counts if HasAfter.
	HasAfter bool
	After    time.Duration
}

// VerdictOf tells what an error asks for, by all that it wraps and joins:
//
//   - [Permanent] or a [MalformedError] anywhere in it, also beside others in
//     errors.Join, makes it permanent, whatever else is there. A time that is asked
//     for as well counts where it is retried nevertheless (no dead-letter queue);
//   - else [Abort] counts, with the longest time asked for by any Abort;
//   - else [RetryAfter], the longest of all;
//   - else, where no verb is, methods of errors that know nothing of this
//     package. RetryAfter() time.Duration is heard when it is above 0, the
//     longest one. Retryable() bool, where it is false, makes the error permanent,
//     but not where the error also wraps the end of a context: clients call that
//     not retryable because the caller has left, which the record has not.
//
// Of an error and those that it wraps the outermost with such a method is heard.
func VerdictOf(err error) Verdict {
	if err == nil {
		return Verdict{}
	}
	var v Verdict
	v.addVerbs(err)
	switch {
	case v.Permanent:
		v.Aborts, v.Duplicate, v.InProgress, v.Verb = false, false, false, true
		return v
	case v.Aborts:
		v.Duplicate, v.InProgress, v.Verb = false, false, true
		return v
	case v.HasAfter || v.InProgress || v.Duplicate:
		v.Duplicate = v.Duplicate && !v.HasAfter && !v.InProgress
		v.Verb = true
		return v
	}
	v.addMethods(err, true, true)
	if v.Permanent && !errors.Is(err, context.Canceled) && !errors.Is(err, context.DeadlineExceeded) {
		return Verdict{Permanent: true}
	}
	v.Permanent = false
	return v
}

// addVerbs looks for this package's own errors.
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
	case *duplicateError:
		v.Duplicate = true
	case *inProgressError:
		v.InProgress = true
	case interface{ As(any) bool }: // it may stand for several, as those of hashicorp/go-multierror
		addFound[*permanentError](v, e)
		addFound[*MalformedError](v, e)
		addFound[*abortError](v, e)
		addFound[*retryAfterError](v, e)
	}
	eachWrapped(err, v.addVerbs)
}

func addFound[E error](v *Verdict, in interface{ As(any) bool }) {
	var found E
	if in.As(&found) {
		v.addVerbs(found)
	}
}

// addAbort and addAfter take the longest; an Abort's own time goes before any other.
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

// addMethods looks for methods of other packages' errors.
func (v *Verdict) addMethods(err error, retryable, after bool) {
	if _, panicked := err.(*PanicError); panicked {
		return // it is a mistake in the code, whatever it was made with
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

// eachWrapped calls f for what err wraps or joins.
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

// FirstOf makes one function for [Config.Classify] of several: the first that
// gives an error a verb decides.
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
