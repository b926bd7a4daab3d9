package main

import (
	"context"
	"encoding/json"
	"net/http"
	"sync"
	"time"

	"github.com/sqsbatch/sqsbatch/idempotency"
	"github.com/sqsbatch/sqsbatch/test/chaos/httpstore"
)

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
	var ask httpstore.Request
	if err := json.NewDecoder(r.Body).Decode(&ask); err != nil {
		panic(http.ErrAbortHandler) // the request was cut
	}
	ctx := context.WithoutCancel(r.Context()) // what has arrived is done, also when its caller waits no longer
	var answer httpstore.Answer
	var err error
	switch ask.Operation {
	case httpstore.Claim:
		answer.Found, err = s.memory.Claim(ctx, ask.Claim)
	case httpstore.Renew:
		err = s.memory.Renew(ctx, ask.Claim.Key, ask.Claim.Owner, ask.Claim.Lease)
	case httpstore.Complete:
		err = s.complete(ctx, ask)
	case httpstore.Release:
		err = s.memory.Release(ctx, ask.Claim.Key, ask.Claim.Owner)
	}
	answer.NotOwner = err != nil
	s.mu.Lock()
	s.calls[ask.Operation]++
	s.mu.Unlock()
	_ = json.NewEncoder(w).Encode(answer) // who has left asks again
}

func (s *store) complete(ctx context.Context, ask httpstore.Request) error {
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
