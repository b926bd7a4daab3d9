// Package track converts the events of the emulators and the output of the function into
// events that `sqsbatch local` shows: the outcome of each record, the end of each
// invocation or process, and the progress of the run.
//
// A Tracker has three inputs, each with methods that return at once: the queue's events
// ([Tracker.Queue]), the event source mapping's events ([Tracker.Started], [Tracker.Ended])
// and the function's output ([Tracker.Line]). For containers, the inputs are the queue's
// events, starts and ends of processes ([Tracker.Process]), and the processes' output
// ([Tracker.ProcessLine]). Options.Emit gets the events, in order and one at a time:
//
//	t := track.New(track.Options{Sources: []string{"orders"}, Emit: show})
//	go t.Run(ctx)
//
// The inputs are not synchronized: a line that the function wrote before its answer may
// come after the answer. So a Tracker waits a moment for such lines before the records of
// an invocation are final. [Stats] measure the run.
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
	// Containers is true if processes poll: see [Tracker.ProcessLine].
	Containers bool
	// Timeout is the function's timeout.
	Timeout time.Duration
	// Emit is called with every event, from Run's goroutine.
	Emit func(Event)
}

// grace is the time after an invocation's answer in which its lines may come.
const grace = 300 * time.Millisecond

// A Tracker counts messages and invocations. It is safe for concurrent use.
type Tracker struct {
	o    Options
	wake chan struct{}
	done chan struct{}

	inboxMu sync.Mutex
	inbox   []func() // inputs that were not handled yet, in order of arrival

	mu           sync.Mutex
	out          []Event                // events to emit without mu
	messages     map[string]*message    // by id: all messages
	alive        map[string]*message    // by id: the messages in the source queues
	invocations  map[string]*invocation // by request id, until they are final
	unreported   map[string]*message    // containers: deleted messages whose line has not come yet
	running      int                    // containers: number of processes
	lastInFlight time.Time              // containers: last time at which a message was in flight
	progress     Progress
	dead         []Dead
	toolkit      bool // the function has logged a line of the toolkit
	finals       int  // number of final invocations
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

// Run handles input until ctx ends, and then the remaining input.
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

// AllSent lets [Tracker.Done] close: this tool sends no more messages.
func (t *Tracker) AllSent() {
	t.post(func() { t.allSent = true })
}

// Done is closed when every message is done and AllSent was called.
func (t *Tracker) Done() <-chan struct{} { return t.done }

// Progress returns the current state.
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

// Dead returns the dead-lettered messages, in order.
func (t *Tracker) Dead() []Dead {
	t.mu.Lock()
	defer t.mu.Unlock()
	return append([]Dead(nil), t.dead...)
}

// post queues an input. It does not block, because callers hold the emulator's lock.
func (t *Tracker) post(f func()) {
	t.inboxMu.Lock()
	t.inbox = append(t.inbox, f)
	t.inboxMu.Unlock()
	sleep.Wake(t.wake)
}

// handle handles the inbox and finishes invocations whose grace is over at now. It returns
// the end of the next grace, false if there is none.
func (t *Tracker) handle(now time.Time) (next time.Time, ok bool) {
	t.inboxMu.Lock()
	inbox := t.inbox
	t.inbox = nil
	t.inboxMu.Unlock()

	t.mu.Lock()
	for _, f := range inbox {
		f()
	}
	for _, inv := range t.complete(now) {
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

// lastAttempt reports whether SQS dead-letters a failed record next.
func (t *Tracker) lastAttempt(r Record) bool {
	m := t.messages[r.MessageID]
	if m == nil || r.Done() {
		return false
	}
	limit := t.o.MaxReceiveCounts[m.queue]
	return limit > 0 && r.Attempt >= limit
}

// age returns the time since a message was sent, negative if that is unknown.
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
