package bulk

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"slices"
	"time"

	"github.com/sqsbatch/sqsbatch/batch"
	"github.com/sqsbatch/sqsbatch/internal/ctxkey"
	"github.com/sqsbatch/sqsbatch/internal/runner"
)

// chunk is a set of records that are written with one call. The lock of its scope guards
// its fields.
type chunk[T any] struct {
	tickets []*ticket[T] // within a FIFO group in order
	bytes   int
	heads   int // number of tickets whose Handle waits

	timer *time.Timer // fires when the chunk is due
	due   bool        // the chunk waits for no more records
	begun bool        // no record may join or leave any more
	over  bool        // the function has returned, or will not be called

	deadline time.Time // the earliest deadline of its records; zero if none has one
	cancel   context.CancelFunc
	ended    int         // number of heads whose context has ended
	lost     bool        // another chunk has the place
	giveUp   *time.Timer // frees the place for another chunk
}

func (c *chunk[T]) add(t *ticket[T]) {
	t.chunk = c
	c.tickets = append(c.tickets, t)
	c.bytes += len(t.item.Record.Body)
}

func (c *chunk[T]) remove(t *ticket[T]) {
	c.tickets = slices.DeleteFunc(c.tickets, func(other *ticket[T]) bool { return other == t })
	c.bytes -= len(t.item.Record.Body)
}

// allEnded reports whether no record waits for the chunk any more before the chunk's deadline.
func (c *chunk[T]) allEnded() bool {
	return c.ended == c.heads && (c.deadline.IsZero() || time.Now().Before(c.deadline))
}

// writeChunk calls the function and gives every record its outcome.
func (s *scope[T]) writeChunk(c *chunk[T]) {
	ctx := s.prepare(c)
	stop := context.AfterFunc(ctx, func() { s.watch(c) })
	defer func() {
		stop()
		c.cancel()
		s.finish(c, batch.ErrGoexit) // for records that have no outcome yet
	}()
	w := &writer[T]{s, ctx, c.tickets[0].runner}
	w.write(c.tickets)
}

// prepare makes the context of a chunk.
func (s *scope[T]) prepare(c *chunk[T]) context.Context {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, t := range c.tickets {
		if !t.heads() {
			continue
		}
		if d, ok := t.ctx.Deadline(); ok && (c.deadline.IsZero() || d.Before(c.deadline)) {
			c.deadline = d
		}
	}
	ctx := context.Context(values{c.tickets[0].inherited()})
	if c.deadline.IsZero() {
		ctx, c.cancel = context.WithCancel(ctx)
	} else {
		ctx, c.cancel = context.WithDeadline(ctx, c.deadline)
	}
	if c.allEnded() {
		c.cancel()
	}
	return ctx
}

// watch frees the chunk's place for another chunk a grace after the end of its context, when
// its records are abandoned.
func (s *scope[T]) watch(c *chunk[T]) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if c.over {
		return
	}
	c.giveUp = time.AfterFunc(s.grace, func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		if !c.over {
			c.lost = true
			s.writing--
			s.write()
		}
	})
}

