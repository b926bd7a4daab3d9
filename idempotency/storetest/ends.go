package storetest

import (
	"context"
	"errors"
	"time"

	"github.com/sqsbatch/sqsbatch/idempotency"
)

var endTests = []test{
	{"Renew_LastsLonger", func(t *tester) {
		t.wantClaimed("A", short)
		t.done(t.renew("A", long))
		t.wait(past)
		t.wantInProgress(long/2, long)
		t.done(t.complete("A", "A's"))
		t.wantCompleted("A's")
	}},
	{"Renew_NeverShortens", func(t *tester) {
		t.wantClaimed("A", long)
		t.done(t.renew("A", short))
		t.wait(past)
		t.wantInProgress(long/2, long)
	}},
	{"Renew_AfterTheEnd", func(t *tester) {
		t.wantClaimed("A", short)
		t.wait(past)
		t.done(t.renew("A", long))
		t.wantInProgress(long/2, long)
	}},
	// A store may delete an ended claim after a second. The renewed claim must stay.
	{"Renew_OutlastsRemember", func(t *tester) {
		t.want(t.claims(idempotency.Claim{Key: t.key, Owner: "A", Lease: time.Second / 2, Remember: 0}), idempotency.Found{State: idempotency.Claimed})
		t.done(t.renew("A", long))
		t.wait(coarse)
		t.wantInProgress(long/2, long)
		t.done(t.complete("A", "A's"))
		t.wantCompleted("A's")
	}},
	{"Renew_OfACompletion", func(t *tester) {
		t.wantClaimed("A", long)
		t.done(t.complete("A", "A's"))
		if err := t.renew("A", 2*long); !errors.Is(err, idempotency.ErrNotOwner) {
			t.Errorf("%v, want ErrNotOwner", err)
		}
		t.wantCompleted("A's")
	}},
	// A late completion counts if no other worker has claimed the key.
	{"Complete_AfterTheEnd", func(t *tester) {
		t.wantClaimed("A", short)
		t.wait(past)
		t.done(t.complete("A", "A's"))
		t.wantCompleted("A's")
	}},
	{"Complete_TwiceBySameOwner", func(t *tester) {
		t.wantClaimed("A", long)
		t.done(t.complete("A", "A's"))
		t.done(t.complete("A", "A's"))
		t.wantCompleted("A's")
	}},
	{"Complete_IsKeptLongerThanItsLease", func(t *tester) {
		t.wantClaimed("A", short)
		t.done(t.complete("A", "A's"))
		t.wait(past)
		t.wantCompleted("A's")
	}},
	{"Release_KeepsACompletion", func(t *tester) {
		t.wantClaimed("A", long)
		t.done(t.complete("A", "A's"))
		t.releasesNothing("A")
		t.wantCompleted("A's")
	}},
	{"Release_TwiceBySameOwner", func(t *tester) {
		t.wantClaimed("A", long)
		t.done(t.release("A"))
		t.releasesNothing("A")
		t.wantClaimed("B", long)
	}},
	{"Fence_FormerOwnerOfATakenOverClaim", func(t *tester) {
		t.takeOver()
		t.wantFenced("A")
		t.wantInProgress(long/2, long)
		t.done(t.renew("B", long))
		t.done(t.complete("B", "B's"))
		t.wantCompleted("B's")
	}},
	{"Fence_FormerOwnerAfterCompletion", func(t *tester) {
		t.takeOver()
		t.done(t.complete("B", "B's"))
		t.wantFenced("A")
		t.wantCompleted("B's")
	}},
	{"Fence_FormerOwnerAfterRelease", func(t *tester) {
		t.takeOver()
		t.done(t.release("B"))
		t.wantFenced("A")
		t.wantFenced("B")
		t.wantClaimed("C", long)
		t.wantFenced("A")
		t.wantFenced("B")
		t.done(t.complete("C", "C's"))
		t.wantCompleted("C's")
	}},
	{"Fence_OwnerOfAReleasedClaim", func(t *tester) {
		t.wantClaimed("A", long)
		t.done(t.release("A"))
		t.wantFenced("A")
		t.wantClaimed("B", long)
		t.wantFenced("A")
		t.done(t.complete("B", "B's"))
		t.wantCompleted("B's")
	}},
	{"Fence_StrangerToAKey", func(t *tester) {
		t.wantFenced("A")
		t.wantClaimed("B", long)
		t.wantFenced("A")
		t.wantInProgress(long/2, long)
	}},
	{"Fence_FormerOwnerOfAForgottenCompletion", func(t *tester) {
		t.wantClaimed("A", long)
		t.done(t.store.Complete(t.Context(), t.key, "A", idempotency.Completion{Remember: short}))
		t.wait(coarse)
		t.wantClaimed("B", long)
		t.wantFenced("A")
		t.wantInProgress(long/2, long)
	}},
	{"Context_Ended", func(t *tester) {
		t.wantClaimed("A", long)
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		_, claiming := t.store.Claim(ctx, idempotency.Claim{Key: t.key, Owner: "B", Lease: long, Remember: ever})
		for call, err := range map[string]error{
			"Claim":    claiming,
			"Renew":    t.store.Renew(ctx, t.key, "A", long),
			"Complete": t.store.Complete(ctx, t.key, "A", idempotency.Completion{Remember: ever}),
			"Release":  t.store.Release(ctx, t.key, "A"),
		} {
			if !errors.Is(err, ctx.Err()) {
				t.Errorf("%s with a context that has ended: %v, want %v", call, err, ctx.Err())
			}
		}
	}},
}

// takeOver claims the key for A, and for B after A's claim has ended.
func (t *tester) takeOver() {
	t.Helper()
	t.wantClaimed("A", short)
	t.wait(past)
	t.wantClaimed("B", long)
}
