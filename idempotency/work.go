package idempotency

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"sync"
	"sync/atomic"
	"time"

	"github.com/sqsbatch/sqsbatch/batch"
	"github.com/sqsbatch/sqsbatch/internal/ctxkey"
	"github.com/sqsbatch/sqsbatch/internal/runner"
)

// work is the work of a record with a claimed key.
type work struct {
	*guard
	claim  Claim
	result []byte // to keep with the completion; owned by the handler's goroutine

	mu    sync.Mutex // guards the next four
	until time.Time  // end of the claim
	over  bool       // the handler has returned
	lost  bool       // another worker has the claim
	timer *time.Timer

	commit atomic.Uint32 // state of the handler's own commit, see Held
}

// do calls the handler, and completes or releases the claim.
func (w *work) do(ctx context.Context, r batch.Record) error {
	own := ctxkey.With(ctx, ctxkey.Claim{}, w)
	if !w.lasts(ctx) {
		var cancel context.CancelCauseFunc
		own, cancel = context.WithCancelCause(own)
		defer cancel(context.Canceled)
		w.renewIn(own, time.Until(w.until)-w.claim.Lease*2/3, cancel)
	}
	returned := false
	defer func() {
		if !returned { // a panic, or Goexit
			w.stop()
			w.release(ctx)
		}
	}()
	err := w.next.Handle(own, r)
	done := w.judge(ctx, r, err) // calls methods of the user's error, which may panic
	returned = true
	lost := w.stop()
	switch {
	case w.commit.Load() == committed && errors.Is(err, errCommittedInChunk):
		return batch.ErrDuplicate // of its own work
	case w.commit.Load() == committed:
		return err
	case done:
		return w.complete(ctx, lost, err)
	default:
		w.release(ctx)
		return err
	}
}

// judge reports whether the claim becomes a completion: the handler succeeded, returned
// [batch.ErrDuplicate], or failed permanently and Config.KeepPermanent is set. In the last case
// it sets the failure as the result.
func (w *work) judge(ctx context.Context, r batch.Record, err error) bool {
	if err == nil {
		return true
	}
	verdict := batch.VerdictOf(err)
	if w.cfg.KeepPermanent {
		permanent := verdict.Permanent
		if view, ok := runner.From(ctx); ok {
			permanent = view.Permanent(err) // also by Config.Classify
		}
		if permanent {
			w.result = failure{r.MessageID, err.Error()}.kept()
			return true
		}
	}
	return verdict.Outcome == batch.Duplicate
}

// holds reports whether w is the work of key in store.
func (w *work) holds(store Store, key string) bool { return w.claim.Key == key && w.in(store) }

// in reports whether the claim is in a store.
func (w *work) in(store Store) bool {
	return reflect.ValueOf(store).Kind() == reflect.Pointer && w.store == store
}

// stop ends the renewals, and reports whether another worker has the claim.
func (w *work) stop() (lost bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.over = true
	if w.timer != nil {
		w.timer.Stop()
	}
	return w.lost
}

// renewIn schedules a renewal of the claim after d. If renewals fail, cancel ends the handler's
// context before other workers can claim the key.
func (w *work) renewIn(ctx context.Context, d time.Duration, cancel context.CancelCauseFunc) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.over || w.lost {
		return
	}
	w.timer = time.AfterFunc(d, func() { w.renew(ctx, cancel) })
}

