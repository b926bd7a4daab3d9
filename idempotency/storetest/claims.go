package storetest

import (
	"fmt"
	"sync"
	"time"

	"github.com/sqsbatch/sqsbatch/idempotency"
)

var claimTests = []test{
	{"Claim_FreeKeyIsClaimed", func(t *tester) { t.wantClaimed("A", long) }},
	{"Claim_ClaimedKeyIsInProgress", func(t *tester) {
		t.wantClaimed("A", long)
		t.wantInProgress(long/2, long)
	}},
	{"Claim_CompletedKeyIsCompleted", func(t *tester) {
		t.wantClaimed("A", long)
		t.done(t.complete("A", "A's"))
		t.wantCompleted("A's")
	}},
	{"Claim_ReleasedKeyIsFree", func(t *tester) {
		t.wantClaimed("A", long)
		t.done(t.release("A"))
		t.wantClaimed("B", long)
	}},
	{"Claim_EndedClaimIsFree", func(t *tester) {
		t.wantClaimed("A", time.Second)
		t.wantInProgress(0, time.Second)
		t.wait(time.Second + 50*time.Millisecond)
		t.wantClaimed("B", long)
		t.wantInProgress(long/2, long)
	}},
	{"Claim_ForgottenCompletionIsFree", func(t *tester) {
		t.wantClaimed("A", long)
		t.done(t.store.Complete(t.Context(), t.key, "A", idempotency.Completion{Result: []byte("A's"), Content: "a", Remember: short}))
		t.wait(coarse)
		t.wantClaimed("B", long)
		t.done(t.store.Complete(t.Context(), t.key, "B", idempotency.Completion{Remember: ever}))
		t.want(t.claim("C", long), idempotency.Found{State: idempotency.Completed}) // with nothing of A's
	}},
	{"Claim_RefusedChangesNothing", func(t *tester) {
		t.wantClaimed("A", long)
		refused := t.claims(idempotency.Claim{Key: t.key, Owner: "B", Lease: 3 * long, Remember: ever, Content: "b"})
		t.want(refused, idempotency.Found{State: idempotency.InProgress})
		t.want(t.claim("C", long), idempotency.Found{State: idempotency.InProgress})
		t.wantInProgress(0, long)
		t.wantFenced("B")
		t.done(t.complete("A", "A's"))
		for range 2 {
			t.wantCompleted("A's")
		}
		t.wantFenced("B")
		t.wantCompleted("A's")
	}},
	// For example, the answer to the first call was lost.
	{"Claim_OnceMoreBySameOwner", func(t *tester) {
		t.wantClaimed("A", long)
		t.wantClaimed("A", long)
		t.wantInProgress(long/2, long)
		t.done(t.complete("A", "A's"))
	}},
	{"Claim_OnceMoreBySameOwnerLastsLonger", func(t *tester) {
		t.wantClaimed("A", short)
		t.wantClaimed("A", long)
		t.wait(past)
		t.wantInProgress(long/2, long)
		t.wantClaimed("A", short) // does not shorten the claim
		t.wait(past)
		t.wantInProgress(long/2, long)
	}},
	{"Claim_OnceMoreAfterCompletion", func(t *tester) {
		t.wantClaimed("A", long)
		t.done(t.complete("A", "A's"))
		t.want(t.claim("A", long), idempotency.Found{State: idempotency.Completed, Result: []byte("A's")})
	}},
	{"Claim_OneOfManyAtOnceWins", func(t *tester) { t.done(t.complete(t.atOnce(), "the winner's")) }},
	{"Claim_OneOfManyTakesOver", func(t *tester) {
		t.wantClaimed("A", short)
		t.wait(past)
		winner := t.atOnce()
		t.wantFenced("A")
		t.done(t.complete(winner, "the winner's"))
		t.wantCompleted("the winner's")
	}},
	{"Claim_WithoutLeaseEndsAtOnce", func(t *tester) {
		t.wantClaimed("A", 0)
		t.wait(10 * time.Millisecond)
		t.wantClaimed("B", long)
	}},
	{"Claim_KeysAreApart", func(t *tester) {
		t.wantClaimed("A", long)
		first := t.key
		t.key += " "
		t.wantFenced("A")
		t.wantClaimed("A", long)
		t.done(t.release("A"))
		t.key = first
		t.wantInProgress(long/2, long)
	}},
}

const many = 100

// atOnce claims the key for many owners, and returns the one that got it.
func (t *tester) atOnce() string {
	t.Helper()
	var wg sync.WaitGroup
	var mu sync.Mutex
	var winners []string
	for i := range many {
		wg.Go(func() {
			owner := fmt.Sprint("owner ", i)
			found, err := t.store.Claim(t.Context(), idempotency.Claim{Key: t.key, Owner: owner, Lease: long, Remember: ever})
			switch {
			case err != nil:
				t.Errorf("claim for %s: %v", owner, err)
			case found.State == idempotency.Claimed:
				mu.Lock()
				defer mu.Unlock()
				winners = append(winners, owner)
			case found.State != idempotency.InProgress:
				t.Errorf("%s found %v", owner, found.State)
			}
		})
	}
	wg.Wait()
	if len(winners) != 1 {
		t.Fatalf("%d of %d claims at a time got the key", len(winners), many)
	}
	return winners[0]
}
