package bulk

import (
	"context"
	"errors"
	"runtime/debug"

	"github.com/sqsbatch/sqsbatch/batch"
)

// writer writes the records of one chunk, by one call of the function or, when
// that fails because of one of them, by several.
type writer[T any] struct {
	*scope[T]
	ctx    context.Context
	engine engine                    // may be nil
	before map[*ticket[T]]*ticket[T] // the record before one, of its FIFO group
}

func (s *scope[T]) newWriter(ctx context.Context, c *chunk[T]) *writer[T] {
	w := &writer[T]{scope: s, ctx: ctx, engine: c.tickets[0].engine}
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

// write gives each record its outcome. An error that no retry can mend, or a
// panic, of a call for several is about one of them, and nobody knows which: each
// half is written by itself, so that the others are no dead letters with it.
func (w *writer[T]) write(tickets []*ticket[T]) {
	if len(tickets) == 0 {
		return
	}
	err := w.call(tickets)
	var left []*ticket[T]
	for _, t := range tickets {
		if t.verdict.get() == nil {
			left = append(left, t)
		}
	}
	if err == nil || len(left) < 2 || w.ctx.Err() != nil || !w.ofOne(err) {
		for _, t := range tickets {
			t.verdict.seal(err)
		}
		return
	}
	half := len(left) / 2
	w.write(w.mayGo(left[:half]))
	w.write(w.mayGo(left[half:]))
}

// mayGo leaves out, and fails, what is behind a record of its group that failed.
func (w *writer[T]) mayGo(tickets []*ticket[T]) (list []*ticket[T]) {
	for _, t := range tickets {
		if before := w.before[t]; before != nil && before.verdict.get() != nil {
			t.verdict.seal(errBehind)
			continue
		}
		list = append(list, t)
	}
	return list
}

var errBehind = errors.New("bulk: not written, an earlier record of its group failed")

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
	if w.engine != nil {
		return w.engine.Permanent(err)
	}
	return batch.IsPermanent(err)
}
