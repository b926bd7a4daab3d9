package elasticmq

import (
	"context"
	"fmt"
	"net/http"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"time"

	"github.com/sqsbatch/sqsbatch/internal/sleep"
	"github.com/sqsbatch/sqsbatch/internal/subprocess"
)

// startTimeout is for ElasticMQ to answer: a few seconds on an idle machine.
const startTimeout = time.Minute

// Server is a running ElasticMQ.
type Server struct {
	// URL is the endpoint for clients.
	URL string

	process *subprocess.Process
}

// bound is what ElasticMQ says when it has its port.
var bound = regexp.MustCompile(`bind address (127\.0\.0\.1:[0-9]+)`)

// Start starts ElasticMQ with the emulator's region and account, and waits until it
// answers. The error says what to install.
func Start(ctx context.Context) (*Server, error) {
	command, err := exec.LookPath("java")
	if err != nil {
		return nil, fmt.Errorf("elasticmq: java is not on the PATH: install a Java runtime (Debian: apt-get install default-jre-headless): %w", err)
	}
	libs, err := install(ctx)
	if err != nil {
		return nil, err
	}
	cmd := exec.Command(command,
		"-Drest-sqs.bind-hostname=127.0.0.1",
		"-Drest-sqs.bind-port=0", // a free one; it says which
		"-Dgenerate-node-address=true",
		"-Drest-stats.enabled=false",
		"-Daws.region=us-east-1",
		"-Daws.accountId=000000000000",
		"-cp", filepath.Join(libs, "*"), "org.elasticmq.server.Main")
	address := make(chan string, 1)
	s := &Server{}
	if s.process, err = subprocess.Start(cmd, func(_, text string) {
		if found := bound.FindStringSubmatch(text); found != nil {
			select {
			case address <- found[1]:
			default:
			}
		}
	}); err != nil {
		return nil, fmt.Errorf("elasticmq: start java: %w", err)
	}
	if err := s.await(ctx, address); err != nil {
		s.process.Kill()
		return nil, fmt.Errorf("elasticmq: %w; it printed at last: %q", err, s.process.LastLines())
	}
	return s, nil
}

// await waits until ElasticMQ says its address, and answers there.
func (s *Server) await(ctx context.Context, address <-chan string) error {
	ctx, cancel := context.WithTimeout(ctx, startTimeout)
	defer cancel()
	select {
	case a := <-address:
		s.URL = "http://" + a
	case <-s.process.Ended():
		return fmt.Errorf("ElasticMQ ended before it answered")
	case <-ctx.Done():
		return fmt.Errorf("ElasticMQ does not say its address: %w", ctx.Err())
	}
	for !s.answers(ctx) {
		if !sleep.For(ctx, 50*time.Millisecond) {
			return fmt.Errorf("ElasticMQ does not answer: %w", ctx.Err())
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
	req.Header.Set("X-Amz-Target", "AmazonSQS.ListQueues")
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
