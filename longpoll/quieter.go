package longpoll

import (
	"context"
	"sync"
	"time"

	"github.com/sqsbatch/sqsbatch/batch"
)

// quieter passes a warning on unless it passed the same in the last minutes:
// settling goes on all the time, and so may what is wrong with it.
type quieter struct {
	warn func(batch.Warning)
	mu   sync.Mutex
	told map[string]time.Time
}

// Warned implements [batch.WarningHook].
func (q *quieter) Warned(_ context.Context, w batch.Warning) {
	if w.MessageID == "" && q.toldOf(w.Message) {
		return
	}
	q.warn(w)
}

func (q *quieter) toldOf(text string) bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	now := time.Now()
	if at, ok := q.told[text]; ok && now.Sub(at) < remindEvery {
		return true
	}
	if q.told == nil || len(q.told) > 100 {
		q.told = make(map[string]time.Time)
	}
	q.told[text] = now
	return false
}

// settlersHooks are the hooks for who settles: told less often of what to warn
// of, and of calls if they want to be.
func settlersHooks(to *batch.Hooks, warn func(batch.Warning)) (*batch.Hooks, error) {
	list := []any{&quieter{warn: warn}}
	if to.WantsCalls() {
		list = append(list, calls{to})
	}
	return batch.NewHooks(list...)
}

// calls passes on calls.
type calls struct{ to *batch.Hooks }

// Called implements [batch.CallHook].
func (c calls) Called(ctx context.Context, call batch.Call) { c.to.Called(ctx, call) }
