package lambda

import (
	"bytes"
	"errors"
	"os"
	"sync"
	"sync/atomic"
	"time"
)

const (
	keptLines = 20
	// maxLine is the size of a CloudWatch Logs event.
	maxLine = 256 * 1024
	// pipeGrace is how long a pipe may stay open and silent after its process is
	// gone: a child that left the group may hold it for ever.
	pipeGrace = 250 * time.Millisecond
)

// output reads what a process prints, keeps its last lines and hands each to
// Function.Output.
type output struct {
	stdout, stderr *stream

	deployment  *Deployment
	environment int

	mu        sync.Mutex
	requestID string
	last      []string
}

func newOutput(d *Deployment, environment int) (*output, error) {
	o := &output{deployment: d, environment: environment}
	var err error
	if o.stdout, err = newStream(o, "stdout"); err != nil {
		return nil, err
	}
	if o.stderr, err = newStream(o, "stderr"); err != nil {
		_ = o.stdout.read.Close()
		_ = o.stdout.write.Close()
		return nil, err
	}
	return o, nil
}

// started begins to read, once the process holds the other ends.
func (o *output) started() {
	for _, s := range []*stream{o.stdout, o.stderr} {
		_ = s.write.Close()
		go s.run()
	}
}

// attribute names the invocation that the lines from now on belong to.
func (o *output) attribute(requestID string) {
	o.mu.Lock()
	o.requestID = requestID
	o.mu.Unlock()
}

// drain returns when everything was read that was printed before the call, so
// that it keeps its invocation's id. It costs a millisecond; without a reader
// of the lines it is left out. Where pipes have no deadlines (Windows) it does
// nothing: lines printed just before an invocation's end may then come without
// its id.
func (o *output) drain() {
	if o.deployment.fn.Output == nil {
		return
	}
	fromStdout, fromStderr := o.stdout.drain(), o.stderr.drain()
	<-fromStdout
	<-fromStderr
}

// finish reads what is left after the process's end.
func (o *output) finish() {
	for _, s := range []*stream{o.stdout, o.stderr} {
		s.awaitEnd()
		_ = s.read.Close()
	}
}

func (o *output) lastLines() []string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return append([]string(nil), o.last...)
}

func (o *output) line(stream string, text []byte) {
	l := Line{Time: time.Now(), Environment: o.environment, Stream: stream, Text: string(bytes.TrimSuffix(text, []byte("\r")))}
	o.mu.Lock()
	l.RequestID = o.requestID
	if o.last = append(o.last, l.Text); len(o.last) > keptLines {
		o.last = o.last[1:]
	}
	o.mu.Unlock()
	if deliver := o.deployment.fn.Output; deliver != nil {
		o.deployment.output.Lock()
		defer o.deployment.output.Unlock()
		deliver(l)
	}
}

// stream is one of the process's pipes.
type stream struct {
	out         *output
	name        string
	read, write *os.File
	pending     []byte       // a line without its end
	reads       atomic.Int64 // odd while a read waits for data
	done        chan struct{}

	mu      sync.Mutex
	drained chan struct{} // not nil while somebody waits for it to be closed
	ended   bool
}

func newStream(o *output, name string) (*stream, error) {
	r, w, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	return &stream{out: o, name: name, read: r, write: w, done: make(chan struct{})}, nil
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
				s.out.line(s.name, s.pending)
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
		s.out.line(s.name, append(s.pending, data[:i]...))
		s.pending, data = s.pending[:0], data[i+1:]
	}
	for s.pending = append(s.pending, data...); len(s.pending) > maxLine; {
		s.out.line(s.name, s.pending[:maxLine])
		s.pending = append([]byte(nil), s.pending[maxLine:]...)
	}
}

// drain wakes the reader and returns a channel that is closed once the pipe
// holds nothing that was written before the call. One drain at a time.
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
