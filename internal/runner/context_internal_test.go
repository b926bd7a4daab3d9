package runner

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"
)

// closed reports whether a context's Done says that it is over.
func closed(ctx context.Context) bool {
	select {
	case <-ctx.Done():
		return true
	default:
		return false
	}
}

// No timer ends these contexts, as when the run's is late.
func TestContextErrNeedsNoTimer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) { // time stands still
		cancelled, cancel := context.WithCancel(t.Context())
		cancel()
		for name, c := range map[string]struct {
			parent   context.Context
			deadline time.Time
			want     error
		}{
			"at its deadline":     {t.Context(), time.Now(), context.DeadlineExceeded},
			"before its deadline": {t.Context(), time.Now().Add(1), nil},
			"without one":         {t.Context(), time.Time{}, nil},
			"parent is cancelled": {cancelled, time.Now().Add(time.Hour), context.Canceled},
		} {
			ctx := within(c.parent, c.deadline)
			if err := ctx.Err(); !errors.Is(err, c.want) || closed(ctx) != (err != nil) {
				t.Errorf("%s: Err is %v, Done is closed: %v", name, err, closed(ctx))
			}
		}
	})
}

func TestContextEndsOnce(t *testing.T) {
	ctx := within(t.Context(), time.Time{})
	if ctx.end(context.DeadlineExceeded); ctx.end(context.Canceled) != context.DeadlineExceeded || ctx.Err() != context.DeadlineExceeded {
		t.Errorf("the second end replaced the first: %v", ctx.Err())
	}
}

// The context package asks Done before it calls AfterFunc, and calls stop
// once: what it relies on is only seen from here.
func TestContextAfterFunc(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx := within(t.Context(), time.Time{})
		called, stopped := 0, 0
		stopFirst := ctx.AfterFunc(func() { called++ })
		stopSecond := ctx.AfterFunc(func() { stopped++ })
		if !stopSecond() || stopSecond() {
			t.Error("stop reports once that it prevented the call")
		}
		ctx.end(context.Canceled)
		synctest.Wait()
		if called != 1 || stopped != 0 || stopFirst() {
			t.Errorf("called %d and %d times, want 1 and 0; stop after the call reports that it prevented it: %v", called, stopped, stopFirst())
		}
		stopLate := ctx.AfterFunc(func() { called++ })
		synctest.Wait()
		if called != 2 || stopLate() {
			t.Errorf("after the end: called %d times, want 2", called)
		}
	})
}

// within is the context of a record of a runner with a parent.
func within(parent context.Context, deadline time.Time) *recordContext {
	d := &Delivery{runner: &Runner{parent: parent, began: time.Now().Add(-time.Second)}}
	if !deadline.IsZero() {
		d.deadline = deadline.Sub(d.runner.began)
	}
	return (*recordContext)(d)
}
