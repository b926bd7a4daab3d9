package sender

import (
	"context"

	"github.com/sqsbatch/sqsbatch/internal/sleep"
)

// flush is a caller that waits until messages have left the buffer.
type flush struct {
	upTo uint64 // number of the last message
	done chan struct{}
}

// Flush sends buffered messages without linger. It returns nil when every message that was in
// the buffer has its result, and its done function has returned. If ctx ends before that, it
// returns the cause.
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

// endFlushes ends the flushes whose messages have all left the buffer.
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

// Close accepts no more messages, and sends buffered ones without linger. It returns nil when
// every message has its result.
//
// If ctx ends before that, Close cancels calls in flight, and gives up the remaining messages
// with [ErrClosed]: Send returns that error, and done functions get the results. Close returns
// the results as well.
//
// Callers that wait for a place in the buffer get ErrClosed at once. Close may be called
// again, for messages that are still in the buffer.
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
	s.deliver(over)
	for _, o := range over {
		left = append(left, o.result)
	}
	return left
}
