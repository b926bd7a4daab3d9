package simulate

import (
	"cmp"
	"slices"
	"sync"
	"testing/synctest"
	"time"

	"github.com/sqsbatch/sqsbatch/internal/sleep"
	"github.com/sqsbatch/sqsbatch/test/random"
)

// turns has what happens in a history happen one after another. Whatever the simulator sees or
// does waits for its turn: calls and their answers, handlers, hooks and processes. The next turn
// comes when every goroutine of the bubble waits, and goes to one of those who asked, drawn from
// the seed. So neither Go's scheduler nor its order of timers decides what comes first.
//
// A turn takes a nanosecond. What begins in different turns therefore has deadlines and timers at
// different times, which would fire in a random order if they were the same.
type turns struct {
	draw   random.Rand
	since  time.Time // the moment of the latest turns
	drawn  []byte
	atOnce int // turns that there were in it

	mu      sync.Mutex
	waiting []*turn
	asked   chan struct{} // has a value when anyone waits
	over    bool
	ended   chan struct{} // closed when run has returned
}

// anInstant is longer than the turns of a moment take together: what happens within it happens at once.
const anInstant = 100 * time.Microsecond

// same reports whether what happened at two times happened at once.
func same(a, b time.Time) bool { return a.Sub(b).Abs() <= anInstant }

type turn struct {
	who   string
	comes chan struct{}
}

func newTurns(seed uint64) *turns {
	return &turns{draw: random.New(seed, 0x7475_726e), asked: make(chan struct{}, 1), ended: make(chan struct{})}
}

// wait returns when it is the caller's turn. who tells apart those who may wait at the same time. The
// caller holds no lock.
func (t *turns) wait(who string) {
	mine := &turn{who, make(chan struct{})}
	t.mu.Lock()
	if t.over {
		t.mu.Unlock()
		return
	}
	t.waiting = append(t.waiting, mine)
	sleep.Wake(t.asked)
	t.mu.Unlock()
	<-mine.comes
}

// run gives turns until end.
func (t *turns) run() {
	defer close(t.ended)
	for range t.asked {
		for {
			synctest.Wait()
			next := t.next()
			if next == nil {
				break
			}
			time.Sleep(t.takes())
			synctest.Wait()
			close(next.comes)
		}
	}
}

// takes is how long the next turn takes. A storm, in which no time passes but that of turns, would
// never end: from time to time one of its turns takes a second, and the history is seen to have too much in it.
func (t *turns) takes() time.Duration {
	if now := time.Now(); now.Sub(t.since) > anInstant {
		t.since, t.atOnce = now, 0
	}
	if t.atOnce++; t.atOnce%storm == 0 {
		return time.Second
	}
	return 1
}

// storm is more turns than any sound history has at one moment.
const storm = 5_000

func (t *turns) next() *turn {
	t.mu.Lock()
	defer t.mu.Unlock()
	if len(t.waiting) == 0 {
		return nil
	}
	slices.SortStableFunc(t.waiting, func(a, b *turn) int { return cmp.Compare(a.who, b.who) })
	k := 0
	if len(t.waiting) > 1 {
		k = t.draw.IntN(len(t.waiting))
		t.drawn = append(t.drawn, byte(k))
	}
	next := t.waiting[k]
	t.waiting = slices.Delete(t.waiting, k, k+1)
	return next
}

// end lets everyone go on who waits, now and later.
func (t *turns) end() {
	t.mu.Lock()
	t.over = true
	for _, w := range t.waiting {
		close(w.comes)
	}
	t.waiting = nil
	close(t.asked)
	t.mu.Unlock()
	<-t.ended // time stands still once Run has returned
}
