// Package idempotency has the work of a record done once, although SQS delivers at least
// once and senders repeat themselves.
//
//	store := dynamostore.New(client, "idempotency")
//	handler.Run(batch.Chain(batch.JSON(shipOrder), idempotency.New(store, idempotency.Config{
//		Key: idempotency.Field("id"),
//	})))
//
// Before the handler is called, the middleware claims the record's key in a [Store]. When
// the handler returns nil, the claim becomes a completion, which is remembered for
// [Config.Remember]. What becomes of a record:
//
//   - its key is free: the handler is called. A failure, or a panic, releases the key;
//   - its key was completed: the record is deleted and the handler is not called. The
//     outcome is [batch.Duplicate];
//   - another worker holds its key: the record comes back when that claim ends. The outcome
//     is [batch.InProgress], which is no failure. At its last attempt the record waits within
//     its own time instead, so that waiting alone makes no dead letter.
//
// # What is guaranteed
//
// Every claim has an owner of its own, and the store completes, renews and releases a claim
// for its owner only. A worker that was too slow and has lost its claim can therefore change
// nothing any more: it cannot delete or overwrite the completion of the worker that took over.
//
// While a claim is held, no other worker is let in. A claim lasts until the record's deadline
// plus [Config.Grace], or for [Config.Lease] if that is shorter, and is then renewed while the
// handler runs. A worker that cannot renew its claim has its context ended before the claim
// does. The clocks of two workers may differ by Grace.
//
// What is not guaranteed: a process that is killed between an effect of the handler and its
// completion has done the effect, and the next delivery does it again. Make such an effect
// idempotent itself, or let it commit together with the completion, as package sqlstore does.
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

// Config says what identifies the work of a record, and what becomes of the rest. The zero
// value of every field but Key is good.
type Config struct {
	// Key returns what identifies a record's work, as [Field] and [KeyOf] do. Required. A
	// record without a key is a permanent failure, see [ErrNoKey].
	Key KeyFunc

	// Prefix keeps the keys of different functions apart. Functions that do the same work,
	// say a Lambda function and the container that replaces it, need the same one. Defaults
	// to the name of the record's queue: functions for several kinds of records of one queue
	// need one each, or the kind in their key, see [Keys].
	Prefix string

	// Hash makes of a key what is stored of it. Defaults to [SHA256], so that nothing of a
	// body is in the store. [Plain] stores keys as they are. [PowertoolsPython] and
	// [PowertoolsTypeScript] are for tables that functions of other languages share.
	Hash func(key string) string

	// Content returns what must be the same in all records with the same key, as [Body]
	// does. A record with the key of another and a different content is a permanent failure,
	// see [ErrDifferentContent]. The store has its SHA-256. Defaults to no comparison.
	Content KeyFunc

	// Remember is for how long a completion is remembered. Defaults to 15 days, which is
	// longer than SQS keeps one message. A dead letter that is replayed is a new message.
	Remember time.Duration

	// Lease is how long a claim lasts at most without being renewed. It is renewed when a
	// third is over. A shorter one lets others in sooner after a process was killed. Defaults
	// to what is left of the record's visibility timeout in a container with heartbeats, and
	// to no limit but the record's deadline on Lambda. At least 1 s.
	Lease time.Duration

	// Grace is added to the record's deadline, for handlers that end late and clocks that
	// differ. Defaults to 1 s.
	Grace time.Duration

	// KeepPermanent completes the key of a record that failed permanently, so that its
	// duplicates make no further dead letters. A dead letter that is replayed is then a
	// duplicate, too, and does nothing. The record itself is none: if it comes back, since
	// it could not be dead-lettered, it fails again without a call of the handler. Both have
	// a [FailedError] with the text of the failure, of which the store keeps the first 1,000
	// bytes. Defaults to releasing it.
	KeepPermanent bool

	// OnDuplicate is called for a duplicate, in place of the handler, with what [Keep] has
	// kept; nil if that was nothing. Its error is the record's. See [Kept] for results of a
	// type. Defaults to nothing.
	OnDuplicate func(ctx context.Context, r batch.Record, result []byte) error

	// ProceedWithoutKey calls the handler for records without a key, which are then not
	// protected. Defaults to a permanent failure.
	ProceedWithoutKey bool

	// ProceedWithoutStore calls the handler when the store does not answer, which is then not
	// protected, and warns. Defaults to a failure, which is retried with backoff.
	ProceedWithoutStore bool
}

const (
	defaultRemember = 15 * 24 * time.Hour
	defaultGrace    = time.Second
	// endTimeout bounds the calls that end a claim.
	endTimeout = 5 * time.Second
	// giveBackTimeout bounds the call that gives back a claim without an answer. It is less
	// than handlers may still run after their context has ended, which is 1 s by default.
	giveBackTimeout = 500 * time.Millisecond
	// plainLease is the lease of a record that no runner handles and that has no deadline.
	plainLease = time.Minute
	// shortLease is the shortest lease that a container takes from the visibility timeout,
	// where little is left of that.
	shortLease = time.Second
)

