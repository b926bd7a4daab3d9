package bulk

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/sqsbatch/sqsbatch/internal/runner"
)

// scope gathers the records of a batch, or of a queue in a long poll.
type scope[T any] struct {
	*handler[T]
	alone bool          // there is no engine, so no other record will come
	slots int           // the largest number of waiting records; 0 if the engine calls Idle
	grace time.Duration // from the end of a record's context until the engine abandons it

	mu      sync.Mutex
	open    *chunk[T]   // accepts records; may be nil
	full    []*chunk[T] // to be written
	writing int         // chunks being written, except chunks that lost their place
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

// ticket is a record in a chunk.
type ticket[T any] struct {
	item    Item[T]
	verdict verdict
	next    *ticket[T] // the record behind it in its FIFO group, if that is in the chunk
	before  *ticket[T] // the record before it, likewise
	chunk   *chunk[T]  // set by join
	done    chan struct{}

	// The scope's lock guards the following fields.
	left  bool // the record was taken out of its chunk
	over  bool // the record has its outcome; done is closed next
	ended bool // ctx ended while the record waited

	// Only for records whose own Handle waits.
	ctx    context.Context
	runner *runner.View // nil if there is no engine
}

// heads reports whether the record's own Handle waits for the chunk.
func (t *ticket[T]) heads() bool { return t.ctx != nil }

// inherited returns a context with the values that all records of a batch have.
func (t *ticket[T]) inherited() context.Context {
	if t.runner == nil {
		return t.ctx
	}
	return t.runner.Inherited()
}

// join puts a record into a chunk, together with the records behind it that fit.
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
			last.next = nil // becomes the first of its group in another chunk
		}
		if last.next == nil {
			break
		}
		last.next.before = last
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

// newChunk opens a chunk for a first record with context ctx, which waits for others for up to
// half of its remaining time.
func (s *scope[T]) newChunk(ctx context.Context) *chunk[T] {
	c, wait := &chunk[T]{}, s.cfg.Linger
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

// close closes the open chunk to further records.
func (s *scope[T]) close() {
	s.full = append(s.full, s.open)
	s.open = nil
}

// Waiting returns the number of records whose Handle waits here.
func (s *scope[T]) Waiting() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.waiting
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

// write starts to write chunks that are full or due, as far as Parallel allows. A due chunk
// accepts more records until its write starts.
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
		c.timer.Stop()
		for _, t := range slices.Clone(c.tickets) {
			if t.heads() && t.ctx.Err() != nil {
				s.takeOut(t) // Handle is about to return
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

// putOff ends the chunks that were not begun, because another chunk returned an abort and they
// would fail too. The caller wakes their records.
func (s *scope[T]) putOff(abort error) (over []*chunk[T]) {
	if over = s.full; s.open != nil {
		over = append(over, s.open)
	}
	s.full, s.open = nil, nil
	err := fmt.Errorf("bulk: not written, because another chunk was aborted: %w", abort)
	for _, c := range over {
		c.timer.Stop()
		c.begun, c.over = true, true
		for _, t := range c.tickets {
			t.verdict.set(err, true)
		}
	}
	return over
}

// takeOut takes a record, and the records that joined with it, out of a chunk that was not
// begun.
func (s *scope[T]) takeOut(t *ticket[T]) {
	t.left = true
	s.waiting--
	c := t.chunk
	c.heads--
	for ; t != nil; t = t.next {
		c.remove(t)
	}
}

// leave takes a record whose context has ended out of its chunk. It returns false if the
// chunk has begun; the chunk's context then ends together with those of all its records.
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
	c.timer.Stop()
	if s.open == c {
		s.open = nil
	}
	s.full = slices.DeleteFunc(s.full, func(other *chunk[T]) bool { return other == c })
	return true
}
