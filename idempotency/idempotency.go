// Package idempotency does the work of a record once, although SQS delivers at least once and
// producers may send the same message again.
//
//	store := dynamostore.New(client, "idempotency")
//	handler.Run(batch.Chain(batch.JSON(shipOrder), idempotency.New(store, idempotency.Config{
//		Key: idempotency.Field("id"),
//	})))
//
// Before the handler is called, the middleware claims the record's key in a [Store]. When
// the handler returns nil, the claim becomes a completion, which the store keeps for
// [Config.Remember]. The state of the key decides:
//
//   - free: the handler is called. A failure, or a panic, releases the key;
//   - completed: the record is deleted without a call of the handler. The outcome is
//     [batch.Duplicate];
//   - claimed by another worker: SQS delivers the record again when that claim ends. The
//     outcome is [batch.InProgress], which is not a failure. At the last attempt the record
//     waits until its own deadline instead, so that waiting alone makes no dead letter.
//
// # What is guaranteed
//
// Every claim has its own owner, and the store completes, renews and releases a claim only for
// its owner. Therefore a slow worker that has lost its claim cannot delete or overwrite the
// completion of the worker that took over.
//
// No other worker can claim the key while a claim lasts. A claim lasts until the record's
// deadline plus [Config.Grace], or for [Config.Lease] if that is shorter, and is then renewed
// while the handler runs. If a claim cannot be renewed, the handler's context ends before the
// claim does. The clocks of two workers may differ by Grace.
//
// Not guaranteed: if a process is killed between an effect of the handler and the completion,
// the next delivery repeats the effect. Make such an effect idempotent itself, or commit it
// together with the completion, as package sqlstore does.
//
// Cost: two writes for a new record, one for a duplicate. Records of a batch claim concurrently.
package idempotency

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"time"

	"github.com/sqsbatch/sqsbatch/batch"
	"github.com/sqsbatch/sqsbatch/internal/ctxkey"
	"github.com/sqsbatch/sqsbatch/internal/runner"
	"github.com/sqsbatch/sqsbatch/internal/sleep"
	"github.com/sqsbatch/sqsbatch/internal/wrapped"
)

// Config configures [New]. Key is required. Other fields may be zero.
type Config struct {
	// Key returns the identity of a record's work, as [Field] and [KeyOf] do. Required. A
	// record without a key is a permanent failure, see [ErrNoKey].
	Key KeyFunc

	// Prefix separates the keys of different functions. Functions that do the same work, such
	// as a Lambda function and the container that replaces it, need the same prefix. Defaults
	// to the name of the record's queue. Functions for different kinds of records of one queue
	// need different prefixes, or the kind in the key, see [Keys].
	Prefix string

	// Hash returns the stored form of a key. Defaults to [SHA256], so that the store has
	// nothing of a body. [Plain] stores keys as they are. [PowertoolsPython] and
	// [PowertoolsTypeScript] are for tables shared with functions in other languages.
	Hash func(key string) string

	// Content returns the part of a record that must be equal for equal keys, such as [Body].
	// A record with a known key and different content is a permanent failure, see
	// [ErrDifferentContent]. The store has the SHA-256 of the content. Defaults to no
	// comparison.
	Content KeyFunc

	// Remember is how long a completion is kept, at least 1 s. Defaults to 15 days, which is
	// longer than SQS keeps a message. A replayed dead letter is a new message.
	Remember time.Duration

	// Lease is the longest time that a claim lasts without renewal, at least 1 s. A claim is
	// renewed after a third of it. After a process was killed, other workers can claim its
	// keys when the lease ends. Defaults to the rest of the record's visibility timeout in a
	// container with heartbeats, and to the record's deadline on Lambda.
	Lease time.Duration

	// Grace is added to the record's deadline, for handlers that return late and clocks that
	// differ. Defaults to 1 s.
	Grace time.Duration

	// KeepPermanent completes the key of a record that failed permanently, so that duplicates
	// of the record, including replayed dead letters, make no further dead letters. If the
	// record itself is delivered again, because it could not be dead-lettered, it fails again
	// without a call of the handler. Both have a [FailedError] with the text of the failure,
	// of which the store keeps the first 1,000 bytes. Defaults to false: the key is released.
	KeepPermanent bool

	// OnDuplicate is called for a duplicate, instead of the handler, with the result that
	// [Keep] kept; nil if there is none. Its error becomes the record's. See [Kept] for
	// decoded results. Defaults to none.
	OnDuplicate func(ctx context.Context, r batch.Record, result []byte) error

	// ProceedWithoutKey calls the handler for records without a key, without protection
	// against duplicates. Defaults to false: a permanent failure.
	ProceedWithoutKey bool

	// ProceedWithoutStore calls the handler when the store does not answer, with a warning and
	// without protection against duplicates. Defaults to false: a failure, which is retried
	// with backoff.
	ProceedWithoutStore bool
}

