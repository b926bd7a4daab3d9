package otel

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/sqsbatch/sqsbatch/batch"
)

// Flush implements batch.FlushHook: it calls Options.Flush, and returns when
// that has, or when ctx ends. While an earlier call runs it waits for the next
// one, which all that wait share: whatever was made before Flush is in a call
// that begins after it. When the earlier call has had its time, nothing is
// flushed. Errors go to the error handler of OpenTelemetry.
func (h *Hook) Flush(ctx context.Context) {
	if h.opts.Flush == nil {
		return
	}
	f, ok := h.flushes.join(ctx, h.opts.Flush)
	if !ok {
		handle(errOverdue)
		return
	}
	select {
	case <-f.done:
	case <-ctx.Done():
		if !h.flushes.leave(f) {
			handle(errOverdue)
		}
	}
}

var errOverdue = errors.New("sqsbatch: Options.Flush is not called: an earlier call of it did not return in its time")

// flushes are the calls of Options.Flush. Invocations may end at once: one call
// at a time for each would keep the last ones' responses waiting for all others.
type flushes struct {
	mu      sync.Mutex
	running *flushing // nil when there is none
	next    *flushing // begins when that has returned; nil while nobody waits
}

// flushing is one call.
type flushing struct {
	values    context.Context // of the first who wanted it
	until     time.Time       // the last of the times up to which it is waited for
	unbounded bool            // there is no last one
	waiting   int             // who wait for it
	cancel    context.CancelFunc
	done      chan struct{} // closed when it has returned
}

// join returns the call to wait for; ok is false when one still runs that
// nobody waits for anymore.
func (s *flushes) join(ctx context.Context, call func(context.Context) error) (f *flushing, ok bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.running != nil && s.running.waiting == 0 {
		return nil, false
	}
	if s.next == nil {
		s.next = &flushing{values: ctx, done: make(chan struct{})}
	}
	f = s.next
	f.waiting++
	if until, bounded := ctx.Deadline(); !bounded {
		f.unbounded = true
	} else if until.After(f.until) {
		f.until = until
	}
	if s.running == nil {
		s.begin(call)
	}
	return f, true
}

// begin begins the next call; the caller holds the lock. It lasts as long as
// anybody waits for it, not as the first one's invocation.
func (s *flushes) begin(call func(context.Context) error) {
	f := s.next
	s.running, s.next = f, nil
	ctx := context.WithoutCancel(f.values)
	if f.unbounded {
		ctx, f.cancel = context.WithCancel(ctx)
	} else {
		ctx, f.cancel = context.WithDeadline(ctx, f.until)
	}
	go func() {
		defer close(f.done)
		err := batch.ErrGoexit
		defer func() {
			f.cancel()
			s.ended(call)
			if err != nil {
				handle(fmt.Errorf("sqsbatch: Options.Flush: %w", err))
			}
		}()
		err = flush(ctx, call)
	}()
}

// ended takes note that the call has returned.
func (s *flushes) ended(call func(context.Context) error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.running = nil
	if s.next != nil {
		s.begin(call)
	}
}

// leave is for who waits no longer. It reports whether the call was begun, or
// will be since others wait for it.
func (s *flushes) leave(f *flushing) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if f.waiting--; f.waiting > 0 {
		return true
	}
	if s.next == f {
		s.next = nil
		return false
	}
	f.cancel()
	return true
}

func flush(ctx context.Context, f func(context.Context) error) (err error) {
	defer func() {
		if v := recover(); v != nil {
			err = fmt.Errorf("it panicked: %v", v)
		}
	}()
	return f(ctx)
}
