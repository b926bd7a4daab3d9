package dynamodblocal

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"github.com/sqsbatch/sqsbatch/internal/sleep"
	"github.com/sqsbatch/sqsbatch/internal/subprocess"
)

// startTimeout is for DynamoDB Local to answer: a few seconds on an idle machine.
const startTimeout = time.Minute

// Server is a running DynamoDB Local.
type Server struct {
	// URL is the endpoint for clients.
	URL string

	process *subprocess.Process
}

// Start starts DynamoDB Local without tables, and waits until it answers. The error says what
// to install.
func Start(ctx context.Context) (*Server, error) {
	command, err := exec.LookPath("java")
	if err != nil {
		return nil, fmt.Errorf("dynamodblocal: java is not on the PATH: install a Java runtime (Debian: apt-get install default-jre-headless): %w", err)
	}
	libs, err := install(ctx)
	if err != nil {
		return nil, err
	}
	port, err := freePort()
	if err != nil {
		return nil, err
	}
	cmd := exec.Command(command,
		"-Djava.library.path="+libs, "-Dsqlite4java.library.path="+libs,
		"-cp", filepath.Join(libs, "*"), "com.amazonaws.services.dynamodbv2.local.main.ServerRunner",
		"-inMemory", "-sharedDb", "-disableTelemetry", "-port", port)
	s := &Server{URL: "http://127.0.0.1:" + port}
	if s.process, err = subprocess.Start(cmd, nil); err != nil {
		return nil, fmt.Errorf("dynamodblocal: start java: %w", err)
	}
	if err := s.await(ctx); err != nil {
		s.process.Kill()
		return nil, fmt.Errorf("dynamodblocal: %w; it printed at last: %q", err, s.process.LastLines())
	}
	return s, nil
}

// freePort is one of the loopback interface. DynamoDB Local cannot choose one by itself.
func freePort() (string, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return "", err
	}
	_, port, err := net.SplitHostPort(l.Addr().String())
	return port, errors.Join(err, l.Close())
}

// await waits until DynamoDB Local answers.
func (s *Server) await(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, startTimeout)
	defer cancel()
	for !s.answers(ctx) {
		select {
		case <-s.process.Ended():
			return fmt.Errorf("DynamoDB Local ended before it answered: %w", s.process.Err())
		default:
		}
		if !sleep.For(ctx, 50*time.Millisecond) {
			return fmt.Errorf("DynamoDB Local does not answer: %w", ctx.Err())
		}
	}
	return nil
}

func (s *Server) answers(ctx context.Context) bool {
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, s.URL, strings.NewReader("{}"))
	if err != nil {
		return false
	}
	req.Header.Set("Content-Type", "application/x-amz-json-1.0")
	req.Header.Set("X-Amz-Target", "DynamoDB_20120810.ListTables")
	req.Header.Set("Authorization", "AWS4-HMAC-SHA256 Credential=test/20260101/us-east-1/dynamodb/aws4_request, SignedHeaders=host, Signature=0")
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		return false
	}
	_ = res.Body.Close()
	return res.StatusCode == http.StatusOK
}

// Stop ends the process. It may be called more than once.
func (s *Server) Stop() {
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
	defer cancel()
	s.process.Stop(ctx)
}
