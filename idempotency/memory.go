package idempotency

import (
	"bytes"
	"context"
	"sync"
	"time"
)

// Memory is a [Store] in the memory of one process, for tests. Other processes do not share it.
// The zero value is empty.
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

	remember time.Duration // time from ends to forget
	forget   time.Time     // end of the item
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
	if m.items == nil {
		m.items = map[string]*item{}
	}
	now := time.Now()
	it := m.items[c.Key]
	switch {
	case it == nil, !now.Before(it.forget), !it.done && !now.Before(it.ends):
		it = &item{owner: c.Owner, content: c.Content, remember: c.Remember}
		it.lastsUntil(now.Add(c.Lease))
		m.items[c.Key] = it
	case it.done:
		return Found{State: Completed, Result: bytes.Clone(it.result), Content: it.content}, nil
	case it.owner != c.Owner:
		return Found{State: InProgress, Left: it.ends.Sub(now), Content: it.content}, nil
	default:
		it.lastsUntil(now.Add(c.Lease))
	}
	return Found{State: Claimed}, nil
}

// lastsUntil extends a claim to ends, unless it lasts longer.
func (it *item) lastsUntil(ends time.Time) {
	if it.ends.Before(ends) {
		it.ends, it.forget = ends, ends.Add(it.remember)
	}
}

// own calls f with the item of a key. It returns ErrNotOwner if owner does not have the item,
// or if f returns false.
func (m *Memory) own(ctx context.Context, key, owner string, f func(*item) bool) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	it := m.items[key]
	if it == nil || it.owner != owner || !f(it) {
		return ErrNotOwner
	}
	return nil
}

// Renew implements [Store].
func (m *Memory) Renew(ctx context.Context, key, owner string, lease time.Duration) error {
	return m.own(ctx, key, owner, func(it *item) bool {
		if !it.done {
			it.lastsUntil(time.Now().Add(lease))
		}
		return !it.done
	})
}

// Complete implements [Store].
func (m *Memory) Complete(ctx context.Context, key, owner string, c Completion) error {
	return m.own(ctx, key, owner, func(it *item) bool {
		it.done, it.result, it.content, it.forget = true, bytes.Clone(c.Result), c.Content, time.Now().Add(c.Remember)
		return true
	})
}

// Release implements [Store].
func (m *Memory) Release(ctx context.Context, key, owner string) error {
	return m.own(ctx, key, owner, func(it *item) bool {
		if !it.done {
			delete(m.items, key)
		}
		return !it.done
	})
}
