package batch_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/url"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/sqsbatch/sqsbatch/batch"
)

func TestVerbsWrap(t *testing.T) {
	for _, err := range []error{
		batch.Permanent(io.EOF),
		batch.RetryAfter(time.Second, io.EOF),
		fmt.Errorf("while shipping: %w", batch.Permanent(io.EOF)),
		errors.Join(errors.New("other"), batch.RetryAfter(time.Second, io.EOF)),
	} {
		if !errors.Is(err, io.EOF) {
			t.Errorf("%v does not unwrap", err)
		}
	}
}

func TestVerbsOfNilAreFailures(t *testing.T) {
	if err := batch.Permanent(nil); err == nil || err.Error() != "permanent failure" {
		t.Errorf("Permanent(nil): %v", err)
	}
	if err := batch.RetryAfter(30*time.Second, nil); err == nil || err.Error() != "retry after 30s" {
		t.Errorf("RetryAfter(nil): %v", err)
	}
}

func TestRetryAfterIsNeverNegative(t *testing.T) {
	if v := batch.VerdictOf(batch.RetryAfter(-time.Second, io.EOF)); !v.HasAfter || v.After != 0 {
		t.Errorf("%+v", v)
	}
}

func TestVerdictOf_Permanent(t *testing.T) {
	for err, want := range map[error]bool{
		io.EOF:                                    false,
		batch.RetryAfter(0, io.EOF):               false,
		batch.Permanent(io.EOF):                   true,
		&batch.MalformedError{Reason: "x"}:        true,
		fmt.Errorf("x: %w", batch.Permanent(nil)): true,
		errors.Join(batch.RetryAfter(0, nil), batch.Permanent(nil)): true,
		&batch.PanicError{Value: batch.Permanent(io.EOF)}:           true,
		&batch.PanicError{Value: "text"}:                            false,
	} {
		if got := batch.VerdictOf(err).Permanent; got != want {
			t.Errorf("VerdictOf(%v).Permanent = %v", err, got)
		}
	}
}

func TestOutcomesHaveNames(t *testing.T) {
	for o, want := range map[batch.Outcome]string{
		batch.Pending: "pending", batch.Succeeded: "succeeded", batch.Retry: "retry", batch.DeadLettered: "dead-letter", batch.Dropped: "dropped",
		batch.NotStarted: "not-started", batch.Skipped: "skipped", batch.Abandoned: "abandoned", batch.Abandoned + 1: "unknown",
	} {
		if got := o.String(); got != want {
			t.Errorf("%d: %q, want %q", o, got, want)
		}
		if done := want == "succeeded" || want == "dead-letter" || want == "dropped"; o.Done() != done {
			t.Errorf("%s: done %v", want, o.Done())
		}
	}
}

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// foreign is an error of a package that knows nothing of this one.
type foreign struct {
	retryable bool
	after     time.Duration
	err       error
}

func (f *foreign) Error() string             { return "foreign" }
func (f *foreign) Unwrap() error             { return f.err }
func (f *foreign) Retryable() bool           { return f.retryable }
func (f *foreign) RetryAfter() time.Duration { return f.after }

// list is an error that stands for several by its own As.
type list []error

func (l list) Error() string { return "several" }
func (l list) As(target any) bool {
	for _, err := range l {
		if errors.As(err, target) {
			return true
		}
	}
	return false
}

