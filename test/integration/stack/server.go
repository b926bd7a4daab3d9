package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"time"

	"github.com/sqsbatch/sqsbatch/test/integration/internal/samcli"
	"github.com/sqsbatch/sqsbatch/test/integration/internal/stage"
)

// A server is moto's, in a process of its own.
type server struct {
	cmd      *exec.Cmd
	url      string
	resolved string // the file with what properties have come to
	ended    chan error
}

// startServer returns when the server answers.
func startServer(ctx context.Context, s *stage.Stage, sam *samcli.CLI) (*server, error) {
	port, err := freePort()
	if err != nil {
		return nil, err
	}
	// By its name: below an address the SDK would not put a bucket into the path.
	m := &server{url: "http://localhost:" + strconv.Itoa(port), resolved: filepath.Join(s.Tmp, "resolved"), ended: make(chan error, 1)}
	m.cmd = sam.Python(context.WithoutCancel(ctx), filepath.Join(s.Root, "test", "integration", "stack", "python", "server.py"), strconv.Itoa(port), m.resolved)
	m.cmd.Env = append(os.Environ(), "AWS_DEFAULT_REGION=us-east-1", "AWS_ACCESS_KEY_ID=test", "AWS_SECRET_ACCESS_KEY=test")
	m.cmd.Stdout, m.cmd.Stderr = s.Log, s.Log
	if err := m.cmd.Start(); err != nil {
		return nil, err
	}
	go func() { m.ended <- m.cmd.Wait() }()
	for range 600 {
		if res, err := http.Get(m.url + "/moto-api/data.json"); err == nil {
			res.Body.Close()
			return m, nil
		}
		select {
		case err := <-m.ended:
			return nil, fmt.Errorf("moto's server ended: %w", err)
		case <-ctx.Done():
			return nil, errors.Join(ctx.Err(), m.stop())
		case <-time.After(100 * time.Millisecond):
		}
	}
	return nil, errors.Join(errors.New("moto's server does not answer after a minute"), m.stop())
}

// stop ends the server, which has nothing to save.
func (m *server) stop() error {
	if err := m.cmd.Process.Kill(); err != nil {
		return fmt.Errorf("stop moto's server: %w", err)
	}
	<-m.ended // it was killed
	return nil
}

func freePort() (int, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return 0, err
	}
	defer l.Close()
	return l.Addr().(*net.TCPAddr).Port, nil
}
