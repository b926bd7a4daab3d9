package histories_test

import (
	"context"
	"sync"
	"time"

	"github.com/sqsbatch/sqsbatch/idempotency"
)

// mistakes are those of a store. The zero value has none.
type mistakes struct {
	completeAny, completeLater, loseResult bool
	releaseAny, releaseDone, releaseNot    bool
	renewAny, renewNot, renewShortens      bool
	takeAny, takeNever, takeDone, strange  bool
	claimLater, wrongLeft                  bool
	early                                  time.Duration
}

// broken is a store that is written without regard to package idempotency's, with mistakes.
type broken struct {
	mistakes
	mu    sync.Mutex
	items map[string]entry
}

type entry struct {
	owner  string
	ends   time.Time
	done   bool
	result string
}

func newBroken(m mistakes) *broken { return &broken{mistakes: m, items: map[string]entry{}} }

// between gives others time in the middle of a call that is not atomic.
func (b *broken) between(wanted bool) {
	if wanted {
		b.mu.Unlock()
		time.Sleep(20 * time.Millisecond)
		b.mu.Lock()
	}
}

func (b *broken) Claim(_ context.Context, c idempotency.Claim) (idempotency.Found, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	now := time.Now()
	it, there := b.items[c.Key]
	own := there && it.owner == c.Owner && !b.strange
	ended := !it.done && !b.takeNever && (b.takeAny || !now.Add(b.early).Before(it.ends))
	switch {
	case !there, own && !it.done, ended, it.done && b.takeDone:
		b.between(b.claimLater)
		ends := now.Add(c.Lease)
		if own && it.ends.After(ends) {
			ends = it.ends
		}
		b.items[c.Key] = entry{owner: c.Owner, ends: ends}
		return idempotency.Found{State: idempotency.Claimed}, nil
	case it.done:
		return idempotency.Found{State: idempotency.Completed, Result: []byte(it.result)}, nil
	}
	left := it.ends.Sub(now)
	if b.wrongLeft {
		left += 2 * c.Lease
	}
	return idempotency.Found{State: idempotency.InProgress, Left: left}, nil
}

func (b *broken) Renew(_ context.Context, key, owner string, lease time.Duration) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	it, there := b.items[key]
	if (!there || it.owner != owner || it.done) && !b.renewAny {
		return idempotency.ErrNotOwner
	}
	if ends := time.Now().Add(lease); !b.renewNot && (b.renewShortens || ends.After(it.ends)) {
		it.ends = ends
	}
	if there {
		b.items[key] = it
	}
	return nil
}

func (b *broken) Complete(_ context.Context, key, owner string, c idempotency.Completion) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	if it, there := b.items[key]; (!there || it.owner != owner) && !b.completeAny {
		return idempotency.ErrNotOwner
	}
	b.between(b.completeLater)
	it := entry{owner: owner, done: true, result: string(c.Result)}
	if b.loseResult {
		it.result = ""
	}
	b.items[key] = it
	return nil
}

func (b *broken) Release(_ context.Context, key, owner string) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	it, there := b.items[key]
	switch {
	case there && it.done && it.owner == owner && b.releaseDone:
		delete(b.items, key)
		return idempotency.ErrNotOwner
	case (!there || it.owner != owner || it.done) && !b.releaseAny:
		return idempotency.ErrNotOwner
	case !b.releaseNot:
		delete(b.items, key)
	}
	return nil
}
