package idempotency_test

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/sqsbatch/sqsbatch/batch"
	"github.com/sqsbatch/sqsbatch/idempotency"
	"github.com/sqsbatch/sqsbatch/test/random"
)

// worker handles order 1 as one of several processes with the same store.
func worker(store idempotency.Store, c idempotency.Config, do func(ctx context.Context) error) func(ctx context.Context) error {
	c.Key = idempotency.KeyOf(byID)
	h := batch.Chain(batch.JSON(func(ctx context.Context, _ placed) error { return do(ctx) }), idempotency.New(store, c))
	return func(ctx context.Context) error {
		return h.Handle(ctx, batch.Record{Body: order("1"), QueueARN: "arn:aws:sqs:eu-west-1:123456789012:orders"})
	}
}

// inBubble runs a subtest in virtual time.
func inBubble(t *testing.T, name string, test func(t *testing.T)) {
	t.Run(name, func(t *testing.T) { synctest.Test(t, test) })
}

func soon(t *testing.T, d time.Duration) context.Context {
	ctx, cancel := context.WithTimeout(t.Context(), d)
	t.Cleanup(cancel)
	return ctx
}

// Powertools 3.37.0 for Python runs A, B and C here: A's late failure deletes B's completion.
func TestLateEndAfterTakeover_ChangesNothing(t *testing.T) {
	for name, end := range map[string]error{"failure": errors.New("too late"), "success": nil, "permanent": batch.Permanent(nil)} {
		inBubble(t, name, func(t *testing.T) {
			store, runs := idempotency.NewMemory(), ""
			a := worker(store, idempotency.Config{KeepPermanent: true}, func(context.Context) error {
				runs += "A"
				time.Sleep(10 * time.Second) // it ignores its context
				return end
			})
			b := worker(store, idempotency.Config{}, func(ctx context.Context) error {
				runs += "B"
				return idempotency.Keep(ctx, "B's")
			})
			var kept string
			c := worker(store, idempotency.Config{OnDuplicate: idempotency.Kept(func(_ context.Context, s string) error {
				kept = s
				return nil
			})}, func(context.Context) error {
				runs += "C"
				return nil
			})
			late := make(chan error, 1)
			go func() { late <- a(soon(t, time.Second)) }()
			time.Sleep(3 * time.Second) // a second of time, and a second of grace
			synctest.Wait()
			if err := b(soon(t, time.Second)); err != nil {
				t.Errorf("B: %v", err)
			}
			err := <-late
			if v := batch.VerdictOf(err); name != "failure" && (v.Outcome != batch.InProgress || !errors.Is(err, idempotency.ErrTakenOver)) {
				t.Errorf("A, which was late: %v", err)
			}
			if err := c(soon(t, time.Second)); !errors.Is(err, batch.ErrDuplicate) {
				t.Errorf("C: %v", err)
			}
			if runs != "AB" || kept != "B's" {
				t.Errorf("%s have run, kept is %q; want AB and B's", runs, kept)
			}
		})
	}
}

// An abandoned handler that succeeds before anyone else has begun has done the work.
func TestLateSuccessWithoutTakeover_Counts(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := idempotency.NewMemory()
		slow := worker(store, idempotency.Config{}, func(context.Context) error { time.Sleep(time.Minute); return nil })
		if err := slow(soon(t, time.Second)); err != nil {
			t.Errorf("the late one: %v", err)
		}
		other := worker(store, idempotency.Config{}, func(context.Context) error { t.Error("it is done again"); return nil })
		if err := other(soon(t, time.Second)); !errors.Is(err, batch.ErrDuplicate) {
			t.Errorf("the other: %v", err)
		}
	})
}

func TestInProgress_ComesBackWhenTheClaimEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := idempotency.NewMemory()
		stop := make(chan struct{})
		killed := worker(store, idempotency.Config{}, func(context.Context) error { <-stop; return errors.New("killed") })
		go killed(soon(t, 30*time.Second))
		synctest.Wait()
		time.Sleep(10 * time.Second)
		err := worker(store, idempotency.Config{}, func(context.Context) error { t.Error("it is done twice"); return nil })(soon(t, time.Second))
		// 20 s of its time, 1 s of grace, and 1 s so that it does not come too soon.
		if v := batch.VerdictOf(err); v.Outcome != batch.InProgress || !v.HasAfter || v.After != 22*time.Second {
			t.Errorf("%v: %+v", err, v)
		}
		close(stop)
		synctest.Wait()
	})
}

func TestClaim_IsRenewedWhileTheHandlerRuns(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store, renewals := idempotency.NewMemory(), 0
		counted := hooked(store, on("Renew", func(context.Context) error { renewals++; return nil }), nil)
		c := idempotency.Config{Lease: 6 * time.Second}
		done := make(chan error, 1)
		go func() {
			done <- worker(counted, c, func(context.Context) error { time.Sleep(19 * time.Second); return nil })(t.Context())
		}()
		for range 18 {
			time.Sleep(time.Second)
			err := worker(store, c, func(context.Context) error { t.Error("it is done twice"); return nil })(t.Context())
			if batch.VerdictOf(err).Outcome != batch.InProgress {
				t.Errorf("%v", err)
			}
		}
		if err := <-done; err != nil || renewals != 9 {
			t.Errorf("%v after %d renewals, want 9: one every third of the lease", err, renewals)
		}
	})
}

// changed is a store whose claims change before they are renewed or completed.
func changed(store idempotency.Store, change func(ctx context.Context, store idempotency.Store, key, owner string)) idempotency.Store {
	return hooked(store, func(ctx context.Context, c random.StoreCall) error {
		if c.Operation == "Renew" || c.Operation == "Complete" {
			change(ctx, store, c.Key, c.Owner)
		}
		return nil
	}, nil)
}