func TestVerdictOf(t *testing.T) {
	boom := errors.New("boom")
	permanent := batch.Verdict{Permanent: true, Verb: true}
	malformed := batch.Verdict{Permanent: true, Malformed: true, Verb: true}
	after := func(d time.Duration) batch.Verdict { return batch.Verdict{After: d, HasAfter: true, Verb: true} }
	permanentAfter := func(d time.Duration) batch.Verdict {
		return batch.Verdict{Permanent: true, After: d, HasAfter: true, Verb: true}
	}
	done := func(o batch.Outcome) batch.Verdict { return batch.Verdict{Outcome: o, Verb: true} }
	aborts := func(d time.Duration) batch.Verdict {
		return batch.Verdict{Aborts: true, After: d, HasAfter: true, Verb: true}
	}
	for name, c := range map[string]struct {
		err  error
		want batch.Verdict
	}{
		"nil":                             {nil, batch.Verdict{}},
		"an ordinary error":               {boom, batch.Verdict{}},
		"Permanent":                       {batch.Permanent(boom), permanent},
		"Permanent of nil":                {batch.Permanent(nil), permanent},
		"wrapped":                         {fmt.Errorf("on: %w", batch.Permanent(boom)), permanent},
		"duplicate":                       {fmt.Errorf("order 1: %w", batch.ErrDuplicate), done(batch.Duplicate)},
		"expired":                         {fmt.Errorf("%w: 3 s late", batch.ErrExpired), done(batch.Expired)},
		"duplicate joined to a failure":   {errors.Join(batch.ErrDuplicate, boom), batch.Verdict{}},
		"failure that wraps a duplicate":  {fmt.Errorf("%w: %w", boom, batch.ErrDuplicate), batch.Verdict{}},
		"panic with a duplicate":          {&batch.PanicError{Value: batch.ErrDuplicate}, batch.Verdict{}},
		"expired and permanent":           {errors.Join(batch.ErrExpired, batch.Permanent(boom)), permanent},
		"expired and retry after":         {errors.Join(batch.ErrExpired, batch.RetryAfter(time.Hour, boom)), after(time.Hour)},
		"malformed":                       {&batch.MalformedError{Reason: "x"}, malformed},
		"permanent and malformed":         {batch.Permanent(&batch.MalformedError{}), malformed},
		"RetryAfter":                      {batch.RetryAfter(time.Minute, boom), after(time.Minute)},
		"RetryAfter at once":              {batch.RetryAfter(-1, boom), after(0)},
		"Abort":                           {batch.Abort(time.Minute, nil), aborts(time.Minute)},
		"Permanent in RetryAfter":         {batch.RetryAfter(time.Minute, batch.Permanent(boom)), permanentAfter(time.Minute)},
		"RetryAfter in Permanent":         {batch.Permanent(batch.RetryAfter(time.Minute, boom)), permanentAfter(time.Minute)},
		"Permanent joined to Abort":       {errors.Join(batch.Abort(time.Minute, boom), boom, batch.Permanent(boom)), permanentAfter(time.Minute)},
		"Abort in RetryAfter":             {batch.RetryAfter(time.Hour, batch.Abort(time.Minute, boom)), aborts(time.Minute)},
		"RetryAfter in Abort":             {batch.Abort(time.Minute, batch.RetryAfter(time.Hour, boom)), aborts(time.Minute)},
		"the longest RetryAfter":          {errors.Join(batch.RetryAfter(1, boom), batch.RetryAfter(3, boom), batch.RetryAfter(2, boom)), after(3)},
		"the longest Abort":               {errors.Join(batch.Abort(1, boom), batch.Abort(3, boom), batch.RetryAfter(9, boom)), aborts(3)},
		"several by As":                   {list{boom, batch.Permanent(boom)}, permanent},
		"several by As, malformed":        {list{&batch.MalformedError{}}, malformed},
		"several by As, times":            {list{batch.Abort(2, nil), batch.RetryAfter(9, boom)}, aborts(2)},
		"several by As, in progress":      {list{boom, batch.ErrInProgress}, batch.Verdict{Outcome: batch.InProgress, Verb: true}},
		"not retryable":                   {&foreign{}, batch.Verdict{Permanent: true}},
		"retryable":                       {&foreign{retryable: true}, batch.Verdict{}},
		"retryable, after":                {&foreign{retryable: true, after: 5}, batch.Verdict{After: 5, HasAfter: true}},
		"not retryable, after":            {&foreign{after: 5}, batch.Verdict{Permanent: true}},
		"the outermost method":            {&foreign{retryable: true, after: 5, err: &foreign{after: 9}}, batch.Verdict{After: 5, HasAfter: true}},
		"one of two is not":               {errors.Join(&foreign{retryable: true}, &foreign{}), batch.Verdict{Permanent: true}},
		"a method next to a verb":         {errors.Join(&foreign{}, batch.RetryAfter(1, boom)), after(1)},
		"a verb in one with a method":     {&foreign{err: batch.Abort(1, boom)}, aborts(1)},
		"not retryable, since canceled":   {&foreign{err: &url.Error{Err: context.Canceled}}, batch.Verdict{}},
		"not retryable, since time is up": {&foreign{after: 7, err: context.DeadlineExceeded}, batch.Verdict{After: 7, HasAfter: true}},
		"a panic with a method's error":   {&batch.PanicError{Value: &foreign{}}, batch.Verdict{}},
		"a panic with a verb":             {&batch.PanicError{Value: batch.Permanent(boom)}, permanent},
	} {
		if got := batch.VerdictOf(c.err); got != c.want {
			t.Errorf("%s: %+v, want %+v", name, got, c.want)
		}
		if got := batch.VerdictOf(c.err).Permanent; got != c.want.Permanent {
			t.Errorf("%s: Permanent %v", name, got)
		}
	}
}

func TestFirstOf(t *testing.T) {
	odd, even := errors.New("odd"), errors.New("even")
	is := func(target, verb error) func(error) error {
		return func(err error) error {
			if errors.Is(err, target) {
				return verb
			}
			return err
		}
	}
	classify := batch.FirstOf(is(odd, nil), is(odd, batch.Permanent(odd)), is(even, batch.RetryAfter(1, even)), is(odd, batch.Abort(1, odd)))
	if v := batch.VerdictOf(classify(odd)); !v.Permanent {
		t.Errorf("odd: %+v", v)
	}
	if v := batch.VerdictOf(classify(even)); v.After != 1 {
		t.Errorf("even: %+v", v)
	}
	if other := errors.New("other"); classify(other) != other || batch.FirstOf()(other) != other {
		t.Error("an error that none knows is changed")
	}
}
