package simulate

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/sqsbatch/sqsbatch/batch"
	"github.com/sqsbatch/sqsbatch/idempotency"
	"github.com/sqsbatch/sqsbatch/internal/ctxkey"
)

// keyMutants break what package idempotency promises, in both modes.
var keyMutants = []mutantCase{
	{"completes and releases for anyone", WorkOnce, stored(func(next idempotency.Store) idempotency.Store {
		return &unfenced{Store: next, owners: map[string]string{}}
	})},
	{"ignores claims", WorkAlone, stored(func(next idempotency.Store) idempotency.Store { return blind{next} })},
	{"claims for less than it says", WorkAlone, stored(func(next idempotency.Store) idempotency.Store { return short{next} })},
	{"completes before the function has returned", WorkKept, stored(func(next idempotency.Store) idempotency.Store { return hasty{next} })},
	{"takes work in progress for a success", WorkKept, guarded(func(ctx context.Context, r batch.Record, next batch.Handler) error {
		err := next.Handle(ctx, r)
		if batch.VerdictOf(err).InProgress {
			return nil
		}
		return err
	})},
	{"takes work in progress for a failure", Blameless, guarded(func(ctx context.Context, r batch.Record, next batch.Handler) error {
		err := next.Handle(ctx, r)
		if batch.VerdictOf(err).InProgress {
			return errors.New("the work is in progress")
		}
		return err
	})},
	{"does not wait at the last attempt", Blameless, guarded(func(ctx context.Context, r batch.Record, next batch.Handler) error {
		return next.Handle(context.WithValue(ctx, ctxkey.Runner{}, nil), r)
	})},
}

func stored(change func(next idempotency.Store) idempotency.Store) Mutant {
	return Mutant{Store: change}
}

func guarded(handle func(ctx context.Context, r batch.Record, next batch.Handler) error) Mutant {
	return Mutant{Guard: func(next batch.Handler) batch.Handler {
		return batch.HandlerFunc(func(ctx context.Context, r batch.Record) error { return handle(ctx, r, next) })
	}}
}

// unfenced is a store that does not check whose a claim is: a late failure removes
// the completion of the worker that has taken over.
type unfenced struct {
	idempotency.Store
	mu     sync.Mutex
	owners map[string]string
	again  map[string]bool // keys that were forgotten
}

func (s *unfenced) owner(key string) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.owners[key]
}

func (s *unfenced) Claim(ctx context.Context, c idempotency.Claim) (idempotency.Found, error) {
	s.mu.Lock()
	forgotten := s.again[c.Key]
	s.mu.Unlock()
	found, err := s.Store.Claim(ctx, c)
	if forgotten && found.State == idempotency.Completed {
		found.State = idempotency.Claimed
	}
	if found.State == idempotency.Claimed {
		s.mu.Lock()
		if !forgotten {
			s.owners[c.Key] = c.Owner
		}
		delete(s.again, c.Key)
		s.mu.Unlock()
	}
	return found, err
}

func (s *unfenced) Complete(ctx context.Context, key, _ string, c idempotency.Completion) error {
	return s.Store.Complete(ctx, key, s.owner(key), c)
}

func (s *unfenced) Release(ctx context.Context, key, _ string) error {
	s.mu.Lock()
	if s.again == nil {
		s.again = map[string]bool{}
	}
	s.again[key] = true
	s.mu.Unlock()
	return s.Store.Release(ctx, key, s.owner(key))
}

// blind is a store that gives every claim to everyone.
type blind struct{ idempotency.Store }

func (s blind) Claim(ctx context.Context, c idempotency.Claim) (idempotency.Found, error) {
	found, err := s.Store.Claim(ctx, c)
	if found.State == idempotency.InProgress {
		found.State = idempotency.Claimed
	}
	return found, err
}

// short is a store whose claims end early.
type short struct{ idempotency.Store }

func (s short) Claim(ctx context.Context, c idempotency.Claim) (idempotency.Found, error) {
	c.Lease = min(c.Lease/10, 10*time.Millisecond)
	return s.Store.Claim(ctx, c)
}

// hasty is a store that takes a claim for a completion.
type hasty struct{ idempotency.Store }

func (s hasty) Claim(ctx context.Context, c idempotency.Claim) (idempotency.Found, error) {
	found, err := s.Store.Claim(ctx, c)
	if err == nil && found.State == idempotency.Claimed {
		err = s.Store.Complete(ctx, c.Key, c.Owner, idempotency.Completion{Remember: c.Remember})
	}
	return found, err
}
