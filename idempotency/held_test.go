package idempotency_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/sqsbatch/sqsbatch/batch"
	"github.com/sqsbatch/sqsbatch/idempotency"
	"github.com/sqsbatch/sqsbatch/test/random"
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

// complete is a commit that does nothing but to complete the key.
func complete(ctx context.Context, store idempotency.Store, held idempotency.Held) error {
	return held.Commit(func(key, owner string, c idempotency.Completion) error { return store.Complete(ctx, key, owner, c) }, noCommit)
}

func noCommit() error { return nil }

// stateOf is how the key is.
func stateOf(t *testing.T, store idempotency.Store) idempotency.Found {
	t.Helper()
	found, err := store.Claim(t.Context(), idempotency.Claim{Key: "p#1", Owner: "onlooker", Lease: time.Minute})
	if err != nil {
		t.Fatal(err)
	}
	return found
}

func TestHeld_KeyAndErrorAfterCommits(t *testing.T) {
	for name, c := range map[string]struct {
		work  func(t *testing.T, ctx context.Context, store idempotency.Store, held idempotency.Held) error
		want  []error
		state idempotency.State // of the key when the handler has returned
	}{
		// A completed key cannot be renewed. This must not end the context of a handler that goes on.
		"the handler goes on": {func(t *testing.T, ctx context.Context, store idempotency.Store, held idempotency.Held) error {
			if err := complete(ctx, store, held); err != nil {
				return err
			}
			time.Sleep(time.Minute)
			return ctx.Err()
		}, nil, idempotency.Completed},

		// It takes longer than the claim: renewals meet a completion while it is under way.
		"a slow commit": {func(t *testing.T, ctx context.Context, store idempotency.Store, held idempotency.Held) error {
			return held.Commit(func(key, owner string, c idempotency.Completion) error {
				return store.Complete(ctx, key, owner, c)
			}, func() error {
				time.Sleep(time.Minute) // the answer is late
				return ctx.Err()
			})
		}, nil, idempotency.Completed},

		"Keep after the commit": {func(t *testing.T, ctx context.Context, store idempotency.Store, held idempotency.Held) error {
			if err := complete(ctx, store, held); err != nil {
				return err
			}
			if err := idempotency.Keep(ctx, "late"); err == nil {
				t.Error("Keep after the commit has no error")
			}
			return nil
		}, nil, idempotency.Completed},

		"a failure after the commit": {func(t *testing.T, ctx context.Context, store idempotency.Store, held idempotency.Held) error {
			return errors.Join(complete(ctx, store, held), errWork)
		}, []error{errWork}, idempotency.Completed},

		// It leaves the claim, which is renewed until the handler returns, and then released.
		"a commit that fails": {func(t *testing.T, ctx context.Context, store idempotency.Store, held idempotency.Held) error {
			err := held.Commit(func(string, string, idempotency.Completion) error { return errWork }, noCommit)
			time.Sleep(time.Minute)
			if found := stateOf(t, store); found.State != idempotency.InProgress || ctx.Err() != nil {
				t.Errorf("the key is %v, the context %v", found.State, ctx.Err())
			}
			return err
		}, []error{errWork}, idempotency.Claimed},

		// A worker whose claim was taken over commits nothing, and its record waits for the other.
		"taken over": {func(t *testing.T, ctx context.Context, store idempotency.Store, held idempotency.Held) error {
			return held.Commit(func(key, owner string, c idempotency.Completion) error {
				if err := store.Release(ctx, key, owner); err != nil {
					return err
				}
				if found := stateOf(t, store); found.State != idempotency.Claimed {
					t.Error(found.State)
				}
				return store.Complete(ctx, key, owner, c)
			}, noCommit)
		}, []error{batch.ErrInProgress, idempotency.ErrTakenOver}, idempotency.Claimed},
	} {
		inBubble(t, name, func(t *testing.T) {
			store := idempotency.NewMemory()
			err := commits(t, store, func(ctx context.Context, held idempotency.Held) error {
				return errors.Join(idempotency.Keep(ctx, "kept"), c.work(t, ctx, store, held))
			})
			for _, want := range c.want {
				if !errors.Is(err, want) {
					t.Errorf("%v, want %v", err, want)
				}
			}
			found := stateOf(t, store)
			if (err == nil) != (c.want == nil) || found.State != c.state || (string(found.Result) == `"kept"`) != (c.state == idempotency.Completed) {
				t.Errorf("%v, the key is %v %s", err, found.State, found.Result)
			}
		})
	}
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

// The second of two commits would be lost if the process is killed between them.
func TestHeld_CommitsOnce(t *testing.T) {
	store := idempotency.NewMemory()
	err := commits(t, store, func(ctx context.Context, held idempotency.Held) error {
		if err := held.Commit(func(string, string, idempotency.Completion) error { return nil }, func() error { return errWork }); !errors.Is(err, errWork) {
			t.Error(err)
		}
		if err := complete(ctx, store, held); err != nil {
			t.Errorf("a commit after one that failed: %v", err)
		}
		return held.Commit(func(string, string, idempotency.Completion) error {
			t.Error("there is a second commit")
			return nil
		}, noCommit)
	})
	if err == nil {
		t.Error("the second commit has no error")
	}
}

// After a handler's own commit the store is called no more.
func TestHeld_NoCallAfterTheCommit(t *testing.T) {
	for _, end := range []error{nil, errWork, batch.Permanent(errWork)} {
		ends := 0
		store := hooked(idempotency.NewMemory(), func(_ context.Context, c random.StoreCall) error {
			if c.Operation == "Complete" || c.Operation == "Release" {
				ends++
			}
			return nil
		}, nil)
		err := commits(t, store, func(ctx context.Context, held idempotency.Held) error {
			if err := complete(ctx, store, held); err != nil {
				return err
			}
			return end
		})
		if !errors.Is(err, end) || ends != 1 {
			t.Errorf("%v: %v, the claim was ended by %d calls, want 1", end, err, ends)
		}
	}
}
