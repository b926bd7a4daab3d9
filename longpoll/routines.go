package longpoll

import (
	"sync"
	"time"
)

// hungAfter is after how long something that should take no time, such as a
// hook, counts as one that hangs.
const hungAfter = 30 * time.Second

// routines are the goroutines of calls and hooks. Unlike a [sync.WaitGroup] it
// can be waited for with a bound, and knows how old the oldest hook is.
type routines struct {
	mu   sync.Mutex
	n    int
	idle chan struct{} // closed when n falls to 0, if someone waits

	hooks []*cohort // that are being called, the oldest first
}

// cohort counts the hooks that were called within a few seconds of its first:
// one time for each of them would cost more.
type cohort struct {
	began time.Time
	n     int
}

const cohortSpan = 5 * time.Second

// Go runs f, which has a bound of its own.
func (r *routines) Go(f func()) {
	r.mu.Lock()
	r.n++
	r.mu.Unlock()
	go func() {
		defer r.done()
		f()
	}()
}

// hook runs f, which calls hooks and so takes as long as they like.
func (r *routines) hook(f func()) {
	r.Go(func() { r.watch(f) })
}

// watch calls f, which calls hooks, so that one that hangs is seen.
func (r *routines) watch(f func()) {
	now := time.Now()
	r.mu.Lock()
	last := len(r.hooks) - 1
	if last < 0 || now.Sub(r.hooks[last].began) >= cohortSpan {
		r.hooks = append(r.hooks, &cohort{began: now})
		last++
	}
	c := r.hooks[last]
	c.n++
	r.mu.Unlock()
	defer func() {
		r.mu.Lock()
		defer r.mu.Unlock()
		c.n--
		for len(r.hooks) > 0 && r.hooks[0].n == 0 {
			r.hooks = r.hooks[1:]
		}
	}()
	f()
}

func (r *routines) done() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.n--
	if r.n == 0 && r.idle != nil {
		close(r.idle)
		r.idle = nil
	}
}

// hung reports whether a hook hangs.
func (r *routines) hung(now time.Time) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return len(r.hooks) > 0 && now.Sub(r.hooks[0].began) > hungAfter+cohortSpan
}

// wait waits until all have returned, at most until late.
func (r *routines) wait(late time.Time) {
	r.mu.Lock()
	if r.n == 0 {
		r.mu.Unlock()
		return
	}
	idle := make(chan struct{})
	r.idle = idle
	r.mu.Unlock()
	timer := time.NewTimer(time.Until(late))
	defer timer.Stop()
	select {
	case <-idle:
	case <-timer.C:
	}
}
