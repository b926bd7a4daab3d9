// Package breaker spares a dependency that is down, and the records that need it:
// a circuit breaker of github.com/sony/gobreaker around a handler.
//
//	handler.Run(batch.Chain(batch.JSON(shipOrder), breaker.New(gobreaker.Settings{
//		Name:    "carrier",
//		Timeout: 2 * time.Minute,
//	})))
//
// While the breaker is open no record reaches the handler. The first that comes
// makes it and what was not started yet come back when the breaker tries again
// (batch.Abort). Then MaxRequests records are let through, those beside them come
// back a little later, and their outcome closes the breaker or opens it again.
//
// Coming back costs a record an attempt. It comes back after the time until the
// breaker tries again, or after its backoff if that is longer, so that a record
// outlives an outage of 15 minutes with any Timeout (partialfailure.Config.Outage).
//
// What counts:
//
//   - nil is a success;
//   - an error, a panic and runtime.Goexit are failures, and so is what makes
//     Classify, IsSuccessful or IsExcluded panic;
//   - a permanent or malformed record is neither: it tells of the record. Where
//     a classifier makes it permanent, give the breaker the same, see [Options];
//   - a record whose context ended before it was done is a failure if it had
//     run for [Options.Hang], since dependencies that hang are worse than those
//     that answer with errors. Cut sooner it is neither: there was little time
//     left, or a container is stopped. That is decided when the context ends,
//     so that a handler which never returns holds no place of a half-open breaker.
//
// IsSuccessful and IsExcluded of gobreaker's settings replace the first three,
// or all of it. A breaker counts for one process: each execution environment or
// task has its own.
package breaker

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/sony/gobreaker/v2"
	"github.com/sqsbatch/sqsbatch/batch"
)

// Options are what [NewWith] takes. The zero value is good.
type Options struct {
	// Classify is asked about an error before it is counted: the one that is also
	// handler.Config.Classify, whose verbs the breaker does not see otherwise.
	// Defaults to none.
	Classify func(error) error

	// Hang is how long a record must have run for the end of its context to count
	// as a failure; negative for never. Where records have less time than that, by
	// RecordTimeout or the function's timeout, no hang counts: set it lower then.
	// Defaults to 5 s.
	Hang time.Duration
}

const (
	defaultHang    = 5 * time.Second
	defaultTimeout = time.Minute // gobreaker's

	// What comes while others are tried comes back after a tenth of the timeout
	// within these bounds, or as long as they have been tried already.
	minProbe = time.Second
	maxProbe = 10 * time.Second
)

// ErrUnfinished is what is counted of a handler that panicked or called runtime.Goexit.
var ErrUnfinished = errors.New("breaker: the handler did not return")

// New returns middleware with a breaker of its own; all handlers that it wraps
// share that. Without a handler there is none: what runs handlers refuses the
// nil that it returns then.
func New(settings gobreaker.Settings) func(batch.Handler) batch.Handler {
	return NewWith(settings, Options{})
}

// NewWith is [New] with options.
func NewWith(settings gobreaker.Settings, o Options) func(batch.Handler) batch.Handler {
	b := newBreaker(settings, o)
	around := func(h batch.Handler) batch.Handler {
		return batch.HandlerFunc(func(ctx context.Context, r batch.Record) error { return b.handle(ctx, r, h) })
	}
	return func(h batch.Handler) batch.Handler { return batch.Chain(h, around) }
}

type breaker struct {
	circuit *gobreaker.TwoStepCircuitBreaker[struct{}]
	options Options
	name    string
	timeout time.Duration
	changed atomic.Pointer[time.Time] // the latest change of the state
}

func newBreaker(settings gobreaker.Settings, o Options) *breaker {
	if o.Hang == 0 {
		o.Hang = defaultHang
	}
	b := &breaker{options: o, name: settings.Name, timeout: settings.Timeout}
	if b.timeout <= 0 {
		b.timeout = defaultTimeout
	}
	if settings.IsExcluded == nil {
		settings.IsExcluded = b.excluded
	}
	settings.IsExcluded, settings.IsSuccessful = harmless(settings.IsExcluded), harmless(settings.IsSuccessful)
	told := settings.OnStateChange
	settings.OnStateChange = func(name string, from, to gobreaker.State) { // under the circuit's lock
		now := time.Now()
		b.changed.Store(&now)
		if told != nil {
			told(name, from, to)
		}
	}
	b.circuit = gobreaker.NewTwoStepCircuitBreaker[struct{}](settings)
	return b
}

// harmless makes a panic a no, as those of an error's methods are that is a nil
// pointer: it would leave a record uncounted, and a half-open breaker would stay half-open forever.
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
		defer func() { _ = recover() }() // of OnStateChange and ReadyToTrip: here a panic would end the process
		count(ctx.Err())
	})
	defer stop()
	returned := false
	defer func() {
		if !returned { // nothing is recovered, so that the engine finds the stack as it is
			count(ErrUnfinished)
		}
	}()
	err = h.Handle(ctx, r)
	returned = true
	count(err)
	return err
}

// judged is err as it is counted.
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

// delay is after how long a record that was not let through shall come back.
func (b *breaker) delay(why error) time.Duration {
	since := b.timeout // without a change, which does not happen
	if at := b.changed.Load(); at != nil {
		since = time.Since(*at)
	}
	if errors.Is(why, gobreaker.ErrOpenState) {
		// A moment later than the breaker's timeout, which must be over, not reached.
		return max(b.timeout-since, 0) + time.Millisecond
	}
	probe := min(max(b.timeout/10, minProbe), maxProbe)
	return min(max(since, probe), max(b.timeout, minProbe))
}

func (b *breaker) named(err error) error {
	if errors.Is(err, gobreaker.ErrTooManyRequests) {
		err = fmt.Errorf("half-open, others are tried first: %w", err) // gobreaker's words alone read like a 429
	}
	if b.name == "" {
		return fmt.Errorf("breaker: %w", err)
	}
	return fmt.Errorf("breaker %q: %w", b.name, err)
}

// excluded is what is neither a success nor a failure.
func (b *breaker) excluded(err error) bool {
	if ended, ok := err.(*endedError); ok {
		return errors.Is(ended.end, context.Canceled) || b.options.Hang < 0 || ended.after < b.options.Hang
	}
	v := batch.VerdictOf(err)
	return v.Permanent || v.Duplicate || v.InProgress
}

// endedError is the error of a record whose context has ended.
type endedError struct {
	err   error
	end   error // the context's
	after time.Duration
}

func (e *endedError) Error() string { return e.err.Error() }
func (e *endedError) Unwrap() error { return e.err }
