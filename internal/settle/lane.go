package settle

import (
	"slices"
	"time"

	"github.com/sqsbatch/sqsbatch/internal/runner"
)

// MaxEntries is the limit of a batch call, see "Amazon SQS batch actions" in the Developer
// Guide.
const MaxEntries = 10

const (
	// maxTries is how often a call is made for an entry if SQS answers with an error that
	// may pass.
	maxTries = 3
	// retryDelay is after how long that is tried again, at first.
	retryDelay = 100 * time.Millisecond
	// firstDelay is between two calls while SQS does not answer, or throttles, at first.
	firstDelay = 200 * time.Millisecond
	// lastDelay limits both: they double. During a stop, hurriedDelay is the limit.
	lastDelay    = 4 * time.Second
	hurriedDelay = 500 * time.Millisecond
	// oneByOne is after how many calls in a row without an answer each has one entry.
	oneByOne = 8
	// lastWord is the time left when the last try must have begun, so that the batch can
	// report the error.
	lastWord = 20 * time.Millisecond
)

// lane holds the deliveries that wait for calls of one operation on one queue, and the state
// of those calls. While SQS answers none of them, they are made one at a time, with pauses,
// so that an endpoint that cannot be reached is tried rarely.
type lane struct {
	op       operation
	arn      string
	list     []*runner.Delivery // in the order in which they were added, or failed
	until    time.Time          // no Until of list is earlier; zero for never
	calls    int                // under way
	answered time.Time          // when SQS last answered
	failing  int                // calls in a row that were not answered
	pause    time.Time          // until then no call is made
	refused  bool               // SQS refuses the calls: before pause only patient deliveries stay
}

// enqueue adds a delivery to the lane of an operation and the record's queue.
func (s *Settler) enqueue(op operation, d *runner.Delivery) {
	arn := d.Result.Record.QueueARN
	k := slices.IndexFunc(s.lanes, func(l *lane) bool { return l.op == op && l.arn == arn })
	if k < 0 {
		k = len(s.lanes)
		s.lanes = append(s.lanes, &lane{op: op, arn: arn})
	}
	l := s.lanes[k]
	l.until = sooner(l.until, d.Settling.Until)
	if d.Settling.Due.IsZero() {
		d.Settling.Lingers, d.Settling.Due = true, time.Now().Add(s.linger)
	}
	l.list = append(l.list, d)
}

// hasRoom reports whether another call may be under way.
func (s *Settler) hasRoom(l *lane) bool {
	return l.calls < s.maxCalls && (l.failing == 0 || l.calls == 0)
}

// due is when the next call of a lane begins, or something of it is to be given up, if SQS
// answers nothing before; zero for never.
func (s *Settler) due(l *lane) (next time.Time) {
	if len(l.list) == 0 {
		return next
	}
	over := l.until
	if l.failing > 0 {
		over = sooner(over, s.lastTry)
	}
	if !s.hasRoom(l) {
		return over
	}
	for _, d := range l.list {
		if !l.waits(d) {
			next = sooner(next, later(d.Settling.Due, l.pause))
		}
	}
	return sooner(next, over)
}

// longestDelay returns the limit of the time between two tries, and between two calls.
func (s *Settler) longestDelay() time.Duration {
	if s.hurried {
		return hurriedDelay
	}
	return lastDelay
}

// waits reports whether a call would be undone by an extension of d that is open.
func (l *lane) waits(d *runner.Delivery) bool { return d.Extending && l.op == opVisibility }

// later is the later of two times.
func later(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}
	return b
}

// sooner is the earlier of two times, of which zero is never.
func sooner(a, b time.Time) time.Time {
	if a.IsZero() || !b.IsZero() && b.Before(a) {
		return b
	}
	return a
}

// aside calls f on a goroutine of its own, and after that calls then with the owner's lock.
func (s *Settler) aside(f, then func()) {
	s.calls.Add(1)
	go func() {
		f()
		s.owner.Do(func() {
			s.calls.Add(-1)
			then()
		})
	}()
}
