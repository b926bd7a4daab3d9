package main

import (
	"context"
	"errors"
	"os"
	"path/filepath"

	"github.com/sqsbatch/sqsbatch/test/internal/harness"
)

type server struct {
	name, url string
	stop      func()
}

func startElasticMQ(ctx context.Context) (*server, error) {
	s, err := harness.StartElasticMQ(ctx)
	if err != nil {
		return nil, err
	}
	return &server{"ElasticMQ", s.URL, func() { _ = s.Stop() }}, nil
}

// startEmulator starts "sqsbatch sqs" as a user would, on a free port.
func startEmulator(ctx context.Context) (*server, error) {
	dir, err := os.MkdirTemp("", "sqsbatch-throughput-")
	if err != nil {
		return nil, err
	}
	program := filepath.Join(dir, "sqsbatch.exe")
	var s *harness.Server
	if err = harness.Build(ctx, program, "./cmd/sqsbatch"); err == nil {
		s, err = harness.StartSQS(ctx, program)
	}
	if err != nil {
		return nil, errors.Join(err, os.RemoveAll(dir))
	}
	return &server{"emulator", s.URL, func() {
		_ = s.Stop() // what was measured stands
		_ = os.RemoveAll(dir)
	}}, nil
}
