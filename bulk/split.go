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

// writer writes the records of one chunk. It makes one call of the function, or several if
// one record makes the call fail.
type writer[T any] struct {
	*scope[T]
	ctx    context.Context
	runner *runner.View // nil if there is no engine, so that the chunk has one record
}

// write gives each record its outcome at once: no record waits for another half. A
// permanent error or a panic of a call for several records is about one of them, and
// nothing says which. Therefore each half is written by itself, so that the other records
// do not become dead letters.
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

// over gives the outcome of their call to records that have none.
func (w *writer[T]) over(tickets []*ticket[T], err error) {
	for _, t := range tickets {
		t.verdict.set(err, true)
	}
	w.tell(tickets)
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
	return w.fn(w.ctx, items)
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
