package simulate

import (
	"cmp"
	"slices"
	"time"

	"github.com/sqsbatch/sqsbatch/longpoll"
)

// Process is one run of a poller.
type Process struct {
	Number  int
	Replica int
	Queue   string
	Limits  Limits
	Began   Moment
	// Stopping is when it was asked to stop, How in which way, and Patience how
	// long it may take.
	Stopping Moment
	How      Ending
	Patience time.Duration
	Killed   Moment
	Returned Moment // Run
	Err      error
	Paused   []*Paused

	Work
}

// Limits are what a process is configured to keep, defaults included.
type Limits struct {
	Concurrency, Prefetch                  int
	Wait, RecordTimeout, Grace, DrainLimit time.Duration
	EndGrace                               time.Duration // the grace at the end of the visibility, without heartbeats
}

// Paused is a time in which a process was paused.
type Paused struct{ From, Until Moment }

// limits says in the words of the documentation what the configuration means.
func (p *Process) limits(cfg longpoll.Config, q Queue) {
	l := Limits{
		Concurrency: cfg.Engine.Concurrency, Prefetch: cfg.Prefetch,
		Wait: cmp.Or(cfg.Wait, 20*time.Second), Grace: cmp.Or(cfg.Engine.Grace, time.Second), DrainLimit: cfg.DrainLimit,
		RecordTimeout: cfg.Engine.RecordTimeout,
	}
	l.DrainLimit = cmp.Or(l.DrainLimit, max(time.Second, 25*time.Second-l.Grace))
	l.Concurrency = cmp.Or(l.Concurrency, 10)
	switch l.Prefetch {
	case 0:
		if l.Prefetch = max(l.Concurrency, 10); !q.FIFO() {
			l.Prefetch = max(l.Prefetch, min(4*l.Concurrency, 320))
		}
	case -1:
		l.Prefetch = 0
	}
	if l.EndGrace = l.Grace; cfg.NoHeartbeat {
		// At the end of the visibility the grace is part of the margin.
		hidden := cmp.Or(cfg.Visibility, q.Visibility)
		l.EndGrace = min(l.Grace, hidden/10/4, 5*time.Second/4)
	} else {
		l.RecordTimeout = cmp.Or(l.RecordTimeout, 15*time.Minute)
	}
	p.Limits = l
}

// gone is when the process was no more.
func (p *Process) gone() Moment {
	if p.Killed.Before(p.Returned) {
		return p.Killed
	}
	return p.Returned
}

// slow is how long a call may take that counts as answered well.
const slow = 300 * time.Millisecond

// clean reports whether every call of some operations was answered well and soon.
func (p *Process) clean(operations ...string) bool {
	return !slices.ContainsFunc(p.Calls, func(c *Call) bool {
		switch {
		case len(operations) > 0 && !slices.Contains(operations, c.Operation), c.Operation == "ReceiveMessage" && p.gaveUp(c):
			return false
		case c.Operation == "ReceiveMessage":
			return !c.clean()
		}
		return !c.clean() || c.Ended.At.Sub(c.Began.At) > slow
	})
}

// gaveUp reports whether the process did not wait for a receive any more.
func (p *Process) gaveUp(c *Call) bool {
	return c.GivenUp || !c.Ended.Came() && p.Returned.Came() && !p.Killed.Came()
}

// overIn is when a handling ended for all that its process knows, at the
// earliest: it returned, or its context ended and it was given up after its grace.
func (h *Handling) overIn() Moment { return h.overAfter(h.Process.Limits.EndGrace) }

func (h *Handling) overAfter(grace time.Duration) Moment {
	first := h.Ended
	if h.Canceled.Came() {
		if given := h.Canceled.At.Add(grace); !h.Ended.Came() || given.Before(h.Ended.At) {
			first = Moment{At: given, Seq: h.Canceled.Seq}
		}
	}
	if gone := h.Process.gone(); !first.Came() || gone.Came() && gone.At.Before(first.At) {
		first = gone
	}
	return first
}

// fails reports whether its process may count a handling as a failure: it failed,
// or may have been given up on before it succeeded.
func (h *Handling) fails() bool {
	return !h.End.done() || h.Canceled.Came() && !h.Ended.At.Before(h.overIn().At)
}