// evict loses a claim, as Redis does when memory is short.
func evict(ctx context.Context, store idempotency.Store, key, owner string) {
	_ = store.Release(ctx, key, owner)
}

// takeOver gives a claim to another worker.
func takeOver(ctx context.Context, store idempotency.Store, key, owner string) {
	_ = store.Release(ctx, key, owner)
	_, _ = store.Claim(ctx, idempotency.Claim{Key: key, Owner: "another", Lease: time.Hour})
}

// The only worker of a key goes on when the store loses its claim, and its work is remembered.
func TestClaimIsEvicted_WorkIsDoneOnce(t *testing.T) {
	for name, takes := range map[string]time.Duration{"renewed": 30 * time.Second, "completed": 0} {
		inBubble(t, name, func(t *testing.T) {
			var calls atomic.Int32
			store := changed(idempotency.NewMemory(), func(ctx context.Context, store idempotency.Store, key, owner string) {
				if calls.Add(1)%3 == 1 {
					evict(ctx, store, key, owner)
				}
			})
			err := worker(store, idempotency.Config{Lease: 6 * time.Second}, func(ctx context.Context) error {
				time.Sleep(takes)
				return ctx.Err()
			})(t.Context())
			if err != nil {
				t.Errorf("the worker whose claim was lost: %v", err)
			}
			err = worker(store, idempotency.Config{}, func(context.Context) error { t.Error("it is done twice"); return nil })(t.Context())
			if !errors.Is(err, batch.ErrDuplicate) {
				t.Errorf("the next one: %v", err)
			}
		})
	}
}

// A claim that is made again while the handler fails is released, too.
func TestClaimIsEvictedAndTheHandlerFails_TheKeyIsFree(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		memory, returned := idempotency.NewMemory(), make(chan struct{})
		var claims atomic.Int32
		store := &random.Around{Store: changed(memory, evict), Call: func(ctx context.Context, c random.StoreCall, do func(context.Context) (idempotency.Found, error)) (idempotency.Found, error) {
			if c.Operation != "Claim" {
				return do(ctx)
			}
			if claims.Add(1) == 2 {
				<-returned
				time.Sleep(time.Millisecond) // the claim arrives after the release
			}
			return do(context.WithoutCancel(ctx))
		}}
		err := worker(store, idempotency.Config{Lease: time.Minute}, func(context.Context) error {
			time.Sleep(25 * time.Second) // a renewal is under way
			time.AfterFunc(time.Millisecond, func() { close(returned) })
			return errWork
		})(t.Context())
		if !errors.Is(err, errWork) {
			t.Error(err)
		}
		time.Sleep(time.Second)
		if err := worker(memory, idempotency.Config{}, func(context.Context) error { return nil })(t.Context()); err != nil || claims.Load() != 2 {
			t.Errorf("the next delivery, after %d claims: %v", claims.Load(), err)
		}
	})
}

func TestClaimIsTakenOverBeforeItIsCompleted_RecordComesBack(t *testing.T) {
	store := changed(idempotency.NewMemory(), takeOver)
	err := worker(store, idempotency.Config{}, func(context.Context) error { return nil })(t.Context())
	if !errors.Is(err, idempotency.ErrTakenOver) || batch.VerdictOf(err).Outcome != batch.InProgress {
		t.Error(err)
	}
}

func TestClaimThatCannotBeRenewed_EndsTheContextBeforeOthersAreLetIn(t *testing.T) {
	down := hooked(idempotency.NewMemory(), on("Renew", down), nil)
	for name, store := range map[string]idempotency.Store{"down": down, "taken over": changed(idempotency.NewMemory(), takeOver)} {
		inBubble(t, name, func(t *testing.T) {
			began := time.Now()
			var ended time.Duration
			err := worker(store, idempotency.Config{Lease: 12 * time.Second}, func(ctx context.Context) error {
				<-ctx.Done()
				if cause := context.Cause(ctx); !errors.Is(cause, idempotency.ErrTakenOver) {
					t.Errorf("the cause is %v", cause)
				}
				ended = time.Since(began)
				return ctx.Err()
			})(t.Context())
			want := 11 * time.Second // the lease less the grace
			if name != "down" {
				want = 4 * time.Second // the first renewal
			}
			if ended != want || !errors.Is(err, context.Canceled) {
				t.Errorf("the context ended after %v with %v, want %v", ended, err, want)
			}
		})
	}
}

func TestNoTimeLeft_ClaimStillEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := idempotency.NewMemory()
		ctx := soon(t, time.Millisecond)
		block := make(chan struct{})
		go worker(store, idempotency.Config{}, func(context.Context) error { <-block; return nil })(ctx)
		synctest.Wait()
		time.Sleep(2 * time.Second)
		done := false
		if err := worker(store, idempotency.Config{}, func(context.Context) error { done = true; return nil })(t.Context()); err != nil || !done {
			t.Errorf("%v, done: %v", err, done)
		}
		close(block)
		synctest.Wait()
	})
}

// A claim counts from when it was asked for, however long the answer takes.
func TestSlowAnswerToAClaim_EndsTheContextInTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		began := time.Now()
		store := hooked(idempotency.NewMemory(), on("Renew", down), on("Claim", func(context.Context) error {
			time.Sleep(3 * time.Second)
			return nil
		}))
		_ = worker(store, idempotency.Config{Lease: 12 * time.Second}, func(ctx context.Context) error {
			<-ctx.Done()
			return ctx.Err()
		})(t.Context())
		if ended := time.Since(began); ended != 11*time.Second {
			t.Errorf("the context ended after %v, want 11 s: the lease less the grace", ended)
		}
	})
}
