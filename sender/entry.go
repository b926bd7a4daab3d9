package sender

import (
	"context"
	"errors"
	"fmt"
	"time"
)

// entry is a message in the buffer. The first block of fields does not change. The sender's
// lock guards the others.
type entry struct {
	ctx     context.Context // of the caller, for values
	message Message         // as passed by the caller
	held    int             // size of message, counted in Sender.bytes
	done    func(Result)

	sent   Message // for SQS; not changed when ready is set
	size   int     // of sent
	ready  bool    // for a call
	wrong  error   // why the message cannot be sent; it fails when its turn comes
	traced func(Result)
	sends  *Sends             // owner; nil for none
	cancel context.CancelFunc // ends Config.Prepare

	came   time.Time // arrival in the buffer
	number uint64    // in order of arrival; 0 until the message has a place in the buffer
	atOnce bool      // the message does not linger
	since  time.Time // start of the linger
	lane   *lane     // of the group; nil on a standard queue

	place    link   // in Sender.buffered
	queue    *queue // that has the message; nil for none
	at       link   // in queue
	call     bool   // the message is in a call
	over     bool   // the message has a result
	reported bool   // the caller has the result
	last     bool   // no retry after the call in flight
	failed   bool   // messages behind this one in the lane fail

	tries  int
	err    error     // of the latest try
	unsure time.Time // start of the first try that may have sent the message; zero for none
}

// mayHaveBeenSent reports whether SQS may have the message. The answer to a call in flight is
// unknown.
func (e *entry) mayHaveBeenSent() bool { return e.call || !e.unsure.IsZero() }

// failure returns the result of a message that failed with reason, to which it adds the error
// of the latest try.
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

// refusal returns why a message gets no place in the buffer, or nil.
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

// report passes the result to the function that Config.Trace returned. It is called once,
// without the lock.
func (e *entry) report(r Result) {
	if e.traced != nil {
		e.traced(r)
	}
}

// outcome is a message with a result that the caller does not have yet.
type outcome struct {
	entry  *entry
	result Result
}

// chain is a list of entries in order of push. The zero value is empty. Fields of the entries
// link them, so an element needs no allocation.
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

// queue is a chain of entries that wait. The zero value is ready to use.
type queue struct {
	chain
	bytes  int
	atOnce int // entries that do not linger
}

func (q *queue) push(e *entry) {
	e.queue = q
	q.chain.push(&e.at, e)
	q.bytes += e.size
	if e.atOnce {
		q.atOnce++
	}
}

// leave removes the entry from its queue, if it is in one.
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

// lookahead is the largest number of messages considered for a call. Most calls are full
// before.
const lookahead = 64

// moveTo moves entries that fit into a call to batch, in order. A message that is too large
// for the rest of the call stays for the next one.
func (q *queue) moveTo(batch []*entry) []*entry {
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

// cause returns why a context has ended, for errors.Is of both ctx.Err and context.Cause.
func cause(ctx context.Context) error {
	err, cause := ctx.Err(), context.Cause(ctx)
	if errors.Is(cause, err) {
		return cause
	}
	return fmt.Errorf("%w: %w", err, cause)
}
