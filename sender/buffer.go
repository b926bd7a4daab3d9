package sender

import (
	"context"
	"time"

	"github.com/sqsbatch/sqsbatch/internal/sleep"
)

// waiter is a caller that waits for a place in the buffer.
type waiter struct {
	entry    *entry
	answered chan struct{}
	err      error // why there is no place
}

// put puts a message into the buffer, or returns an [*Error].
func (s *Sender) put(ctx context.Context, e *entry) error {
	if err := s.accept(ctx, e); err != nil {
		return e.refuse(err)
	}
	return nil
}

// accept puts a message into the buffer. While the buffer is full, it waits; places go to
// callers in order of arrival.
func (s *Sender) accept(ctx context.Context, e *entry) error {
	if ctx.Err() != nil {
		return cause(ctx)
	}
	s.mu.Lock()
	if err := s.refusal(e); err != nil {
		s.mu.Unlock()
		return err
	}
	if s.places.Len() == 0 && s.fits(e) {
		s.add(e, time.Now())
		s.pump()
		s.mu.Unlock()
		return nil
	}
	w := &waiter{entry: e, answered: make(chan struct{})}
	at := s.places.PushBack(w)
	s.mu.Unlock()
	if sleep.Closed(ctx, w.answered) {
		return w.err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if sleep.Closed(ctx, w.answered) { // answered after ctx ended
		return w.err
	}
	s.places.Remove(at)
	s.fill() // the next one may be smaller
	s.pump()
	return cause(ctx)
}

// fits reports whether there is a place for a message. An empty buffer takes a message of
// any size, since Config.Prepare may make it smaller.
func (s *Sender) fits(e *entry) bool {
	return s.buffered.len == 0 || s.buffered.len < s.cfg.MaxBuffered && s.bytes+int64(e.held) <= s.cfg.MaxBufferedBytes
}

// add puts a message into the buffer, and into the queue or lane for calls.
func (s *Sender) add(e *entry, now time.Time) {
	s.numbers++
	e.number, e.came, e.since = s.numbers, now, now
	e.atOnce = e.sends == nil && s.inFlight == 0 && s.ready.len == 0 && now.Sub(s.lastCame) > s.cfg.Linger
	s.lastCame = now
	s.buffered.push(&e.place, e)
	s.bytes += int64(e.held)
	if !e.ready {
		s.prepareLater(e)
	}
	if s.fifo {
		s.enter(e)
	} else {
		s.admit(e)
	}
}

// admit queues a prepared message for a call.
func (s *Sender) admit(e *entry) {
	switch {
	case !e.ready: // prepare calls admit again
	case e.wrong != nil:
		go s.fail(e)
	default:
		s.ready.push(e)
	}
}

// fail ends a message that cannot be sent.
func (s *Sender) fail(e *entry) {
	s.mu.Lock()
	var over []outcome
	if !e.over {
		over = append([]outcome{s.finish(e, e.failure(e.wrong))}, s.failBehind(e)...)
	}
	s.mu.Unlock()
	s.deliver(over)
}

// fill gives free places to callers that wait for them.
func (s *Sender) fill() {
	for at := s.places.Front(); at != nil; at = s.places.Front() {
		w := at.Value.(*waiter)
		if w.err = s.refusal(w.entry); w.err == nil {
			if !s.fits(w.entry) {
				return
			}
			s.add(w.entry, time.Now())
		}
		s.places.Remove(at)
		close(w.answered)
	}
}

// refuse answers callers that wait for a place with err: the callers of sends, or all if
// sends is nil.
func (s *Sender) refuse(err error, sends *Sends) {
	for at := s.places.Front(); at != nil; {
		w, this := at.Value.(*waiter), at
		at = at.Next()
		if sends == nil || w.entry.sends == sends {
			s.places.Remove(this)
			w.err = err
			close(w.answered)
		}
	}
}

// release removes a message from the buffer after its caller got the result. While the
// message is in a call, which needs it, release leaves that to end.
func (s *Sender) release(e *entry) {
	e.reported = true
	if e.call {
		return
	}
	s.buffered.remove(&e.place)
	s.bytes -= int64(e.held)
	s.advance(e)
}

// settled fills free places, ends flushes and starts calls after messages were released.
func (s *Sender) settled() {
	s.fill()
	s.endFlushes()
	s.pump()
}

// finish sets the result of a message. deliver reports it to the caller, and then the message
// can be released.
func (s *Sender) finish(e *entry, r Result) outcome {
	e.over = true
	e.leave()
	if e.sends != nil && r.Err != nil {
		e.sends.broken = true
	}
	if e.cancel != nil {
		e.cancel()
	}
	return outcome{e, r}
}

// giveUp ends messages because of their caller, and returns the outcomes of messages that had
// no result. A message in a call keeps its place until the call ends. With wait, such a
// message gets its result from the call, and no other try.
func (s *Sender) giveUp(reason error, wait bool, list ...*entry) (over []outcome) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, e := range list {
		switch {
		case e.over, e.number == 0: // finished, or without a place
		case wait && e.call:
			e.last = true
		default:
			over = append(over, s.finish(e, e.failure(reason)))
		}
	}
	for _, o := range over {
		s.release(o.entry)
	}
	s.settled()
	return over
}

// deliver reports results to callers, without the lock, and then releases the messages.
// Messages that arrived meanwhile behind a failed one fail, too. They are reported before the
// failed one is released, so that the results of a group keep the group's order.
func (s *Sender) deliver(over []outcome) {
	report(over)
	s.mu.Lock()
	defer s.mu.Unlock()
	var behind []outcome
	for _, o := range over {
		if o.entry.failed {
			behind = append(behind, s.failBehind(o.entry)...)
		}
	}
	if len(behind) > 0 {
		s.mu.Unlock()
		report(behind)
		s.mu.Lock()
	}
	for _, o := range over {
		s.release(o.entry)
	}
	for _, o := range behind {
		s.release(o.entry)
	}
	s.settled()
}

func report(over []outcome) {
	for _, o := range over {
		o.entry.report(o.result)
		o.entry.done(o.result)
	}
}
