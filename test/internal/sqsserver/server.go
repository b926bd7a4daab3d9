// Package sqsserver runs `sqsbatch sqs` as users do: a process of its own, on a
// free port.
//
//	err := module.Build(ctx, command, "./cmd/sqsbatch")
//	s, err := sqsserver.Start(ctx, command)
//	defer s.Stop()
package sqsserver

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"time"
)

const (
	startTimeout = 10 * time.Second
	stopTimeout  = 10 * time.Second
)

// Server is a running `sqsbatch sqs`.
type Server struct {
	// URL is the endpoint for clients.
	URL string
	// PID is its process, for measurements.
	PID int

	cmd    *exec.Cmd
	stderr bytes.Buffer
}

// Start starts the program and waits until it is ready, at most 10 s. The end of
// ctx ends the waiting only, and Ctrl-C in a terminal does not reach it: it runs
// until Stop.
func Start(ctx context.Context, program string) (*Server, error) {
	s := &Server{cmd: exec.Command(program, "sqs", "--addr", "127.0.0.1:0", "--output", "json")}
	s.cmd.SysProcAttr = ownGroup()
	s.cmd.Stderr = &s.stderr
	out, err := s.cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := s.cmd.Start(); err != nil {
		return nil, fmt.Errorf("start sqsbatch sqs: %w", err)
	}
	s.PID = s.cmd.Process.Pid
	waiting, cancel := context.WithTimeout(ctx, startTimeout)
	defer cancel()
	stop := context.AfterFunc(waiting, func() { _ = s.cmd.Process.Kill() })
	var ready struct{ Type, Endpoint string }
	line, err := bufio.NewReader(out).ReadBytes('\n')
	if err == nil {
		err = json.Unmarshal(line, &ready)
	}
	if !stop() {
		err = fmt.Errorf("it was not ready in time: %w", waiting.Err())
	}
	if err != nil || ready.Type != "ready" {
		_ = s.cmd.Process.Kill()
		_ = s.cmd.Wait() // what it printed says more
		return nil, fmt.Errorf("sqsbatch sqs did not start: %w: %s%s", err, line, s.stderr.Bytes())
	}
	s.URL = ready.Endpoint
	return s, nil
}

// Stop ends the process, once. It returns an error when that had complained, or
// did not end well within 10 s of an interrupt.
func (s *Server) Stop() error {
	if runtime.GOOS == "windows" { // has no interrupt for another process
		_ = s.cmd.Process.Kill()
		_ = s.cmd.Wait() // killed
		return nil
	}
	_ = s.cmd.Process.Signal(os.Interrupt) // if it has ended, Wait says how
	late := time.AfterFunc(stopTimeout, func() { _ = s.cmd.Process.Kill() })
	defer late.Stop()
	if err := s.cmd.Wait(); err != nil || s.stderr.Len() > 0 {
		return fmt.Errorf("sqsbatch sqs ended with %v: %s", err, s.stderr.Bytes())
	}
	return nil
}