const (
	defaultRemember = 15 * 24 * time.Hour
	defaultGrace    = time.Second
	// endTimeout is the timeout of calls that end a claim, and the longest of a claim.
	endTimeout = 5 * time.Second
	// unansweredTimeout is the timeout of releaseUnanswered. It is less than the time that
	// handlers have after the end of their context, which is 1 s by default.
	unansweredTimeout = 500 * time.Millisecond
	// plainLease is the lease of a record without a runner and without a deadline.
	plainLease = time.Minute
	// shortLease is the shortest default lease in a container, if little is left of the
	// visibility timeout.
	shortLease = time.Second
)

var errSlow = errors.New("the store takes longer to answer than half of the claim's lease")

// Errors of records.
var (
	// ErrNoKey is returned, wrapped, when a record has no key.
	ErrNoKey = errors.New("idempotency: the record has no key")
	// ErrDifferentContent is returned, wrapped, when the record's key was used with different
	// content, see [Config.Content].
	ErrDifferentContent = errors.New("idempotency: the key was used with a different content")
	// ErrTakenOver is the cause of the handler's context (context.Cause) when the claim was
	// lost. It is returned, wrapped with [batch.ErrInProgress], when the handler succeeds
	// after that.
	ErrTakenOver = errors.New("idempotency: the claim was lost, another worker may be doing the work")
)

// check returns an error that names every field that is missing or out of its bounds.
func (c *Config) check() error {
	var errs []error
	if c.Key == nil {
		errs = append(errs, errors.New("idempotency: Key is nil: say what identifies a record's work, for example idempotency.Field(\"id\")"))
	}
	for _, f := range []struct {
		name  string
		value time.Duration
		least time.Duration
	}{{"Remember", c.Remember, time.Second}, {"Lease", c.Lease, time.Second}, {"Grace", c.Grace, 0}} {
		if f.value != 0 && f.value < f.least {
			errs = append(errs, fmt.Errorf("idempotency: %s is %v, must be at least %v", f.name, f.value, f.least))
		}
	}
	return errors.Join(errs...)
}

// New returns middleware that does the work of a record once. The program that runs the handler
// reports an invalid configuration when it starts.
//
// With a handler of package bulk, use [batch.Chain], not bulk.Config.Unwrap: there the
// middleware would release the claims of a FIFO group's records before they are written.
func New(store Store, c Config) func(batch.Handler) batch.Handler {
	c.Remember, c.Grace = cmp.Or(c.Remember, defaultRemember), cmp.Or(c.Grace, defaultGrace)
	if c.Hash == nil {
		c.Hash = SHA256
	}
	around := func(h batch.Handler) batch.Handler { return &guard{store, c, h} }
	return func(h batch.Handler) batch.Handler { return batch.Chain(h, around) }
}

// guard is the middleware's handler. It calls next once for a key.
type guard struct {
	store Store
	cfg   Config
	next  batch.Handler
}

// Validate reports an invalid configuration, see [batch.Handler].
func (g *guard) Validate() error {
	if wrapped.IsNilPointer(g.store) {
		return errors.Join(errors.New("idempotency: the store is nil"), g.cfg.check())
	}
	return errors.Join(wrapped.Validate(g.store), g.cfg.check())
}

// Handle implements [batch.Handler].
func (g *guard) Handle(ctx context.Context, r batch.Record) error {
	c := Claim{Owner: rand.Text(), Remember: g.cfg.Remember}
	var err error
	switch c.Key, c.Content, err = g.cfg.identify(ctx, &r); {
	case errors.Is(err, ErrNoKey) && g.cfg.ProceedWithoutKey:
		return g.next.Handle(ctx, r)
	case err != nil:
		return err
	}
	if outer, ok := ctx.Value(ctxkey.Claim{}).(*work); ok && outer.holds(g.store, c.Key) {
		return g.next.Handle(ctx, r) // inside the middleware for the same key
	}
	found, until, err := g.claim(ctx, &c)
	switch {
	case err != nil && g.cfg.ProceedWithoutStore && ctx.Err() == nil:
		runner.Warn(ctx, batch.Warning{Message: "the idempotency store does not answer: the record is handled without protection against duplicates", Err: err})
		return g.next.Handle(ctx, r)
	case err != nil:
		if _, late := errors.AsType[lateError](err); late {
			g.releaseUnanswered(ctx, &c)
		}
		if ctx.Err() == nil {
			err = errors.New(err.Error()) // Config.Classify judges the handler's errors, not the store's
		}
		return fmt.Errorf("idempotency: claiming the record's key: %w", err)
	case found.State != Claimed && c.Content != "" && found.Content != "" && found.Content != c.Content:
		return batch.Permanent(ErrDifferentContent)
	case found.State == Completed:
		return g.completed(ctx, r, found.Result)
	case found.State == InProgress:
		// A second more: if the claim ended just after the next receive, the record would need
		// another attempt.
		return batch.RetryAfter(found.Left+time.Second, batch.ErrInProgress)
	}
	w := &work{guard: g, claim: c, until: until}
	return w.do(ctx, r)
}

