package lambda

import (
	"context"
	"sync"
	"time"

	"github.com/sqsbatch/sqsbatch/internal/sleep"
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
	return sleep.Until(ctx, next)
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
