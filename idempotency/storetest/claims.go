package storetest

import (
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/sqsbatch/sqsbatch/idempotency"
)

func freeKeyIsClaimed(t *tester) { t.wantClaimed("A", long) }

func claimedKeyIsInProgress(t *tester) {
	t.wantClaimed("A", long)
	t.wantInProgress(long/2, long)
}

func completedKeyIsCompleted(t *tester) {
	t.wantClaimed("A", long)
	t.done(t.complete("A", "A's"))
	t.wantCompleted("A's")
}

func releasedKeyIsFree(t *tester) {
	t.wantClaimed("A", long)
	t.done(t.release("A"))
	t.wantClaimed("B", long)
}

func endedClaimIsFree(t *tester) {
	t.wantClaimed("A", time.Second)
	t.wantInProgress(0, time.Second)
	t.wait(time.Second + 50*time.Millisecond)
	t.wantClaimed("B", long)
	t.wantInProgress(long/2, long)
}

func forgottenCompletionIsFree(t *tester) {
	t.wantClaimed("A", long)
	t.done(t.store.Complete(t.Context(), t.key, "A", idempotency.Completion{Result: []byte("A's"), Content: "a", Remember: short}))
	t.wait(coarse)
	t.wantClaimed("B", long)
	t.done(t.store.Complete(t.Context(), t.key, "B", idempotency.Completion{Remember: ever}))
	t.want(t.claim("C", long), idempotency.Found{State: idempotency.Completed}) // with nothing of A's
}

func refusedClaimChangesNothing(t *tester) {
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
}

// The answer to the first call was lost, say.
func claimOnceMore(t *tester) {
	t.wantClaimed("A", long)
	t.wantClaimed("A", long)
	t.wantInProgress(long/2, long)
	t.done(t.complete("A", "A's"))
}

func claimOnceMoreLastsLonger(t *tester) {
	t.wantClaimed("A", short)
	t.wantClaimed("A", long)
	t.wait(past)
	t.wantInProgress(long/2, long)
	t.wantClaimed("A", short) // it does not make it shorter
	t.wait(past)
	t.wantInProgress(long/2, long)
}

func claimOnceMoreAfterCompletion(t *tester) {
	t.wantClaimed("A", long)
	t.done(t.complete("A", "A's"))
	t.want(t.claim("A", long), idempotency.Found{State: idempotency.Completed, Result: []byte("A's")})
}

const many = 100

// atOnce claims the key for many owners, and returns the one that got it.
func (t *tester) atOnce() (winner string) {
	t.Helper()
	var wg sync.WaitGroup
	var claimed atomic.Int64
	var mu sync.Mutex
	for i := range many {
		wg.Go(func() {
			owner := fmt.Sprint("owner ", i)
			found, err := t.store.Claim(t.Context(), idempotency.Claim{Key: t.key, Owner: owner, Lease: long, Remember: ever})
			switch {
			case err != nil:
				t.Errorf("claim for %s: %v", owner, err)
			case found.State == idempotency.Claimed:
				claimed.Add(1)
				mu.Lock()
				winner = owner
				mu.Unlock()
			case found.State != idempotency.InProgress:
				t.Errorf("%s found %v", owner, found.State)
			}
		})
	}
	wg.Wait()
	if n := claimed.Load(); n != 1 {
		t.Fatalf("%d of %d claims at a time got the key", n, many)
	}
	return winner
}

func oneOfManyWins(t *tester) { t.done(t.complete(t.atOnce(), "the winner's")) }

func oneOfManyTakesOver(t *tester) {
	t.wantClaimed("A", short)
	t.wait(past)
	winner := t.atOnce()
	t.wantFenced("A")
	t.done(t.complete(winner, "the winner's"))
	t.wantCompleted("the winner's")
}

func claimWithoutLease(t *tester) {
	t.wantClaimed("A", 0)
	t.wait(10 * time.Millisecond)
	t.wantClaimed("B", long)
}

func keysAreApart(t *tester) {
	t.wantClaimed("A", long)
	first := t.key
	t.key += " "
	t.wantFenced("A")
	t.wantClaimed("A", long)
	t.done(t.release("A"))
	t.key = first
	t.wantInProgress(long/2, long)
}
