package sqs

import (
	"errors"
	"net"
	"net/http"
	"os"
	"syscall"
	"time"
)

// errGone ends a call whose client has left, so that no answer can be sent.
var errGone = errors.New("sqs: the client is gone")

// errRefused and errLostAnswer end a call without an answer, before and after
// its effect. They are what a client in the same process gets.
var (
	errRefused    error = &net.OpError{Op: "dial", Net: "tcp", Err: os.NewSyscallError("connect", syscall.ECONNREFUSED)}
	errLostAnswer error = &net.OpError{Op: "read", Net: "tcp", Err: os.NewSyscallError("read", syscall.ECONNRESET)}
)

// breakOff ends the connection of a request.
func breakOff(w http.ResponseWriter, err error) {
	if inProcess, ok := w.(*recorder); ok {
		inProcess.broken = err
		return
	}
	panic(http.ErrAbortHandler) // net/http's way to end a connection; it is not reported
}

// strikes returns the fault of a kind, among those that are due, that affects the call; nil
// if there is none.
func (s *Server) strikes(c *call, due []drawn, kind FaultKind) *drawn {
	f := s.faults.strike(due, kind)
	if f != nil {
		c.struck = kind
	}
	return f
}

// strikesPart is strikes for the kinds that strike something within a call.
func (s *Server) strikesPart(c *call, kind FaultKind) *drawn {
	return s.strikes(c, s.faults.draw(c.operation, c.queue, kind), kind)
}

// strikeBefore applies the faults that keep a call from having its effect, and sets the
// failure of a call that is to have it. All that strike whole calls are drawn before the
// first acts, so that none changes which calls the others count.
func (s *Server) strikeBefore(c *call) error {
	c.due = s.faults.draw(c.operation, c.queue, Latency, Refused, Hang, Throttled, Failure, LostAnswer)
	if f := s.strikes(c, c.due, Latency); f != nil {
		timer := time.NewTimer(f.Latency)
		defer timer.Stop()
		if err := s.pause(c, timer.C); err != nil {
			return err
		}
	}
	if s.strikes(c, c.due, Refused) != nil {
		return errRefused
	}
	if s.strikes(c, c.due, Hang) != nil {
		return s.pause(c, nil)
	}
	if f := s.strikes(c, c.due, Throttled); f != nil {
		err := modelled("RequestThrottled", "The request was denied due to request throttling: a fault that was injected into the SQS emulator.")
		err.retryAfter = f.RetryAfter
		return err
	}
	if f := s.strikes(c, c.due, Failure); f != nil {
		err := f.answer()
		err.retryAfter = f.RetryAfter
		if !f.CarriedOut {
			return err
		}
		c.failure = err
	}
	return nil
}

// pause waits for over; a client that leaves and the server's end are errors.
func (s *Server) pause(c *call, over <-chan time.Time) error {
	select {
	case <-over:
		return nil
	case <-c.ctx.Done():
		return errGone
	case <-s.ended:
		return errClosed()
	}
}

// entry carries out an entry of a batch call, unless a fault affects it.
func (s *Server) entry(c *call, run func() *apiError) *apiError {
	f := s.strikesPart(c, EntryFailure)
	if f == nil {
		return run()
	}
	if f.CarriedOut {
		_ = run() // the fault's error takes its place
	}
	return f.answer()
}
