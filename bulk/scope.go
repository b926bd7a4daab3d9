package bulk

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/sqsbatch/sqsbatch/internal/runner"
)

// scope is what gathers: the records of a batch, or of a queue in a long poll.
type scope[T any] struct {
	*handler[T]
	alone bool          // there is no engine: nothing else will come
	slots int           // how many records can wait here at a time; 0 when the engine calls Idle
	grace time.Duration // after which the engine gives up on a record

	mu      sync.Mutex
	open    *chunk[T]   // takes records; nil if there is none
	full    []*chunk[T] // wait for their turn
	writing int         // chunks, but for those that were given up
	waiting int         // records whose Handle waits here and whose context has not ended
}

func newScope[T any](h *handler[T], view *runner.View) *scope[T] {
	s := &scope[T]{handler: h, alone: view == nil}
	if view != nil {
		s.grace = view.Config().Grace
		if view.More() {
			s.slots = view.Config().Concurrency
		}
	}
	return s
}

// ticket is a record's part in a chunk.
type ticket[T any] struct {
	item    Item[T]
	verdict verdict
	next    *ticket[T] // the record behind it in its FIFO group, if the chunk has it
	chunk   *chunk[T]  // set by join
	done    chan struct{}

	// Guarded by the scope's lock.
	left  bool // it was taken out of its chunk
	over  bool // it has its outcome; done is closed next
	ended bool // its context has ended while it waited

	// Of records whose Handle waits, rather than that of one before them.
	ctx    context.Context
	runner *runner.View // that is given the answers for those behind; may be nil
}

// heads reports whether the record's own Handle waits for the chunk.
func (t *ticket[T]) heads() bool { return t.ctx != nil }

// join puts a record into a chunk, with those behind it that fit in.
func (s *scope[T]) join(t *ticket[T]) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.waiting++
	if s.open != nil && !s.fits(s.open, t) {
		s.close()
	}
	if s.open == nil {
		s.open = s.newChunk(t.ctx)
	}
	c := s.open
	c.heads++
	for last := t; ; last = last.next {
		c.add(last)
		if last.next != nil && !s.fits(c, last.next) {
			last.next = nil // it will be the first of its group in another chunk
		}
		if last.next == nil {
			break
		}
	}
	switch {
	case len(c.tickets) >= s.cfg.MaxItems || c.bytes >= s.cfg.MaxBytes:
		s.close()
	case s.alone || s.slots > 0 && s.waiting >= s.slots:
		c.due = true
	}
	s.write()
}

func (s *scope[T]) fits(c *chunk[T], t *ticket[T]) bool {
	return len(c.tickets) < s.cfg.MaxItems && c.bytes+len(t.item.Record.Body) <= s.cfg.MaxBytes
}

// newChunk opens a chunk for a first record, which waits for others up to half of
// its time.
func (s *scope[T]) newChunk(ctx context.Context) *chunk[T] {
	c := &chunk[T]{}
	if s.alone {
		return c
	}
	wait := s.cfg.Linger
	if deadline, ok := ctx.Deadline(); ok {
		wait = min(wait, time.Until(deadline)/2)
	}
	c.timer = time.AfterFunc(wait, func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		c.due = true
		s.write()
	})
	return c
}

// close lets nothing more into the open chunk.
func (s *scope[T]) close() {
	s.full = append(s.full, s.open)
	s.open = nil
}

// Idle is called by the engine when no further record can join.
func (s *scope[T]) Idle() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.open != nil {
		s.open.due = true
		s.write()
	}
}

// write begins to write what is full or due, as far as there is place. What is
// only due takes further records until then.
func (s *scope[T]) write() {
	for s.writing < s.cfg.Parallel {
		c := s.open
		switch {
		case len(s.full) > 0:
			c, s.full = s.full[0], s.full[1:]
		case c != nil && c.due:
			s.open = nil
		default:
			return
		}
		if c.timer != nil {
			c.timer.Stop()
		}
		for _, t := range slices.Clone(c.tickets) {
			if t.heads() && t.ctx.Err() != nil {
				s.takeOut(t) // it is about to leave
			}
		}
		c.begun = true
		if len(c.tickets) == 0 {
			continue
		}
		s.writing++
		go s.writeChunk(c)
	}
}

// putOff ends what has not begun with an abort of what has: it would fare no
// better. The caller wakes its records.
func (s *scope[T]) putOff(abort error) (over []*chunk[T]) {
	if over = s.full; s.open != nil {
		over = append(over, s.open)
	}
	s.full, s.open = nil, nil
	err := fmt.Errorf("bulk: not written, another chunk says that it would fail: %w", abort)
	for _, c := range over {
		if c.timer != nil {
			c.timer.Stop()
		}
		c.begun, c.over = true, true
		for _, t := range c.tickets {
			t.verdict.seal(err)
		}
	}
	return over
}

// takeOut takes a record out of a chunk that has not begun, with what it took along.
func (s *scope[T]) takeOut(t *ticket[T]) {
	t.left = true
	s.waiting--
	c := t.chunk
	c.heads--
	for ; t != nil; t = t.next {
		c.remove(t)
	}
}

// leave takes a record whose context has ended out of its chunk, and reports
// whether it could: not once the chunk has begun, whose context ends with those
// of all its records.
func (s *scope[T]) leave(t *ticket[T]) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	c := t.chunk
	switch {
	case t.left:
		return true
	case t.over:
		return false
	case c.begun:
		s.waiting--
		t.ended = true
		c.ended++
		if c.cancel != nil && c.allEnded() {
			c.cancel()
		}
		return false
	}
	s.takeOut(t)
	if len(c.tickets) > 0 {
		return true
	}
	if c.timer != nil {
		c.timer.Stop()
	}
	if s.open == c {
		s.open = nil
	}
	s.full = slices.DeleteFunc(s.full, func(other *chunk[T]) bool { return other == c })
	return true
}
