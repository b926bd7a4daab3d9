package lambda

import (
	"context"
	"sync"
	"time"
)

// bootBackoff spaces the starts of processes that fail before their first
// invocation, so that a broken bootstrap behind a full queue is not a hot loop.
type bootBackoff struct {
	mu       sync.Mutex
	failures int
	next     time.Time
}

const (
	bootBackoffBase = 100 * time.Millisecond
	bootBackoffCap  = 10 * time.Second
)

// wait returns when a process may be started, or false when ctx ended first.
func (b *bootBackoff) wait(ctx context.Context) bool {
	b.mu.Lock()
	next := b.next
	b.mu.Unlock()
	return sleepUntil(ctx, next)
}

func (b *bootBackoff) report(ok bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if ok {
		b.failures, b.next = 0, time.Time{}
		return
	}
	b.next = time.Now().Add(min(bootBackoffBase<<min(b.failures, 10), bootBackoffCap))
	b.failures++
}

// sleepUntil returns false when ctx ended first.
func sleepUntil(ctx context.Context, t time.Time) bool {
	d := time.Until(t)
	if d <= 0 {
		return ctx.Err() == nil
	}
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-ctx.Done():
		return false
	}
}