func (w *work) renew(ctx context.Context, cancel context.CancelCauseFunc) {
	if ctx.Err() != nil {
		return // the record's time is over: the claim ends by itself
	}
	lease := w.lease(ctx, w.claim.Lease)
	ends := w.until.Add(-min(w.cfg.Grace, w.claim.Lease/4)) // only this chain of timers writes until
	call, stop := context.WithDeadline(ctx, ends)
	began := time.Now()
	err := w.store.Renew(call, w.claim.Key, w.claim.Owner, lease)
	if errors.Is(err, ErrNotOwner) && w.commit.Load() == notCommitted && !w.isOver() {
		if err = w.claimAgain(call, lease); err == nil && w.isOver() { // released before the new claim
			w.release(ctx)
		}
	}
	stop()
	switch {
	case err == nil:
		if w.until = began.Add(lease); !w.lasts(ctx) {
			w.renewIn(ctx, lease/3, cancel)
		}
	case w.commit.Load() == committed:
		// The claim is a completion now, which cannot be renewed.
	case w.commit.Load() == committing:
		w.renewIn(ctx, w.claim.Lease/12, cancel) // the commit decides who has the claim
	case errors.Is(err, ErrNotOwner) || !time.Now().Before(ends):
		w.mu.Lock()
		w.lost = errors.Is(err, ErrNotOwner)
		w.mu.Unlock()
		cancel(fmt.Errorf("%w: %w", ErrTakenOver, err))
	default:
		w.renewIn(ctx, min(w.claim.Lease/12, time.Until(ends)), cancel)
	}
}

// claimAgain claims the key once more after the store lost the claim, as Redis does when memory
// is short. It returns ErrNotOwner if another worker has claimed or completed the key.
func (w *work) claimAgain(ctx context.Context, lease time.Duration) error {
	again := w.claim
	again.Lease = lease
	found, err := w.store.Claim(ctx, again)
	if err == nil && found.State != Claimed {
		err = ErrNotOwner
	}
	return err
}

// isOver reports whether the handler has returned, so that its claim may be released.
func (w *work) isOver() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.over
}

// lasts reports whether the claim needs no renewal: it lasts until the record's deadline plus
// the grace.
func (w *work) lasts(ctx context.Context) bool {
	deadline, ok := ctx.Deadline()
	return ok && !deadline.Add(w.cfg.Grace).After(w.until)
}

// complete completes the claim. err is the handler's error, which it returns on success.
func (w *work) complete(ctx context.Context, lost bool, err error) error {
	if !lost {
		ctx, stop := context.WithTimeout(context.WithoutCancel(ctx), endTimeout)
		defer stop()
		failure := w.store.Complete(ctx, w.claim.Key, w.claim.Owner, w.completion())
		if errors.Is(failure, ErrNotOwner) {
			if failure = w.claimAgain(ctx, w.claim.Lease); failure == nil {
				failure = w.store.Complete(ctx, w.claim.Key, w.claim.Owner, w.completion())
			}
		}
		switch {
		case failure == nil:
			return err
		case !errors.Is(failure, ErrNotOwner):
			// The work is done: a retry would do it again.
			runner.Warn(ctx, batch.Warning{Message: "the record was handled, and the idempotency store did not answer: a duplicate will be handled again", Err: failure})
			return err
		}
	}
	return w.takenOver(ctx, othersClaim)
}

func (w *work) completion() Completion {
	return Completion{Result: w.result, Content: w.claim.Content, Remember: w.cfg.Remember}
}

const (
	othersClaim = "another worker has taken over the record's claim in the idempotency store: the handler took longer than its claim, or the store lost it. " +
		"Raise Lease, make the handler follow its context, or see that the store evicts no keys"
	noCommitNow = "nothing was committed: another worker has taken over the record's claim in the idempotency store, " +
		"or the work was committed before and the answer to that was lost. The record comes back, and is then a duplicate if the work was done"
)

// takenOver warns, and returns the error of a record whose claim was lost.
func (w *work) takenOver(ctx context.Context, warning string) error {
	runner.Warn(ctx, batch.Warning{Message: warning})
	return batch.RetryAfter(w.claim.Lease, fmt.Errorf("%w: %w", batch.ErrInProgress, ErrTakenOver))
}

// release releases the claim after a failure. If the release fails, the claim ends by itself.
func (w *work) release(ctx context.Context) {
	ctx, stop := context.WithTimeout(context.WithoutCancel(ctx), endTimeout)
	defer stop()
	if err := w.store.Release(ctx, w.claim.Key, w.claim.Owner); err != nil && !errors.Is(err, ErrNotOwner) {
		runner.Warn(ctx, batch.Warning{Message: "a failed record's claim in the idempotency store could not be released: the record waits until the claim ends", Err: err})
	}
}
