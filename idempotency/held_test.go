package idempotency_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/sqsbatch/sqsbatch/batch"
	"github.com/sqsbatch/sqsbatch/idempotency"
)

var errWork = errors.New("the work failed")

// commits handles a record once by work, which gets its claim in a store. The claim is renewed.
func commits(t *testing.T, store idempotency.Store, work func(ctx context.Context, held idempotency.Held) error) error {
	t.Helper()
	h := batch.Chain(batch.HandlerFunc(func(ctx context.Context, _ batch.Record) error {
		held, ok := idempotency.HeldFrom(ctx, store)
		if !ok {
			t.Fatal("the handler's context has no claim")
		}
		return work(ctx, held)
	}), idempotency.New(store, idempotency.Config{Key: idempotency.MessageID, Prefix: "p", Hash: idempotency.Plain, Lease: 3 * time.Second}))
	return h.Handle(t.Context(), batch.Record{MessageID: "1"})
}

// completeIn is a commit that does nothing but to complete the key after d.
func completeIn(ctx context.Context, store idempotency.Store, held idempotency.Held, d time.Duration) error {
	return held.Commit(ctx, func(key, owner string, c idempotency.Completion) error {
		time.Sleep(d)
		return store.Complete(ctx, key, owner, c)
	})
}

// stateOf is how the key is.
func stateOf(t *testing.T, store idempotency.Store) idempotency.Found {
	t.Helper()
	found, err := store.Claim(t.Context(), idempotency.Claim{Key: "p#1", Owner: "onlooker", Lease: time.Minute})
	if err != nil {
		t.Fatal(err)
	}
	return found
}

// A completed key cannot be renewed. This must not end the context of a handler that goes on.
func TestHeld_HandlerGoesOnAfterItsCommit(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := idempotency.NewMemory()
		err := commits(t, store, func(ctx context.Context, held idempotency.Held) error {
			if err := idempotency.Keep(ctx, "kept"); err != nil {
				return err
			}
			if err := completeIn(ctx, store, held, 0); err != nil {
				return err
			}
			time.Sleep(time.Minute)
			return ctx.Err()
		})
		if found := stateOf(t, store); err != nil || found.State != idempotency.Completed || string(found.Result) != `"kept"` {
			t.Errorf("%v, the key is %v %s", err, found.State, found.Result)
		}
	})
}

// A commit that takes longer than the claim: renewals meet a completion while it is under way.
func TestHeld_SlowCommit(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := idempotency.NewMemory()
		err := commits(t, store, func(ctx context.Context, held idempotency.Held) error {
			err := held.Commit(ctx, func(key, owner string, c idempotency.Completion) error {
				if err := store.Complete(ctx, key, owner, c); err != nil {
					return err
				}
				time.Sleep(time.Minute) // the answer is late
				return ctx.Err()
			})
			return err
		})
		if found := stateOf(t, store); err != nil || found.State != idempotency.Completed {
			t.Errorf("%v, the key is %v", err, found.State)
		}
	})
}

// After a commit the key stays completed, whatever the handler returns.
func TestHeld_FailureAfterTheCommit(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := idempotency.NewMemory()
		err := commits(t, store, func(ctx context.Context, held idempotency.Held) error {
			return errors.Join(completeIn(ctx, store, held, 0), errWork)
		})
		if found := stateOf(t, store); !errors.Is(err, errWork) || found.State != idempotency.Completed {
			t.Errorf("%v, the key is %v", err, found.State)
		}
	})
}

// A commit that failed leaves the claim, which is renewed until the handler returns.
func TestHeld_CommitFails(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := idempotency.NewMemory()
		err := commits(t, store, func(ctx context.Context, held idempotency.Held) error {
			err := held.Commit(ctx, func(string, string, idempotency.Completion) error { return errWork })
			time.Sleep(time.Minute)
			if found := stateOf(t, store); found.State != idempotency.InProgress || ctx.Err() != nil {
				t.Errorf("the key is %v, the context %v", found.State, ctx.Err())
			}
			return err
		})
		if found := stateOf(t, store); !errors.Is(err, errWork) || found.State != idempotency.Claimed {
			t.Errorf("%v, the key is %v; want it to be released", err, found.State)
		}
	})
}

// A worker whose claim was taken over commits nothing, and its record waits for the other.
func TestHeld_TakenOver(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := idempotency.NewMemory()
		err := commits(t, store, func(ctx context.Context, held idempotency.Held) error {
			return held.Commit(ctx, func(key, owner string, c idempotency.Completion) error {
				if err := store.Release(ctx, key, owner); err != nil {
					return err
				}
				if found := stateOf(t, store); found.State != idempotency.Claimed {
					t.Error(found.State)
				}
				return store.Complete(ctx, key, owner, c)
			})
		})
		if !errors.Is(err, batch.ErrInProgress) || !errors.Is(err, idempotency.ErrTakenOver) {
			t.Errorf("%v, want ErrInProgress and ErrTakenOver", err)
		}
	})
}

func TestHeldFrom_WithoutAClaim(t *testing.T) {
	store := idempotency.NewMemory()
	if _, ok := idempotency.HeldFrom(t.Context(), store); ok {
		t.Error("a context without a handler has a claim")
	}
	_ = commits(t, store, func(ctx context.Context, _ idempotency.Held) error {
		if _, ok := idempotency.HeldFrom(ctx, idempotency.NewMemory()); ok {
			t.Error("the claim is in another store, too")
		}
		return nil
	})
}

// counting counts the calls that end claims.
type counting struct {
	*idempotency.Memory
	ends int
}

func (c *counting) Complete(ctx context.Context, key, owner string, completion idempotency.Completion) error {
	c.ends++
	return c.Memory.Complete(ctx, key, owner, completion)
}

func (c *counting) Release(ctx context.Context, key, owner string) error {
	c.ends++
	return c.Memory.Release(ctx, key, owner)
}

// The second of two commits would be lost if the process is killed between them.
func TestHeld_CommitsOnce(t *testing.T) {
	store := idempotency.NewMemory()
	err := commits(t, store, func(ctx context.Context, held idempotency.Held) error {
		if err := held.Commit(ctx, func(string, string, idempotency.Completion) error { return errWork }); !errors.Is(err, errWork) {
			t.Error(err)
		}
		if err := completeIn(ctx, store, held, 0); err != nil {
			t.Errorf("a commit after one that failed: %v", err)
		}
		return held.Commit(ctx, func(string, string, idempotency.Completion) error {
			t.Error("there is a second commit")
			return nil
		})
	})
	if err == nil {
		t.Error("the second commit has no error")
	}
}

// After a handler's own commit the store is called no more.
func TestHeld_NoCallAfterTheCommit(t *testing.T) {
	for _, end := range []error{nil, errWork, batch.Permanent(errWork)} {
		store := &counting{Memory: idempotency.NewMemory()}
		err := commits(t, store, func(ctx context.Context, held idempotency.Held) error {
			if err := completeIn(ctx, store, held, 0); err != nil {
				return err
			}
			return end
		})
		if !errors.Is(err, end) || store.ends != 1 {
			t.Errorf("%v: %v, the claim was ended by %d calls, want 1", end, err, store.ends)
		}
	}
}
