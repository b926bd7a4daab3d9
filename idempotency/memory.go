package idempotency

import (
	"context"
	"sync"
	"time"
)

// Memory is a [Store] in the memory of one process, for tests: other processes know
// nothing of it.
type Memory struct {
	mu    sync.Mutex
	items map[string]*item
}

type item struct {
	owner   string
	ends    time.Time // of the claim
	done    bool
	result  []byte
	content string
	forget  time.Time
}

// NewMemory returns an empty store.
func NewMemory() *Memory { return &Memory{items: map[string]*item{}} }

// Claim implements [Store].
func (m *Memory) Claim(ctx context.Context, c Claim) (Found, error) {
	if err := ctx.Err(); err != nil {
		return Found{}, err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	now := time.Now()
	switch it := m.items[c.Key]; {
	case it == nil, !now.Before(it.forget), !it.done && !now.Before(it.ends), it.owner == c.Owner && !it.done:
		m.items[c.Key] = &item{owner: c.Owner, ends: now.Add(c.Lease), content: c.Content, forget: now.Add(max(c.Lease, c.Remember))}
		return Found{State: Claimed}, nil
	case it.done:
		return Found{State: Completed, Result: it.result, Content: it.content}, nil
	default:
		return Found{State: InProgress, Left: it.ends.Sub(now), Content: it.content}, nil
	}
}

// own calls f for the item of a key, if it is owner's.
func (m *Memory) own(ctx context.Context, key, owner string, f func(*item)) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	it := m.items[key]
	if it == nil || it.owner != owner {
		return ErrNotOwner
	}
	f(it)
	return nil
}

// Renew implements [Store].
func (m *Memory) Renew(ctx context.Context, key, owner string, lease time.Duration) error {
	return m.own(ctx, key, owner, func(it *item) {
		it.ends = time.Now().Add(lease)
		if it.forget.Before(it.ends) {
			it.forget = it.ends
		}
	})
}

// Complete implements [Store].
func (m *Memory) Complete(ctx context.Context, key, owner string, c Completion) error {
	return m.own(ctx, key, owner, func(it *item) {
		it.done, it.result, it.content, it.forget = true, c.Result, c.Content, time.Now().Add(c.Remember)
	})
}

// Release implements [Store].
func (m *Memory) Release(ctx context.Context, key, owner string) error {
	return m.own(ctx, key, owner, func(it *item) {
		if !it.done {
			delete(m.items, key)
		}
	})
}
