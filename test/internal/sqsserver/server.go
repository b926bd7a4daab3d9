// Package sqsserver runs `sqsbatch sqs` as users do: a process of its own, on a
// free port.
//
//	err := module.Build(ctx, command, "./cmd/sqsbatch")
//	s, err := sqsserver.Start(ctx, command)
//	defer s.Stop()
package sqsserver

import (
	"context"
	"encoding/json"
	"fmt"
	"os/exec"
	"sync"
	"time"

	"github.com/sqsbatch/sqsbatch/internal/subprocess"
)

const (
	startTimeout = 10 * time.Second
	stopTimeout  = 10 * time.Second
)

// Server is a running `sqsbatch sqs`.
type Server struct {
	// URL is the endpoint for clients.
	URL string

	process *subprocess.Process
	ready   chan string // the first line

	mu     sync.Mutex
	stderr []string
}

// Start starts the program and waits until it is ready, at most 10 s or until ctx
// ends. It runs until Stop; Ctrl-C does not reach it.
func Start(ctx context.Context, program string) (*Server, error) {
	s := &Server{ready: make(chan string, 1)}
	var err error
	s.process, err = subprocess.Start(exec.Command(program, "sqs", "--addr", "127.0.0.1:0", "--output", "json"), s.line)
	if err != nil {
		return nil, fmt.Errorf("start sqsbatch sqs: %w", err)
	}
	waiting, cancel := context.WithTimeout(ctx, startTimeout)
	defer cancel()
	var ready struct{ Type, Endpoint string }
	select {
	case line := <-s.ready:
		err = json.Unmarshal([]byte(line), &ready)
	case <-s.process.Ended():
		err = s.process.Err()
	case <-waiting.Done():
		err = fmt.Errorf("it was not ready in time: %w", waiting.Err())
	}
	if err != nil || ready.Type != "ready" {
		s.process.Kill()
		return nil, fmt.Errorf("sqsbatch sqs did not start: %w: %q", err, s.process.LastLines())
	}
	s.URL = ready.Endpoint
	return s, nil
}

func (s *Server) line(stream, text string) {
	if stream == "stdout" {
		select {
		case s.ready <- text:
		default:
		}
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.stderr = append(s.stderr, text)
}

// Stop ends the process, once. It fails if that had complained.
func (s *Server) Stop() error {
	ctx, cancel := context.WithTimeout(context.Background(), stopTimeout)
	defer cancel()
	s.process.Stop(ctx)
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.process.Err(); err != nil || len(s.stderr) > 0 {
		return fmt.Errorf("sqsbatch sqs ended with %v: %q", err, s.stderr)
	}
	return nil
}
