// Package sqsserver runs `sqsbatch sqs` as users do: a process of its own, on a
// free port.
package sqsserver

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os/exec"
	"sync"
	"time"

	"github.com/sqsbatch/sqsbatch/internal/subprocess"
	"github.com/sqsbatch/sqsbatch/test/internal/await"
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

	mu     sync.Mutex
	ready  struct{ Type, Endpoint string } // the first line
	stderr []string
}

// Start starts the program and waits until it is ready, at most 10 s or until ctx
// ends. It runs until Stop; Ctrl-C does not reach it.
func Start(ctx context.Context, program string) (*Server, error) {
	s := &Server{}
	var err error
	s.process, err = subprocess.Start(exec.Command(program, "sqs", "--addr", "127.0.0.1:0", "--output", "json"), s.line)
	if err != nil {
		return nil, fmt.Errorf("start sqsbatch sqs: %w", err)
	}
	ctx, cancel := context.WithTimeout(ctx, startTimeout)
	defer cancel()
	if err := await.Ready(ctx, s.process, s.isReady); err != nil {
		s.process.Kill()
		return nil, fmt.Errorf("sqsbatch sqs did not start: %w", err)
	}
	return s, nil
}

func (s *Server) isReady() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.ready.Type != "ready" {
		return errors.New("it has not said that it is ready")
	}
	s.URL = s.ready.Endpoint
	return nil
}

func (s *Server) line(stream, text string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if stream != "stdout" {
		s.stderr = append(s.stderr, text)
	} else if s.ready.Type == "" {
		_ = json.Unmarshal([]byte(text), &s.ready) // or it never becomes ready
	}
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
