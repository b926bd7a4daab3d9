package bulk

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/sqsbatch/sqsbatch/batch"
	"github.com/sqsbatch/sqsbatch/internal/runner"
	"github.com/sqsbatch/sqsbatch/internal/valuectx"
)

// Handle adds a record to a chunk and waits for the record's outcome.
func (h *handler[T]) Handle(ctx context.Context, r batch.Record) error {
	switch {
	case h.wrong != nil: // middleware hid Validate from the code that starts handlers
		return h.wrong
	case h.unwrap == nil:
		return h.join(ctx, r)
	}
	return h.unwrap.Handle(valuectx.With(ctx, turnKey{}, &turn[T]{single: r.FIFO()}), r)
}

// turn is one call of the middleware of Config.Unwrap.
type turn[T any] struct {
	peek   bool // only decode the record: it is not its turn yet
	single bool // a second call of inner would break the order

	mu    sync.Mutex
	calls int
	found *ticket[T]
}

type turnKey struct{}

var (
	errPeeked  = errors.New("bulk: the record is only decoded, since its turn has not come")
	errContext = errors.New("bulk: the middleware of Config.Unwrap does not pass its context on")
	errTwice   = errors.New("bulk: the middleware of Config.Unwrap calls its handler twice for a record of a FIFO queue, which breaks the order: put it around the bulk handler instead")
)

// inner is the handler that the middleware of Config.Unwrap calls.
func (h *handler[T]) inner(ctx context.Context, r batch.Record) error {
	t, _ := ctx.Value(turnKey{}).(*turn[T])
	if t == nil {
		return errContext
	}
	t.mu.Lock()
	t.calls++
	calls := t.calls
	t.mu.Unlock()
	switch {
	case t.peek:
		if found, err := h.newTicket(ctx, r); err == nil {
			t.mu.Lock()
			defer t.mu.Unlock()
			t.found = found
		}
		return errPeeked
	case t.single && calls > 1:
		return errTwice
	}
	return h.join(ctx, r)
}

// join puts a record into a chunk and returns its outcome. The record may have one already,
// since a chunk includes the records behind another one of a FIFO group.
func (h *handler[T]) join(ctx context.Context, r batch.Record) error {
	e, in := runner.From(ctx)
	if in {
		if t, ok := e.Outcome().(*ticket[T]); ok {
			return e.Shared(h, nil).(*scope[T]).follow(ctx, t)
		}
	}
	t, err := h.newTicket(ctx, r)
	if err != nil {
		return err
	}
	t.ctx, t.verdict.ctx = ctx, ctx
	if !in {
		s := newScope(h, nil)
		s.join(t)
		return s.await(ctx, t)
	}
	t.runner = &e
	// Middleware around h would see the records behind this one only after they were
	// written.
	if r.FIFO() && e.HandledBy(h) {
		t.next = h.behind(ctx, e, len(t.item.Record.Body))
	}
	s, ok := e.Shared(h, nil).(*scope[T])
	if !ok {
		fresh := newScope(h, &e)
		s = e.Shared(h, func() any { return fresh }).(*scope[T])
	}
	s.join(t)
	e.SetJoining()
	return s.await(ctx, t)
}

func (h *handler[T]) newTicket(ctx context.Context, r batch.Record) (*ticket[T], error) {
	v, err := h.decode(ctx, r)
	if err != nil {
		return nil, err
	}
	t := &ticket[T]{item: Item[T]{Value: v, Record: r}, done: make(chan struct{})}
	t.item.verdict = &t.verdict
	return t, nil
}

// behind returns tickets for the records that wait behind ctx's record in its FIFO group.
// Each ticket links to the next. The list ends before a record that cannot be decoded, or
// when the chunk has no room. behind works on a goroutine of its own, so that a record
// behind cannot delay or end ctx's record.
func (h *handler[T]) behind(ctx context.Context, e runner.View, bytes int) (first *ticket[T]) {
	if h.cfg.MaxItems == 1 || bytes >= h.cfg.MaxBytes {
		return nil
	}
	records := e.Behind(h.cfg.MaxItems - 1)
	if len(records) == 0 {
		return nil
	}
	var enough atomic.Bool
	defer enough.Store(true)
	found := make(chan *ticket[T], len(records))
	go func() {
		defer close(found)
		for _, r := range records {
			t := h.peek(batch.WithRecord(ctx, *r), *r)
			if t == nil || enough.Load() {
				return
			}
			if bytes += len(t.item.Record.Body); bytes > h.cfg.MaxBytes {
				return // Unwrap may turn a few bytes into many
			}
			found <- t
		}
	}()
	late := time.NewTimer(h.cfg.Linger)
	defer late.Stop()
	for last := &first; ; {
		select {
		case t, ok := <-found:
			if !ok {
				return first
			}
			*last, last = t, &t.next
		case <-late.C:
			return first
		case <-ctx.Done():
			return first
		}
	}
}

// peek returns a ticket for a record before its turn. It returns nil if the record has to
// wait for its turn.
func (h *handler[T]) peek(ctx context.Context, r batch.Record) (found *ticket[T]) {
	defer func() {
		if recover() != nil {
			found = nil // it will panic again in its turn
		}
	}()
	if h.unwrap == nil {
		found, _ = h.newTicket(ctx, r)
		return found
	}
	t := &turn[T]{peek: true}
	err := h.unwrap.Handle(valuectx.With(ctx, turnKey{}, t), r)
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.calls != 1 || !errors.Is(err, errPeeked) {
		return nil
	}
	return t.found
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

// await returns a ticket's outcome. If the record's time is over first, the record leaves
// its chunk. If the chunk is already being written, it cannot leave, and the engine decides
// how long to wait.
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
