// Package breaker is a circuit breaker around a handler. It stops calls to a dependency
// that is down, and so saves the attempts of the records that need it. It uses
// github.com/sony/gobreaker.
//
//	handler.Run(batch.Chain(batch.JSON(shipOrder), breaker.New(gobreaker.Settings{
//		Name:    "carrier",
//		Timeout: 2 * time.Minute,
//	})))
//
// While the breaker is open, no record reaches the handler. The first record that comes
// aborts the batch (batch.Abort): it and the records that were not started come back when
// the breaker tries again. Then MaxRequests records reach the handler, and their outcome
// closes the breaker or opens it again. Other records come back a little later.
//
// Coming back costs a record an attempt. It comes back when the breaker tries again, or
// after its backoff if that is longer. So a record survives an outage of 15 minutes with
// any Timeout (partialfailure.Config.Outage).
//
// How results count:
//
//   - nil is a success.
//   - An error, a panic and runtime.Goexit are failures. So is a panic of Classify,
//     IsSuccessful or IsExcluded.
//   - A permanent or malformed record is neither, because the record is the cause. If a
//     classifier makes it permanent, give the breaker the same classifier, see [Config].
//   - A record whose context ended is a failure if it had run for [Config.Hang], since a
//     dependency that hangs is worse than one that answers with errors. If it had run for a
//     shorter time it is neither: little time was left, or a container is stopped. This is
//     decided when the context ends, so that a handler that never returns does not hold a place
//     of a half-open breaker.
//
// IsSuccessful and IsExcluded of gobreaker's settings replace the first three rules, or all
// of them. A breaker counts for one process: each execution environment or task has its
// own.
package breaker

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/sony/gobreaker/v2"
	"github.com/sqsbatch/sqsbatch/batch"
	"github.com/sqsbatch/sqsbatch/internal/wrapped"
)

// Config configures [New]. The zero value is ready to use.
type Config struct {
	// Classify is called with each error before the error is counted. Pass the same function
	// as for handler.Config.Classify; otherwise its verbs do not count. Defaults to none.
	Classify func(error) error

	// Hang is how long a record must have run for the end of its context to count as a
	// failure. Negative means never. If records have less time than Hang, because of
	// RecordTimeout or the function's timeout, no hang counts: set a lower value then.
	// Defaults to 5 s.
	Hang time.Duration
}

const (
	defaultHang    = 5 * time.Second
	defaultTimeout = time.Minute // gobreaker's default

	// A record that comes while others are tried comes back after a tenth of the timeout,
	// within these limits, or after as long as the others have been tried already.
	minProbe = time.Second
	maxProbe = 10 * time.Second
)

// ErrUnfinished is passed to gobreaker, as the error of a record, when the handler panicked or
// called runtime.Goexit.
var ErrUnfinished = errors.New("breaker: the handler did not return")

// New returns middleware with its own breaker. All handlers that the middleware wraps share
// the breaker. It takes one Config at most. The middleware returns nil if its handler is nil.
func New(settings gobreaker.Settings, cfg ...Config) func(batch.Handler) batch.Handler {
	b := newBreaker(settings, wrapped.Last(cfg))
	around := func(h batch.Handler) batch.Handler {
		return batch.HandlerFunc(func(ctx context.Context, r batch.Record) error { return b.handle(ctx, r, h) })
	}
	return func(h batch.Handler) batch.Handler { return batch.Chain(h, around) }
}

type breaker struct {
	circuit *gobreaker.TwoStepCircuitBreaker[struct{}]
	options Config
	name    string
	timeout time.Duration
	changed atomic.Pointer[time.Time] // when the state last changed
}

