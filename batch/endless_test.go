package batch_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/sqsbatch/sqsbatch/batch"
)

// ring is an error that may wrap itself.
type ring struct{ next error }

func (*ring) Error() string   { return "ring" }
func (r *ring) Unwrap() error { return r.next }

func endless(first ...error) error {
	r := &ring{}
	r.next = errors.Join(append(first, r)...)
	return &foreign{err: r} // its Retryable is false
}

// An error that wraps itself, or more than a stack holds, fails its record and
// not the process; the verbs that are found in it count.
func TestErrorsWithoutEnd(t *testing.T) {
	deep := errors.New("boom")
	for range 3_000_000 {
		deep = &ring{deep}
	}
	wide := errors.New("boom")
	for range 16 {
		wide = errors.Join(wide, wide)
	}
	minute := batch.Verdict{After: time.Minute, HasAfter: true, Verb: true}
	aborts, permanent := minute, minute
	aborts.Aborts, permanent.Permanent = true, true
	for name, c := range map[string]struct {
		err  error
		want batch.Verdict
	}{
		"deep":                 {deep, batch.Verdict{}},
		"wide":                 {wide, batch.Verdict{}},
		"itself":               {endless(), batch.Verdict{}},
		"itself and a verb":    {endless(batch.Abort(time.Minute, nil)), aborts},
		"itself and two verbs": {endless(batch.RetryAfter(time.Minute, batch.Permanent(nil))), permanent},
		"a panic with it":      {&batch.PanicError{Value: endless(batch.RetryAfter(time.Minute, nil))}, minute},
	} {
		if got := batch.VerdictOf(c.err); got != c.want {
			t.Errorf("%s: %+v, want %+v", name, got, c.want)
		}
		for how, h := range map[string]batch.HandlerFunc{
			"returned": func(context.Context, batch.Record) error { return c.err },
			"panicked": func(context.Context, batch.Record) error { panic(c.err) },
		} {
			var asked error
			err := classifying(t, func(err error) error { asked = err; return err }, h)
			if got := batch.VerdictOf(err); got != c.want || errors.Is(err, context.Canceled) {
				t.Errorf("%s, %s: %+v, want %+v", name, how, got, c.want)
			}
			if errors.Is(asked, context.Canceled) || !strings.Contains(err.Error(), "or itself)") {
				t.Errorf("%s, %s: %.200v", name, how, err)
			}
		}
	}
}

// What is large and has an end is left as it is.
func TestErrorsWithManyAreKept(t *testing.T) {
	mine := errors.New("mine")
	list := []error{mine}
	for range 9_000 {
		list = append(list, &foreign{retryable: true})
	}
	all := errors.Join(list...)
	err := classifying(t, func(err error) error { return err }, func(context.Context, batch.Record) error { return all })
	if err != all || !errors.Is(err, mine) {
		t.Errorf("%.100v", err)
	}
}
