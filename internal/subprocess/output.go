package subprocess

import (
	"bytes"
	"errors"
	"os"
	"sync"
	"sync/atomic"
	"time"
)

const (
	// maxLine is the size of a CloudWatch Logs event.
	maxLine = 256 * 1024
	// pipeGrace is how long a pipe may stay open and silent after its process has
	// ended: a child that left the group may hold it forever.
	pipeGrace = 250 * time.Millisecond
)

// stream is one of the process's pipes.
type stream struct {
	line        func(text string)
	read, write *os.File
	pending     []byte       // a line without its end
	reads       atomic.Int64 // odd while a read waits for data
	done        chan struct{}

	mu      sync.Mutex
	drained chan struct{} // not nil while a drain waits for it to be closed
	ended   bool
}

func newStream(line func(text string)) (*stream, error) {
	r, w, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	return &stream{line: line, read: r, write: w, done: make(chan struct{})}, nil
}

// start begins to read, once the process holds the other end.
func (s *stream) start() {
	_ = s.write.Close()
	go s.run()
}

// finish reads what is left after the process's end.
func (s *stream) finish() {
	s.awaitEnd()
	_ = s.read.Close()
}

func (s *stream) run() {
	defer s.end()
	buf := make([]byte, 32*1024)
	for {
		n, err := s.next(buf)
		s.split(buf[:n])
		switch {
		case err == nil:
		case errors.Is(err, os.ErrDeadlineExceeded):
			s.empty(buf)
		default: // the end, or closed
			if len(s.pending) > 0 {
				s.print(s.pending)
			}
			return
		}
	}
}

func (s *stream) next(buf []byte) (int, error) {
	s.reads.Add(1)
	defer s.reads.Add(1)
	return s.read.Read(buf)
}

// awaitEnd returns when all was read and handed out, or when one and the same
// read has waited for pipeGrace.
func (s *stream) awaitEnd() {
	ticker := time.NewTicker(pipeGrace)
	defer ticker.Stop()
	for last := int64(-1); ; {
		select {
		case <-s.done:
			return
		case <-ticker.C:
			now := s.reads.Load()
			if now == last && now%2 == 1 {
				return
			}
			last = now
		}
	}
}

// split hands out the whole lines.
func (s *stream) split(data []byte) {
	for {
		i := bytes.IndexByte(data, '\n')
		if i < 0 {
			break
		}
		s.print(append(s.pending, data[:i]...))
		s.pending, data = s.pending[:0], data[i+1:]
	}
	for s.pending = append(s.pending, data...); len(s.pending) > maxLine; {
		s.print(s.pending[:maxLine])
		s.pending = append([]byte(nil), s.pending[maxLine:]...)
	}
}

func (s *stream) print(text []byte) { s.line(string(bytes.TrimSuffix(text, []byte("\r")))) }

// drain wakes the reader and returns a channel that is closed when the pipe contains
// nothing that was written before the call. Only one drain may run at a time.
func (s *stream) drain() <-chan struct{} {
	drained := make(chan struct{})
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.ended || s.read.SetReadDeadline(time.Now()) != nil {
		close(drained)
		return drained
	}
	s.drained = drained
	return drained
}

func (s *stream) end() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.ended = true
	s.releaseDrain()
	close(s.done)
}

func (s *stream) releaseDrain() {
	if s.drained != nil {
		close(s.drained)
		s.drained = nil
	}
}

// empty reads until the pipe has nothing, for the drain that woke the reader.
// A read tries the pipe before it looks at its deadline, when that is ahead.
func (s *stream) empty(buf []byte) {
	for {
		_ = s.read.SetReadDeadline(time.Now().Add(time.Millisecond))
		n, err := s.next(buf)
		s.split(buf[:n])
		if n == 0 || err != nil {
			break
		}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	_ = s.read.SetReadDeadline(time.Time{})
	s.releaseDrain()
}
