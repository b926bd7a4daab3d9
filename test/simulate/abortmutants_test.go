package simulate

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"time"

	"github.com/sqsbatch/sqsbatch/batch"
)

// abortMutants break what batch.Abort promises, in both modes.
var abortMutants = []mutantCase{
	{"starts the rest after an abort", Heeded, onAbort(func(after time.Duration, err error) error { return batch.RetryAfter(after, errors.Unwrap(err)) })},
	{"releases at once after an abort", Heeded, visibility(func(int) int { return 0 })},
	{"puts off for longer than an abort says", Heeded, visibility(func(s int) int { return s + 3 })},
	{"puts off for half the time", Heeded, onAbort(func(after time.Duration, err error) error { return batch.Abort(after/2, errors.Unwrap(err)) })},
}

// pollAbortMutants are those of the long-poll mode alone.
var pollAbortMutants = []mutantCase{
	{"goes on receiving", Heeded, wire(receiveLater)},
	{"gives back what waits for an abort of no time", Heeded, onAbort(func(after time.Duration, err error) error {
		return batch.Abort(max(after, time.Millisecond), errors.Unwrap(err))
	})},
}

// onAbort is a mutant that takes another error for an abort. What its handler
// said is noted before.
func onAbort(change func(after time.Duration, err error) error) Mutant {
	return wrap(func(ctx context.Context, r batch.Record, next batch.Handler) error {
		err := next.Handle(ctx, r)
		if v := batch.VerdictOf(err); v.Aborts {
			return fmt.Errorf("changed: %w", change(v.After, err))
		}
		return err
	})
}

// receiveLater makes a receive again a second later, whatever was said meanwhile.
func receiveLater(r *http.Request, next http.RoundTripper) (*http.Response, error) {
	if isCall(r, "ReceiveMessage") {
		late := with(r, body(r)).WithContext(context.WithoutCancel(r.Context()))
		time.AfterFunc(time.Second, func() { tell(next, late) })
	}
	return next.RoundTrip(r)
}