var errSlow = errors.New("the store takes longer to answer than half of the claim's lease")

// Errors of records.
var (
	// ErrNoKey is wrapped by the error of a record that has no key.
	ErrNoKey = errors.New("idempotency: the record has no key")
	// ErrDifferentContent is wrapped by the error of a record whose key was used with a
	// different content, see [Config.Content].
	ErrDifferentContent = errors.New("idempotency: the key was used with a different content")
	// ErrTakenOver is the cause (context.Cause) with which the context of a handler ends
	// whose claim was lost, and is wrapped, with [batch.ErrInProgress], by the error of a
	// record whose handler succeeded after that.
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

// New returns middleware that has the work of a record done once. What is wrong with the
// configuration ends the start of whatever runs the handler.
//
// Around a handler of package bulk it goes by [batch.Chain], not into bulk.Config.Unwrap: there
// it would release the claims of a FIFO group's records before they are written.
func New(store Store, c Config) func(batch.Handler) batch.Handler {
	c.Remember, c.Grace = cmp.Or(c.Remember, defaultRemember), cmp.Or(c.Grace, defaultGrace)
	if c.Hash == nil {
		c.Hash = SHA256
	}
	around := func(h batch.Handler) batch.Handler { return &guard{store, c, h} }
	return func(h batch.Handler) batch.Handler { return batch.Chain(h, around) }
}

// guard is a handler that is called once for a key.
type guard struct {
	store Store
	cfg   Config
	next  batch.Handler
}

// Validate implements what [batch.Handler] says of it.
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
		return g.next.Handle(ctx, r) // it is in the middle of this work
	}
	found, until, err := g.claim(ctx, &c)
	switch {
	case err != nil && g.cfg.ProceedWithoutStore && ctx.Err() == nil:
		runner.Warn(ctx, batch.Warning{Message: "the idempotency store does not answer: the record is handled without protection against duplicates", Err: err})
		return g.next.Handle(ctx, r)
	case err != nil:
		if _, late := errors.AsType[lateError](err); late {
			g.giveBack(ctx, &c)
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
		// A second more: a claim that ends while the record is received would cost an attempt.
		return batch.RetryAfter(found.Left+time.Second, batch.ErrInProgress)
	}
	w := &work{guard: g, claim: c, until: until}
	return w.do(ctx, r)
}

// completed ends a record whose key was completed with a result.
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

// claim claims a key, and returns until when the claim lasts at least. At the record's
// last attempt it waits for another's claim to end.
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

// claimOnce claims a key. Where the store takes so long to answer that little is left of
// the claim, it claims once more.
func (g *guard) claimOnce(ctx context.Context, c *Claim) (found Found, until time.Time, err error) {
	for range 2 {
		c.Lease = g.lease(ctx, g.longest(ctx))
		// The store may make the claim at any moment of the call. The lease keeps other
		// workers out at least until this time, which counts from the first moment.
		until = time.Now().Add(c.Lease)
		call, stop := context.WithTimeout(ctx, min(endTimeout, c.Lease/2)) // a store that hangs
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

// lateError is the error of a claim that had no answer in time: it may have been made.
type lateError struct{ error }

func (e lateError) Unwrap() error { return e.error }

// giveBack releases a claim that had no answer in time, within the record's time. If it was
// made and is not released, the record's own retry waits until the claim ends.
func (g *guard) giveBack(ctx context.Context, c *Claim) {
	call, stop := context.WithTimeout(context.WithoutCancel(ctx), giveBackTimeout)
	defer stop()
	if deadline, ok := ctx.Deadline(); ok {
		call, stop = context.WithDeadline(call, deadline)
		defer stop()
	}
	_ = g.store.Release(call, c.Key, c.Owner)
}

// Between two looks at a key that another worker holds, at a record's last attempt.
const (
	firstPause = 200 * time.Millisecond
	lastPause  = 5 * time.Second
)

func lastAttempt(ctx context.Context) bool {
	view, ok := runner.From(ctx)
	return ok && view.LastAttempt()
}

// longest is how long a claim lasts at most: Config.Lease, or its default; 0 for no limit.
func (g *guard) longest(ctx context.Context) time.Duration {
	if view, ok := runner.From(ctx); ok && g.cfg.Lease == 0 {
		if left := view.HiddenFor(); left != 0 {
			return max(left, shortLease)
		}
	}
	return g.cfg.Lease
}

// lease is for how long a claim that is made or renewed now lasts: for most, unless that is
// 0, but not beyond the record's deadline and the grace.
func (g *guard) lease(ctx context.Context, most time.Duration) time.Duration {
	deadline, ok := ctx.Deadline()
	if !ok {
		return cmp.Or(most, plainLease)
	}
	left := max(0, time.Until(deadline)) + g.cfg.Grace
	return min(cmp.Or(most, left), left)
}
