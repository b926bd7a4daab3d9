// Package track turns the events of the emulators and the output of the function
// into events that `sqsbatch local` shows: the outcome of each record, the end of
// each invocation or process, and how far the run is.
//
// Three streams come in, each through a method that returns at once: the events of
// the queue ([Tracker.Queue]), those of the event source mapping ([Tracker.Started],
// [Tracker.Ended]) and the output of the function ([Tracker.Line]). For containers
// they are the events of the queue, starts and ends of processes
// ([Tracker.Process]), and the output of processes ([Tracker.ProcessLine]). Events
// go out, in order and one at a time, to Options.Emit:
//
//	t := track.New(track.Options{Sources: []string{"orders"}, Emit: show})
//	go t.Run(ctx)
//
// The streams are not synchronized: a line that the function wrote before it
// answered may arrive after the answer. So a Tracker waits a moment for such lines
// before the records of an invocation are final.
package track

import (
	"context"
	"sync"
	"time"

	"github.com/sqsbatch/sqsbatch/internal/sleep"
)

// Options configures a Tracker.
type Options struct {
	// Sources are the names of the function's queues.
	Sources []string
	// MaxReceiveCounts has the maxReceiveCount of each source with a dead-letter queue,
	// by the name of the source.
	MaxReceiveCounts map[string]int
	// Containers says that processes poll: see [Tracker.ProcessLine].
	Containers bool
	// Timeout is how long an invocation may take.
	Timeout time.Duration
	// Emit is called with every event, from Run's goroutine.
	Emit func(Event)
}

// grace is how long after the answer lines are waited for.
const grace = 300 * time.Millisecond

// A Tracker counts messages and invocations. It is safe for concurrent use.
type Tracker struct {
	o    Options
	wake chan struct{}
	done chan struct{}

	inboxMu sync.Mutex
	inbox   []func() // inputs not yet looked at, in order of arrival

	mu           sync.Mutex
	out          []Event // to emit once mu is free
	messages     map[string]*message
	alive        map[string]*message
	invocations  map[string]*invocation // by request id; those not final yet
	unreported   map[string]*message    // of containers: deleted, the line is to come
	running      int                    // of containers: processes
	lastInFlight time.Time              // of containers: when something was last in flight
	progress     Progress
	dead         []Dead
	toolkit      bool // the function has logged as sqsbatch does
	finals       int  // invocations that became final
	allSent      bool
}

// New returns a Tracker that does nothing until Run.
func New(o Options) *Tracker {
	return &Tracker{
		o:           o,
		wake:        make(chan struct{}, 1),
		done:        make(chan struct{}),
		messages:    map[string]*message{},
		alive:       map[string]*message{},
		invocations: map[string]*invocation{},
		unreported:  map[string]*message{},
	}
}

// Run handles input until ctx ends, and then the input that is already there.
func (t *Tracker) Run(ctx context.Context) {
	timer := time.NewTimer(time.Hour)
	defer timer.Stop()
	for {
		if next, ok := t.handle(time.Now()); ok {
			timer.Reset(time.Until(next))
		} else {
			timer.Stop()
		}
		select {
		case <-t.wake:
		case <-timer.C:
		case <-ctx.Done():
			t.handle(time.Now().Add(grace))
			return
		}
	}
}

// AllSent says that no more messages will be sent by this tool; see [Tracker.Done].
func (t *Tracker) AllSent() {
	t.post(func() { t.allSent = true })
}

// Done is closed when every message is done and AllSent was called.
func (t *Tracker) Done() <-chan struct{} { return t.done }

// Progress returns the present state.
func (t *Tracker) Progress() Progress {
	t.mu.Lock()
	defer t.mu.Unlock()
	p := t.progress
	p.InFlight = len(t.unreported)
	now := time.Now()
	visible := false
	for _, m := range t.alive {
		if m.inFlight > 0 || m.held && m.due.After(now) {
			p.InFlight++
			continue
		}
		p.Waiting++
		in := m.due.Sub(now)
		if in <= 0 {
			visible = true
		} else if p.Next == "" || in < p.NextIn {
			p.Next, p.NextIn = m.body, in
		}
	}
	if visible {
		p.Next, p.NextIn = "", 0
	}
	return p
}

// Dead lists the messages that went to the dead-letter queue, in order.
func (t *Tracker) Dead() []Dead {
	t.mu.Lock()
	defer t.mu.Unlock()
	return append([]Dead(nil), t.dead...)
}

// post queues an input without blocking: callers hold the emulator's lock.
func (t *Tracker) post(f func()) {
	t.inboxMu.Lock()
	t.inbox = append(t.inbox, f)
	t.inboxMu.Unlock()
	sleep.Wake(t.wake)
}

// handle works off the inbox and finishes invocations whose grace is over at
// now. It returns when the next grace ends, if any runs.
func (t *Tracker) handle(now time.Time) (next time.Time, ok bool) {
	t.inboxMu.Lock()
	inbox := t.inbox
	t.inbox = nil
	t.inboxMu.Unlock()

	t.mu.Lock()
	for _, f := range inbox {
		f()
	}
	for _, inv := range t.ripe(now) {
		t.finish(inv)
	}
	if at, waits := t.finishUnreported(now); waits {
		next, ok = at, true
	}
	for _, inv := range t.invocations {
		if inv.end != nil && (!ok || inv.final.Before(next)) {
			next, ok = inv.final, true
		}
	}
	out := t.out
	t.out = nil
	finished := t.allSent && len(t.alive)+len(t.invocations)+len(t.unreported) == 0
	t.mu.Unlock()

	for _, e := range out {
		t.o.Emit(e)
	}
	if finished {
		select {
		case <-t.done:
		default:
			close(t.done)
		}
	}
	return next, ok
}

func (t *Tracker) emit(e Event) {
	if r, ok := e.(Record); ok {
		if r.Age == 0 {
			r.Age = t.age(r.MessageID)
		}
		r.LastAttempt = t.lastAttempt(r)
		e = r
	}
	t.out = append(t.out, e)
}

// lastAttempt says whether a record that failed goes to the dead-letter queue next.
func (t *Tracker) lastAttempt(r Record) bool {
	m := t.messages[r.MessageID]
	if m == nil || r.Done() {
		return false
	}
	limit := t.o.MaxReceiveCounts[m.queue]
	return limit > 0 && r.Attempt >= limit
}

// age is how long ago a message was sent, and negative when that is not known.
func (t *Tracker) age(id string) time.Duration {
	if m := t.messages[id]; m != nil && !m.sent.IsZero() {
		return max(1, time.Since(m.sent))
	}
	return -1
}

// Warn emits a warning of this tool.
func (t *Tracker) Warn(text string) {
	t.post(func() { t.emit(Warning{Text: text}) })
}
