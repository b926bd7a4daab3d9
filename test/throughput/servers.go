package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"github.com/sqsbatch/sqsbatch/test/internal/elasticmq"
)

// process is a server that is measured.
type process struct {
	name string
	url  string
	pid  int
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
	return &process{url: s.URL, pid: s.PID, stop: func() {
		s.Stop()
		_ = os.Remove(s.Log)
	}}, nil
}

// startEmulator starts "sqsbatch sqs" as a user would, on a free port.
func startEmulator(ctx context.Context) (*process, error) {
	dir, err := os.MkdirTemp("", "sqsbatch-throughput-")
	if err != nil {
		return nil, err
	}
	binary, ready := filepath.Join(dir, "sqsbatch.exe"), filepath.Join(dir, "ready")
	build := exec.CommandContext(ctx, "go", "build", "-o", binary, "github.com/sqsbatch/sqsbatch/cmd/sqsbatch")
	if out, err := build.CombinedOutput(); err != nil {
		return nil, errors.Join(fmt.Errorf("build cmd/sqsbatch (run this inside the module): %w\n%s", err, out), os.RemoveAll(dir))
	}
	var said bytes.Buffer
	cmd := exec.Command(binary, "sqs", "--quiet", "--addr", "127.0.0.1:0", "--ready-file", ready)
	cmd.Stdout, cmd.Stderr = &said, &said
	if err := cmd.Start(); err != nil {
		return nil, errors.Join(err, os.RemoveAll(dir))
	}
	exited := make(chan struct{})
	go func() {
		defer close(exited)
		_ = cmd.Wait() // it is killed
	}()
	s := &process{pid: cmd.Process.Pid, stop: func() {
		_ = cmd.Process.Kill() // it may have ended already
		<-exited
		_ = os.RemoveAll(dir)
	}}
	for range 200 {
		if text, err := os.ReadFile(ready); err == nil {
			s.url = strings.TrimSpace(string(text))
			return s, nil
		}
		select {
		case <-exited:
			s.stop()
			return nil, fmt.Errorf("sqsbatch sqs ended: %s", &said)
		case <-ctx.Done():
			s.stop()
			return nil, ctx.Err()
		case <-time.After(50 * time.Millisecond):
		}
	}
	s.stop()
	return nil, errors.New("sqsbatch sqs did not say within 10 s where it listens")
}
