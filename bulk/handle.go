package bulk

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"sync/atomic"
	"time"

	"github.com/sqsbatch/sqsbatch/batch"
	"github.com/sqsbatch/sqsbatch/internal/ctxkey"
	"github.com/sqsbatch/sqsbatch/internal/runner"
)

// Handle adds a record to a chunk and waits for the record's outcome. On a FIFO queue it then
// continues with the records behind it in the same chunk: each gets its outcome when the record
// before it has succeeded.
func (h *handler[T]) Handle(ctx context.Context, r batch.Record) error {
	if h.wrong != nil { // middleware hid Validate from the code that starts handlers
		return h.wrong
	}
	first := &turn[T]{handler: h, fifo: r.FIFO()}
	first.view, first.engine = runner.From(ctx)
	// Middleware around h would see the records behind this one only after they were written.
	if first.fifo && first.engine && first.view.HandledBy(h) {
		var end context.CancelFunc
		first.others, end = context.WithCancel(first.view.Inherited())
		defer end()
	}
	err := first.run(ctx, r)
	for t := first; err == nil && t.goesOn(); t = t.next {
		own, ok := t.view.Next()
		if !ok {
			break
		}
		t.next.view, _ = runner.From(own)
		t.next.begin <- own
		err = <-t.next.result
	}
	return err
}

// turn is the path of a record through the middleware of Config.Unwrap into a chunk and back. The
// path of a record behind another one of its FIFO group starts before the record's turn, on its
// own goroutine.
type turn[T any] struct {
	*handler[T]
	fifo   bool
	engine bool // view is valid
	view   runner.View
	calls  atomic.Int32 // of inner

	others context.Context // of the records behind; nil if they do not join
	ticket *ticket[T]      // nil until others join
	next   *turn[T]        // of the record behind

	// Only for a record behind another one.
	found  chan *ticket[T]
	begin  chan context.Context // gets the record's own context at the record's turn
	result chan error
}

type turnKey struct{}

var (
	errNotBegun = errors.New("bulk: the record was only decoded, since its turn did not come")
	errContext  = errors.New("bulk: the middleware of Config.Unwrap does not pass its context on")
	errTwice    = errors.New("bulk: the middleware of Config.Unwrap calls its handler twice for a record of a FIFO queue, which breaks the order: put it around the bulk handler instead")
)

// run calls the middleware, which calls inner.
func (t *turn[T]) run(ctx context.Context, r batch.Record) error {
	if t.unwrap == nil {
		return t.inner(ctx, r)
	}
	return t.unwrap.Handle(ctxkey.With(ctx, turnKey{}, t), r)
}

// inner is the handler that the middleware of Config.Unwrap calls.
func (h *handler[T]) inner(ctx context.Context, r batch.Record) error {
	if t, ok := ctx.Value(turnKey{}).(*turn[T]); ok {
		return t.inner(ctx, r)
	}
	return errContext
}

// inner puts the record into a chunk, and returns its outcome.
func (t *turn[T]) inner(ctx context.Context, r batch.Record) error {
	if t.calls.Add(1) > 1 && t.fifo { // a second call would break the order
		return errTwice
	}
	v, err := t.decode(ctx, r)
	if err != nil {
		return err
	}
	k := &ticket[T]{item: Item[T]{Value: v, Record: r}, done: make(chan struct{})}
	k.item.verdict = &k.verdict
	if t.found != nil {
		t.found <- k
		select {
		case own := <-t.begin:
			return t.view.Shared(t.handler, nil).(*scope[T]).follow(own, k)
		case <-ctx.Done():
			return errNotBegun
		}
	}
	k.ctx, k.verdict.ctx = ctx, ctx
	if !t.engine {
		s := newScope(t.handler, nil)
		s.join(k)
		return s.await(ctx, k)
	}
	k.runner = &t.view
	if t.others != nil {
		t.gather(k)
	}
	s := t.view.Shared(t.handler, func() runner.Shared { return newScope(t.handler, &t.view) }).(*scope[T])
	s.join(k)
	t.view.Joined()
	return s.await(ctx, k)
}

// gather starts the turns of the records that wait behind t's in its FIFO group, one after
// another. It stops at a record that cannot be decoded, and when the chunk has no room. Each turn
// has its own goroutine, so that a record behind cannot delay or end t's record.
func (t *turn[T]) gather(k *ticket[T]) {
	bytes := len(k.item.Record.Body)
	if t.cfg.MaxItems == 1 || bytes >= t.cfg.MaxBytes {
		return
	}
	t.ticket = k
	late := time.NewTimer(t.cfg.Linger)
	defer late.Stop()
	last := t
	for _, r := range t.view.Behind(t.cfg.MaxItems - 1) {
		next := &turn[T]{
			handler: t.handler, fifo: true, engine: true,
			found: make(chan *ticket[T], 1), begin: make(chan context.Context, 1), result: make(chan error, 1),
		}
		go next.behind(batch.WithRecord(t.others, *r), *r)
		select {
		case next.ticket = <-next.found:
		case <-next.result:
			return
		case <-late.C:
			return
		case <-k.ctx.Done():
			return
		}
		if bytes += len(next.ticket.item.Record.Body); bytes > t.cfg.MaxBytes {
			return // Unwrap may turn a few bytes into many
		}
		last.next, last.ticket.next = next, next.ticket
		last = next
	}
}

// behind calls run for a record before its turn. A panic becomes the result.
func (t *turn[T]) behind(ctx context.Context, r batch.Record) {
	err := error(batch.ErrGoexit)
	defer func() {
		if v := recover(); v != nil {
			err = &batch.PanicError{Value: v, Stack: debug.Stack()}
		}
		t.result <- err
	}()
	err = t.run(ctx, r)
}

// goesOn reports whether the record succeeded and the record behind it is in the same chunk.
func (t *turn[T]) goesOn() bool {
	return t.next != nil && t.ticket.next != nil && t.ticket.verdict.get() == nil
}

// follow returns the outcome of a record that is in the chunk of an earlier record of its
// FIFO group. The earlier record may have its outcome first, if the two are in different
// halves.
func (s *scope[T]) follow(ctx context.Context, t *ticket[T]) error {
	s.mu.Lock()
	if !t.over {
		t.ctx = ctx
		t.chunk.heads++
		s.waiting++
	}
	s.mu.Unlock()
	return s.await(ctx, t)
}

// await returns a ticket's outcome. If ctx ends first, the record leaves its chunk. It cannot
// leave a chunk that is being written: then the engine decides how long to wait.
func (s *scope[T]) await(ctx context.Context, t *ticket[T]) error {
	select {
	case <-t.done:
		return t.verdict.get()
	case <-ctx.Done():
	}
	if s.leave(t) {
		return fmt.Errorf("bulk: the record's time was over before its chunk was written: %w", ctx.Err())
	}
	<-t.done
	return t.verdict.get()
}
