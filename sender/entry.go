package sender

import (
	"context"
	"errors"
	"fmt"
	"time"
)

// entry is a message in the buffer. The sender's lock guards its fields, except those of the
// first block, which do not change.
type entry struct {
	ctx     context.Context // of its caller, for values
	message Message         // as its caller gave it
	held    int             // its size in the buffer
	done    func(Result)

	sent   Message // as SQS gets it; not changed when ready is set
	size   int     // of sent
	ready  bool    // it can go into a call
	wrong  error   // why it cannot be sent; it fails when its turn comes
	traced func(Result)
	sends  *Sends             // that it belongs to; nil for none
	cancel context.CancelFunc // ends Config.Prepare

	came   time.Time // when it came into the buffer
	number uint64    // counts the messages that came; 0 until it has a place in the buffer
	atOnce bool      // it does not linger
	since  time.Time // when its linger began
	lane   *lane     // of its group; nil on a standard queue

	place  link   // in Sender.buffered
	queue  *queue // where it waits; nil while it is in a call or backs off
	at     link   // in that queue
	call   bool   // it is in a call
	over   bool   // it has its result
	told   bool   // its caller has the result
	last   bool   // its caller does not want another try
	failed bool   // the messages behind it in its lane fail

	tries  int
	err    error     // of the latest try
	unsure time.Time // when the first try began that may have been taken; zero for none
}

// mayHaveBeenSent reports whether SQS may have the message. It has no answer yet while it is
// in a call.
func (e *entry) mayHaveBeenSent() bool { return e.call || !e.unsure.IsZero() }

// failure returns the result of a message that failed for a reason. The error of the latest
// try is added to it.
func (e *entry) failure(reason error) Result {
	tries := e.tries
	if e.call {
		tries++
	}
	if e.err != nil && !errors.Is(e.err, reason) {
		reason = fmt.Errorf("%w; the latest try: %w", reason, e.err)
	}
	err := &Error{Err: reason, MayHaveBeenSent: e.mayHaveBeenSent(), Tries: tries}
	return Result{Message: e.message, Err: err, MayHaveBeenSent: err.MayHaveBeenSent, Tries: tries}
}

// refuse returns the error of a message that got no place in the buffer.
func (e *entry) refuse(reason error) error {
	r := e.failure(reason)
	e.report(r)
	return r.Err
}

// refusal returns why a message does not get a place in the buffer any more, or nil.
func (s *Sender) refusal(e *entry) error {
	switch {
	case s.closed:
		return ErrClosed
	case e.sends == nil:
		return nil
	case e.sends.gone != nil:
		return e.sends.gone
	case e.sends.broken:
		return ErrRecordFailed
	}
	return nil
}

// report gives a message's result to its trace. It is called once, without the lock.
func (e *entry) report(r Result) {
	if e.traced != nil {
		e.traced(r)
	}
}

// outcome is a message with its result, which its caller does not have yet.
type outcome struct {
	entry  *entry
	result Result
}

// chain is a list of entries, in the order in which they were pushed. The zero value is
// empty. It is linked by fields of the entries, so it takes no memory for each of them.
type chain struct {
	front, back *link
	len         int
}

// link is the place of an entry in a chain.
type link struct {
	entry      *entry
	prev, next *link
}

func (c *chain) push(l *link, e *entry) {
	l.entry, l.prev = e, c.back
	if c.back != nil {
		c.back.next = l
	} else {
		c.front = l
	}
	c.back = l
	c.len++
}

func (c *chain) remove(l *link) {
	if l.prev != nil {
		l.prev.next = l.next
	} else {
		c.front = l.next
	}
	if l.next != nil {
		l.next.prev = l.prev
	} else {
		c.back = l.prev
	}
	*l = link{}
	c.len--
}

// first returns the first entry, nil if there is none.
func (c *chain) first() *entry {
	if c.front == nil {
		return nil
	}
	return c.front.entry
}

// queue has entries that wait. The zero value is ready to use.
type queue struct {
	chain
	bytes  int
	atOnce int // those that do not linger
}

func (q *queue) push(e *entry) {
	e.queue = q
	q.chain.push(&e.at, e)
	q.bytes += e.size
	if e.atOnce {
		q.atOnce++
	}
}

// leave takes the entry out of the queue where it waits, if it does.
func (e *entry) leave() {
	q := e.queue
	if q == nil {
		return
	}
	q.remove(&e.at)
	q.bytes -= e.size
	if e.atOnce {
		q.atOnce--
	}
	e.queue = nil
}

// lookahead is how many messages are considered for a place in a call. Most calls are full
// before.
const lookahead = 64

// take moves entries that fit into a call to a batch, in their order. A large message is
// left for the next call if it does not fit.
func (q *queue) take(batch []*entry) []*entry {
	bytes := 0
	for _, e := range batch {
		bytes += e.size
	}
	at := q.front
	for seen := 0; at != nil && seen < lookahead && len(batch) < maxEntries; seen++ {
		e := at.entry
		at = at.next
		if bytes+e.size <= maxBytes {
			e.leave()
			batch = append(batch, e)
			bytes += e.size
		}
	}
	return batch
}

// cause returns why a context has ended, so that errors.Is finds both its own error and the
// cause that it was given.
func cause(ctx context.Context) error {
	err, cause := ctx.Err(), context.Cause(ctx)
	if errors.Is(cause, err) {
		return cause
	}
	return fmt.Errorf("%w: %w", err, cause)
}
