package main

import (
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"net/http"
	"slices"
	"strconv"
	"sync"
	"time"

	"github.com/sqsbatch/sqsbatch/idempotency"
)

// copies makes a third of the orders copies of others, so that half of all work is sent
// twice: soon after each other, in any group.
func copies(list []order, random *rand.Rand) {
	const apart = 200
	copied := map[int]bool{}
	for n := 2; n < len(list); n++ {
		of := n - 1 - random.IntN(min(n-1, apart))
		for range 10 { // until it is one that has no copy yet
			if !copied[of] && list[of].Key == 0 {
				break
			}
			of = n - 1 - random.IntN(min(n-1, apart))
		}
		if random.IntN(100) >= 34 || copied[of] || list[of].Key > 0 || copied[n] {
			continue
		}
		copied[of] = true
		group := list[n].group
		list[n] = list[of]
		list[n].N, list[n].Key, list[n].group = n, of+1, group
	}
}

// keyed are what the table about keys tells.
type keyed struct {
	works, copies, done, afterCompletion, twoAtATime, lost int
	again                                                  map[string]int
}

// judgeKeys asks of each order's work whether it was lost or done twice, and why.
func (r *run) judgeKeys() bool {
	k := keyed{again: map[string]int{}}
	byWork := map[int][]int{}
	for n := range r.orders {
		byWork[r.orders[n].workOf()] = append(byWork[r.orders[n].workOf()], n)
		if r.orders[n].Key > 0 {
			k.copies++
		}
	}
	for work := range r.orders {
		if numbers := byWork[work]; len(numbers) > 0 {
			k.works++
			r.judgeWork(work, numbers, &k)
		}
	}
	r.reportKeys(&k)
	return len(r.violations.list) > 0
}

func (r *run) judgeWork(work int, numbers []int, k *keyed) {
	var list []handling
	for _, n := range numbers {
		if list = append(list, r.handlings[n]...); r.ledger.messages[n].deleted.IsZero() {
			r.violations.add("message %d is not deleted%s", n, r.timeline(n))
		}
	}
	sortByStart(list)
	wrong := func(what string, h *handling) {
		text := ""
		for _, n := range numbers {
			text += r.timeline(n)
		}
		r.violations.add("the work of order %d %s (message %d by %v)%s", work, what, h.n, h.process, text)
	}
	completed, is := r.server.store.completed[storeKey(work)]
	for i := range list {
		h := &list[i]
		if is && h.start.After(completed.at) {
			k.afterCompletion++
			wrong("was done again after its completion", h)
			continue
		}
		for j := range list[:i] {
			r.judgeAgain(&list[j], h, k, wrong)
		}
	}
	goal := endedOK
	if r.orders[work].Permanent {
		goal = endedPermanent
	}
	if slices.ContainsFunc(list, func(h handling) bool { return h.outcome == goal }) {
		k.done++
		return
	}
	k.lost++
	r.violations.add("the work of order %d is LOST: no handler call ended as it should (%s)%s", work, goal, r.timeline(numbers[0]))
}

// judgeAgain asks why a work was begun although an earlier call had succeeded, or ran.
func (r *run) judgeAgain(before, again *handling, k *keyed, wrong func(string, *handling)) {
	runs := before.over().After(again.start)
	if !runs && before.outcome != endedOK && before.outcome != "" {
		return // it failed: its claim was released
	}
	why := r.explain(before.n, before.process, before.start, again.start)
	switch {
	case why == "":
		why = "NO REASON"
		wrong("was begun again for no reason", again)
	case runs:
		k.twoAtATime++
		why = "still running: " + why
	}
	k.again[why]++
}

// storeKey is a work's key as it is stored.
func storeKey(work int) string { return "orders#" + strconv.Itoa(work) }

func (r *run) reportKeys(k *keyed) {
	handled := 0
	for _, list := range r.handlings {
		handled += len(list)
	}
	fmt.Printf("%d messages, of which %d are copies: %d works; %d faults, seed %d, %.1f s\n\n| | |\n| --- | --- |\n", r.messages, k.copies, k.works, r.faultsWanted, r.seed,
		time.Since(r.began[calm]).Seconds())
	fmt.Printf("| works done | %d |\n| lost | %d |\n| handler calls | %d |\n| begun after the completion | %d |\n| completed twice | %d |\n| begun while another ran | %d |\n", k.done, k.lost, handled,
		k.afterCompletion, r.server.store.again, k.twoAtATime)
	s := r.server.store.calls
	fmt.Printf("| calls to the store | %d claims, %d renewals, %d completions, %d releases |\n", s["claim"], s["renew"], s["complete"], s["release"])
	table("done again because of", k.again)
	table("fault", r.faults.struck())
	if r.server.store.again > 0 {
		r.violations.add("%d works were completed twice", r.server.store.again)
	}
	if !r.violations.print() {
		fmt.Println("\n0 lost, 0 done again after their completion, 0 done again without a reason")
	}
}

// store is the idempotency store of all workers, which outlives them. It is reached as
// SQS is, so that its calls meet the same broken network.
type store struct {
	memory *idempotency.Memory

	mu        sync.Mutex
	completed map[string]completion // by key
	again     int                   // keys that were completed by another owner, too
	calls     map[string]int        // by operation
}

type completion struct {
	owner string
	at    time.Time
}

func newStore() *store {
	return &store{memory: idempotency.NewMemory(), completed: map[string]completion{}, calls: map[string]int{}}
}

func (s *store) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	var ask storeRequest
	if err := json.NewDecoder(r.Body).Decode(&ask); err != nil {
		panic(http.ErrAbortHandler) // the request was cut
	}
	ctx := context.WithoutCancel(r.Context()) // what has arrived is done, also when its caller waits no longer
	var answer storeAnswer
	var err error
	switch ask.Operation {
	case storeClaim:
		answer.Found, err = s.memory.Claim(ctx, ask.Claim)
	case storeRenew:
		err = s.memory.Renew(ctx, ask.Claim.Key, ask.Claim.Owner, ask.Claim.Lease)
	case storeComplete:
		err = s.complete(ctx, ask)
	case storeRelease:
		err = s.memory.Release(ctx, ask.Claim.Key, ask.Claim.Owner)
	}
	answer.NotOwner = err != nil
	s.mu.Lock()
	s.calls[ask.Operation]++
	s.mu.Unlock()
	_ = json.NewEncoder(w).Encode(answer) // a client that has left asks again
}

func (s *store) complete(ctx context.Context, ask storeRequest) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	err := s.memory.Complete(ctx, ask.Claim.Key, ask.Claim.Owner, ask.Completion)
	if err != nil {
		return err
	}
	if before, ok := s.completed[ask.Claim.Key]; !ok {
		s.completed[ask.Claim.Key] = completion{ask.Claim.Owner, time.Now()}
	} else if before.owner != ask.Claim.Owner {
		s.again++
	}
	return nil
}