// finish gives err to every record that has no outcome.
func (s *scope[T]) finish(c *chunk[T], err error) {
	for _, t := range c.tickets {
		t.verdict.set(err, true)
	}
	over, abort := []*chunk[T]{c}, c.abort()
	s.mu.Lock()
	c.over = true
	if c.giveUp != nil {
		c.giveUp.Stop()
	}
	if !c.lost {
		s.writing--
	}
	if abort != nil {
		over = append(over, s.putOff(abort)...)
	}
	s.mu.Unlock()
	for _, c := range over {
		s.wake(c.tickets)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.write()
}

// wake lets Handle return the outcomes of records.
func (s *scope[T]) wake(tickets []*ticket[T]) {
	var woken []*ticket[T]
	s.mu.Lock()
	for _, t := range tickets {
		if t.over {
			continue
		}
		t.over = true
		woken = append(woken, t)
		switch {
		case !t.heads():
			continue
		case t.ended:
			t.chunk.ended--
		default:
			s.waiting--
		}
		t.chunk.heads--
	}
	s.mu.Unlock()
	for _, t := range woken { // all are awake now, so none of them counts as waiting
		close(t.done)
	}
}

// abort returns the first error of c's records that asks for an abort, or nil.
func (c *chunk[T]) abort() error {
	for _, t := range c.tickets {
		if err := t.verdict.get(); err != nil && aborts(err) {
			return err
		}
	}
	return nil
}

// aborts reports whether an error asks for an abort. It returns false for an error whose
// methods panic, such as a nil pointer. The engine reports such an error for each record.
func aborts(err error) (aborts bool) {
	defer func() { _ = recover() }()
	return batch.VerdictOf(err).Aborts
}

// values is a context without its end and without the values of a single record, for work on
// several.
type values struct{ context.Context }

func (values) Deadline() (deadline time.Time, ok bool) { return time.Time{}, false }
func (values) Done() <-chan struct{}                   { return nil }
func (values) Err() error                              { return nil }

// Value hides the values of a record. Without an engine, the context is a record's own.
func (v values) Value(key any) any {
	switch key.(type) {
	case ctxkey.Record, ctxkey.Runner, ctxkey.Sends, ctxkey.Claim, ctxkey.Items:
		return nil
	}
	return v.Context.Value(key)
}

// writer writes the records of one chunk with one call of the function, or with several if one
// record makes the call fail.
type writer[T any] struct {
	*scope[T]
	ctx    context.Context
	runner *runner.View // nil if there is no engine, so that the chunk has one record
}

// write sets the outcome of each record at once: no record waits for another half. A permanent
// error or a panic of a call for several records is about one of them, which is unknown.
// Therefore each half is written by itself, so that the other records do not become dead
// letters.
func (w *writer[T]) write(tickets []*ticket[T]) {
	if len(tickets) == 0 {
		return
	}
	if w.late() { // after the call for the other half
		w.over(tickets, errLate)
		return
	}
	err := w.call(tickets)
	var left, failed []*ticket[T]
	for _, t := range tickets {
		if t.verdict.get() == nil {
			left = append(left, t)
		} else {
			failed = append(failed, t)
		}
	}
	switch {
	case err == nil || len(left) < 2 || !w.ofOne(err):
		w.over(tickets, err)
		return
	case w.late():
		if _, panicked := err.(*batch.PanicError); !panicked {
			err = fmt.Errorf("bulk: one of %d records failed their call, and no time was left to find out which: %v", len(left), err)
		}
		w.over(tickets, err)
		return
	}
	w.over(failed, nil)
	half := len(left) / 2
	w.write(w.mayGo(left[:half]))
	w.write(w.mayGo(left[half:]))
}

// mayGo leaves out, and fails, records behind a failed record of their group.
func (w *writer[T]) mayGo(tickets []*ticket[T]) (list []*ticket[T]) {
	for _, t := range tickets {
		if t.before != nil && t.before.verdict.get() != nil {
			w.over([]*ticket[T]{t}, errBehind)
			continue
		}
		list = append(list, t)
	}
	return list
}

// over sets err as the outcome of records that have none, and wakes them.
func (w *writer[T]) over(tickets []*ticket[T], err error) {
	for _, t := range tickets {
		t.verdict.set(err, true)
	}
	w.wake(tickets)
}

// late reports whether the chunk's context has ended. It also compares the clock, since a
// timer may fire late in a process that was frozen.
func (w *writer[T]) late() bool {
	deadline, bounded := w.ctx.Deadline()
	return w.ctx.Err() != nil || bounded && !time.Now().Before(deadline)
}

var (
	errBehind = errors.New("bulk: not written, an earlier record of its group failed")
	errLate   = fmt.Errorf("bulk: not written, because its time was over when the other half of its chunk had been written: %w", context.DeadlineExceeded)
)

// call calls the function. A panic becomes an error; a Goexit passes.
func (w *writer[T]) call(tickets []*ticket[T]) (err error) {
	defer func() {
		if v := recover(); v != nil {
			err = &batch.PanicError{Value: v, Stack: debug.Stack()}
		}
	}()
	items := make([]Item[T], len(tickets))
	for i, t := range tickets {
		items[i] = t.item
	}
	err = w.fn(w.ctx, items)
	for i := range items {
		if v := items[i].verdict; v != nil && v.loose && v.get() != nil {
			failReplaced(tickets, i, &items[i])
		}
	}
	return err
}

// failReplaced fails the record of an item that the function has put into its slice and failed:
// the record with the item's message id, or in the item's place if the item has no record.
func failReplaced[T any](tickets []*ticket[T], place int, item *Item[T]) {
	for i, t := range tickets {
		if id := item.Record.MessageID; id == t.item.Record.MessageID || id == "" && i == place {
			t.verdict.set(item.Err(), false)
		}
	}
}

// ofOne reports whether a call may have failed because of only one of its records. It
// returns false for an error whose methods panic, which the engine reports.
func (w *writer[T]) ofOne(err error) (is bool) {
	defer func() { _ = recover() }()
	if _, panicked := err.(*batch.PanicError); panicked {
		return true
	}
	return w.runner.Permanent(err)
}