// completed returns the error of a record whose key was completed with result.
func (g *guard) completed(ctx context.Context, r batch.Record, result []byte) error {
	duplicate := batch.ErrDuplicate
	if f, failed := failureIn(result); failed {
		if f.MessageID == r.MessageID {
			return batch.Permanent(&FailedError{Text: f.Text})
		}
		result, duplicate = nil, &FailedError{f.Text, batch.ErrDuplicate}
	}
	if g.cfg.OnDuplicate != nil {
		if err := g.cfg.OnDuplicate(ctx, r, result); err != nil {
			return err
		}
	}
	return duplicate
}

// claim claims a key, and returns the earliest end of the claim. At the record's last attempt
// it waits for the end of another worker's claim.
func (g *guard) claim(ctx context.Context, c *Claim) (found Found, until time.Time, err error) {
	for pause := firstPause; ; pause = min(2*pause, lastPause) {
		if found, until, err = g.claimOnce(ctx, c); err != nil || found.State != InProgress || !lastAttempt(ctx) {
			return found, until, err
		}
		wait := min(pause, found.Left+time.Millisecond)
		if deadline, ok := ctx.Deadline(); ok {
			left := time.Until(deadline)
			if wait = min(wait, left/2); left < 2*firstPause {
				return found, until, nil
			}
		}
		if !sleep.For(ctx, wait) {
			return found, until, nil
		}
	}
}

// claimOnce claims a key. If the store answers so late that less than half of the lease is
// left, it claims once more.
func (g *guard) claimOnce(ctx context.Context, c *Claim) (found Found, until time.Time, err error) {
	for range 2 {
		c.Lease = g.lease(ctx, g.longest(ctx))
		// The store may make the claim at any moment of the call. The earliest end of the
		// claim counts from the first moment.
		until = time.Now().Add(c.Lease)
		call, stop := context.WithTimeout(ctx, min(endTimeout, c.Lease/2)) // the store may hang
		found, err = g.store.Claim(call, *c)
		if err != nil && call.Err() != nil {
			err = lateError{err}
		}
		stop()
		deadline, ok := ctx.Deadline()
		if err != nil || found.State != Claimed || ok && !deadline.After(until) || time.Until(until) > c.Lease/2 {
			return found, until, err
		}
	}
	return Found{}, until, lateError{errSlow}
}

// lateError is the error of a claim without an answer in time: the store may have made it.
type lateError struct{ error }

func (e lateError) Unwrap() error { return e.error }

// releaseUnanswered releases a claim that had no answer in time, before the record's deadline.
// If the claim was made and is not released, the record's own retry waits until the claim ends.
func (g *guard) releaseUnanswered(ctx context.Context, c *Claim) {
	call, stop := context.WithTimeout(context.WithoutCancel(ctx), unansweredTimeout)
	defer stop()
	if deadline, ok := ctx.Deadline(); ok {
		call, stop = context.WithDeadline(call, deadline)
		defer stop()
	}
	_ = g.store.Release(call, c.Key, c.Owner)
}

// Pauses between two tries to claim a key of another worker, at a record's last attempt.
const (
	firstPause = 200 * time.Millisecond
	lastPause  = 5 * time.Second
)

func lastAttempt(ctx context.Context) bool {
	view, ok := runner.From(ctx)
	return ok && view.LastAttempt()
}

// longest returns the longest lease: Config.Lease, or its default; 0 for no limit.
func (g *guard) longest(ctx context.Context) time.Duration {
	if view, ok := runner.From(ctx); ok && g.cfg.Lease == 0 {
		if left := view.HiddenFor(); left != 0 {
			return max(left, shortLease)
		}
	}
	return g.cfg.Lease
}

// lease returns the lease of a claim or renewal: most, unless that is 0, but not beyond the
// record's deadline plus the grace.
func (g *guard) lease(ctx context.Context, most time.Duration) time.Duration {
	deadline, ok := ctx.Deadline()
	if !ok {
		return cmp.Or(most, plainLease)
	}
	left := max(0, time.Until(deadline)) + g.cfg.Grace
	return min(cmp.Or(most, left), left)
}