func newBreaker(settings gobreaker.Settings, o Config) *breaker {
	o.Hang = cmp.Or(o.Hang, defaultHang)
	b := &breaker{options: o, name: settings.Name, timeout: settings.Timeout}
	if b.timeout <= 0 {
		b.timeout = defaultTimeout
	}
	if settings.IsExcluded == nil {
		settings.IsExcluded = b.excluded
	}
	settings.IsExcluded, settings.IsSuccessful = harmless(settings.IsExcluded), harmless(settings.IsSuccessful)
	onChange := settings.OnStateChange
	settings.OnStateChange = func(name string, from, to gobreaker.State) { // called under the circuit's lock
		now := time.Now()
		b.changed.Store(&now)
		if onChange != nil {
			onChange(name, from, to)
		}
	}
	b.circuit = gobreaker.NewTwoStepCircuitBreaker[struct{}](settings)
	return b
}

// harmless returns a function that returns false if is panics, as on an error that is a nil
// pointer. A panic would leave a record uncounted, and a half-open breaker would then stay
// half-open forever.
func harmless(is func(error) bool) func(error) bool {
	if is == nil {
		return nil
	}
	return func(err error) (yes bool) {
		defer func() {
			if recover() != nil {
				yes = false
			}
		}()
		return is(err)
	}
}

func (b *breaker) handle(ctx context.Context, r batch.Record, h batch.Handler) error {
	done, err := b.circuit.Allow()
	if err != nil {
		return batch.Abort(b.delay(err), b.named(err))
	}
	started := time.Now()
	var once sync.Once
	count := func(err error) {
		once.Do(func() {
			done(b.judged(ctx, err, started))
		})
	}
	stop := context.AfterFunc(ctx, func() {
		defer func() { _ = recover() }() // OnStateChange and ReadyToTrip may panic, which would end the process here
		count(ctx.Err())
	})
	defer stop()
	returned := false
	defer func() {
		if !returned { // do not recover, so that the engine finds the stack unchanged
			count(ErrUnfinished)
		}
	}()
	err = h.Handle(ctx, r)
	returned = true
	count(err)
	return err
}

func (b *breaker) judged(ctx context.Context, err error, started time.Time) error {
	if err == nil {
		return nil
	}
	err = b.classified(err)
	if end := ctx.Err(); end != nil {
		return &endedError{err: err, end: end, after: time.Since(started)}
	}
	return err
}

func (b *breaker) classified(err error) (classified error) {
	if b.options.Classify == nil {
		return err
	}
	defer func() {
		if recover() != nil || classified == nil {
			classified = err
		}
	}()
	return b.options.Classify(err)
}

// delay returns the delay of a record that did not reach the handler.
func (b *breaker) delay(why error) time.Duration {
	since := b.timeout // without a change, which does not happen
	if at := b.changed.Load(); at != nil {
		since = time.Since(*at)
	}
	if errors.Is(why, gobreaker.ErrOpenState) {
		// A moment later, since the breaker tries only after its timeout.
		return max(b.timeout-since, 0) + time.Millisecond
	}
	probe := min(max(b.timeout/10, minProbe), maxProbe)
	return min(max(since, probe), max(b.timeout, minProbe))
}

func (b *breaker) named(err error) error {
	if errors.Is(err, gobreaker.ErrTooManyRequests) {
		err = fmt.Errorf("half-open: other records are tried first: %w", err) // gobreaker's text alone reads like a 429
	}
	if b.name == "" {
		return fmt.Errorf("breaker: %w", err)
	}
	return fmt.Errorf("breaker %q: %w", b.name, err)
}

// excluded reports whether an error is neither a success nor a failure.
func (b *breaker) excluded(err error) bool {
	if ended, ok := err.(*endedError); ok {
		return errors.Is(ended.end, context.Canceled) || b.options.Hang < 0 || ended.after < b.options.Hang
	}
	v := batch.VerdictOf(err)
	return v.Permanent || v.Outcome != batch.Pending
}

// endedError is the error of a record whose context has ended.
type endedError struct {
	err   error
	end   error // the error of the context
	after time.Duration
}

func (e *endedError) Error() string { return e.err.Error() }
func (e *endedError) Unwrap() error { return e.err }
