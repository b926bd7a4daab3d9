package sqs

import (
	"errors"
	"net"
	"net/http"
	"os"
	"syscall"
	"time"
)

// errGone is the end of a call whose client has left: there is no one to answer.
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

// strikes tells which fault of a kind strikes the call, nil for none.
func (s *Server) strikes(c *call, kind FaultKind) *Fault {
	f := s.faults.strike(kind, c.operation, c.queue)
	if f != nil {
		c.struck = kind
	}
	return f
}

// strikeBefore applies the faults that keep a call from having its effect.
func (s *Server) strikeBefore(c *call) error {
	if f := s.strikes(c, Latency); f != nil {
		timer := time.NewTimer(f.Latency)
		defer timer.Stop()
		if err := s.pause(c, timer.C); err != nil {
			return err
		}
	}
	if s.strikes(c, Refused) != nil {
		return errRefused
	}
	if s.strikes(c, Hang) != nil {
		return s.pause(c, nil)
	}
	if s.strikes(c, Throttled) != nil {
		err := modelled("RequestThrottled", "The request was denied due to request throttling: a fault that was injected into the SQS emulator.")
		err.status = http.StatusForbidden
		return err
	}
	if f := s.strikes(c, Failure); f != nil {
		return f.answer()
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

// strikeEntry returns the error of an entry that is to fail.
func (s *Server) strikeEntry(c *call) *apiError {
	if f := s.strikes(c, EntryFailure); f != nil {
		return f.answer()
	}
	return nil
}
