package sender

import (
	"context"

	"github.com/sqsbatch/sqsbatch/internal/sleep"
)

// flush waits until messages have left the buffer.
type flush struct {
	upTo uint64 // the number of the last one
	done chan struct{}
}

// Flush sends what is in the buffer without linger. It returns nil when every message that
// was in the buffer has its result, and the function of Enqueue has returned. If ctx ends
// before that, it returns the cause.
func (s *Sender) Flush(ctx context.Context) error {
	s.mu.Lock()
	s.flushing++
	f := s.newFlush()
	s.pump()
	s.mu.Unlock()
	defer func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.flushing--
	}()
	if !sleep.Closed(ctx, f.done) {
		return cause(ctx)
	}
	return nil
}

func (s *Sender) newFlush() *flush {
	f := &flush{s.numbers, make(chan struct{})}
	s.flushes = append(s.flushes, f)
	s.endFlushes()
	return f
}

// endFlushes ends those whose messages have all left the buffer.
func (s *Sender) endFlushes() {
	left := s.flushes[:0]
	for _, f := range s.flushes {
		if first := s.buffered.first(); first == nil || first.number > f.upTo {
			close(f.done)
		} else {
			left = append(left, f)
		}
	}
	clear(s.flushes[len(left):])
	s.flushes = left
}

// Close takes no more messages, and sends what is in the buffer without linger. When every
// message has its result, it returns nil.
//
// If ctx ends before that, Close gives up the messages that are left. Each of them gets its
// Result, with [ErrClosed] and whether it may have been sent: Send returns it, and the
// function of Enqueue gets it. Close returns these results as well. Calls in flight are
// ended.
//
// Callers that wait for a place in the buffer get ErrClosed at once. After the first call,
// Close does the same again, for what is left then.
func (s *Sender) Close(ctx context.Context) (left []Result) {
	s.mu.Lock()
	if !s.closed {
		s.closed = true
		s.flushing++ // forever
	}
	s.refuse(ErrClosed, nil)
	f := s.newFlush()
	s.pump()
	s.mu.Unlock()
	if sleep.Closed(ctx, f.done) {
		s.cancel()
		return nil
	}
	s.mu.Lock()
	var over []outcome
	for at := s.buffered.front; at != nil; at = at.next {
		if e := at.entry; !e.over {
			over = append(over, s.finish(e, e.failure(ErrClosed)))
		}
	}
	s.mu.Unlock()
	s.cancel()
	s.tell(over)
	for _, o := range over {
		left = append(left, o.result)
	}
	return left
}
