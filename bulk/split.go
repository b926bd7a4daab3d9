package bulk

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"time"

	"github.com/sqsbatch/sqsbatch/batch"
	"github.com/sqsbatch/sqsbatch/internal/runner"
)

// writer writes the records of one chunk, by one call of the function or, when
// that fails because of one of them, by several.
type writer[T any] struct {
	*scope[T]
	ctx    context.Context
	runner *runner.View              // may be nil
	before map[*ticket[T]]*ticket[T] // the record before one, of its FIFO group
}

func (s *scope[T]) newWriter(ctx context.Context, c *chunk[T]) *writer[T] {
	w := &writer[T]{scope: s, ctx: ctx, runner: c.tickets[0].runner}
	for _, t := range c.tickets {
		if t.next != nil {
			if w.before == nil {
				w.before = map[*ticket[T]]*ticket[T]{}
			}
			w.before[t.next] = t
		}
	}
	return w
}

// write gives each record its outcome, at once: no record waits for another
// half. A permanent error or a panic of a call for several records is about one of
// them, and nothing says which: each half is written by itself, so that the others
// do not become dead letters with it.
func (w *writer[T]) write(tickets []*ticket[T]) {
	if len(tickets) == 0 {
		return
	}
	if w.late() { // the call for the other half took that long
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

// mayGo leaves out, and fails, records behind a record of their group that failed.
func (w *writer[T]) mayGo(tickets []*ticket[T]) (list []*ticket[T]) {
	for _, t := range tickets {
		if before := w.before[t]; before != nil && before.verdict.get() != nil {
			w.over([]*ticket[T]{t}, errBehind)
			continue
		}
		list = append(list, t)
	}
	return list
}

// over gives records that have no outcome that of their call.
func (w *writer[T]) over(tickets []*ticket[T], err error) {
	for _, t := range tickets {
		t.verdict.seal(err)
	}
	w.tell(tickets)
}

// late reports whether the chunk's context has ended. It looks at the clock as
// well: in a process that was frozen a timer may fire late.
func (w *writer[T]) late() bool {
	deadline, bounded := w.ctx.Deadline()
	return w.ctx.Err() != nil || bounded && !time.Now().Before(deadline)
}

var (
	errBehind = errors.New("bulk: not written, an earlier record of its group failed")
	errLate   = fmt.Errorf("bulk: not written, its time was over when the records before it in its chunk were written: %w", context.DeadlineExceeded)
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
	return w.fn(w.ctx, items)
}

// ofOne reports whether a call may have failed because of one of its records
// alone. It is false for an error whose methods panic: the engine says so.
func (w *writer[T]) ofOne(err error) (is bool) {
	defer func() { _ = recover() }()
	if _, panicked := err.(*batch.PanicError); panicked {
		return true
	}
	if w.runner != nil {
		return w.runner.Permanent(err)
	}
	return batch.VerdictOf(err).Permanent
}
