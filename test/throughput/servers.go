package main

import (
	"context"
	"errors"
	"os"
	"path/filepath"

	"github.com/sqsbatch/sqsbatch/test/internal/elasticmq"
	"github.com/sqsbatch/sqsbatch/test/internal/module"
	"github.com/sqsbatch/sqsbatch/test/internal/sqsserver"
)

type process struct {
	name string
	url  string
	stop func()
}

type starter struct {
	name  string
	start func(context.Context) (*process, error)
}

func startAll(ctx context.Context, starters []starter) (servers []*process, stop func(), err error) {
	stop = func() {
		for _, s := range servers {
			s.stop()
		}
	}
	for _, s := range starters {
		started, err := s.start(ctx)
		if err != nil {
			stop()
			return nil, nil, err
		}
		started.name = s.name
		servers = append(servers, started)
	}
	return servers, stop, nil
}

func startElasticMQ(ctx context.Context) (*process, error) {
	s, err := elasticmq.Start(ctx)
	if err != nil {
		return nil, err
	}
	return &process{url: s.URL, stop: s.Stop}, nil
}

// startEmulator starts "sqsbatch sqs" as a user would, on a free port.
func startEmulator(ctx context.Context) (*process, error) {
	dir, err := os.MkdirTemp("", "sqsbatch-throughput-")
	if err != nil {
		return nil, err
	}
	program := filepath.Join(dir, "sqsbatch.exe")
	var s *sqsserver.Server
	if err = module.Build(ctx, program, "./cmd/sqsbatch"); err == nil {
		s, err = sqsserver.Start(ctx, program)
	}
	if err != nil {
		return nil, errors.Join(err, os.RemoveAll(dir))
	}
	return &process{url: s.URL, stop: func() {
		_ = s.Stop() // what was measured stands
		_ = os.RemoveAll(dir)
	}}, nil
}
