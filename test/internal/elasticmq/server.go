package elasticmq

import (
	"bytes"
	"context"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"time"
)

// startTimeout bounds how long ElasticMQ may take until it answers: a few
// seconds on an idle machine.
const startTimeout = time.Minute

// Server is a running ElasticMQ.
type Server struct {
	// URL is the endpoint for clients.
	URL string
	// PID is its process, for measurements.
	PID int
	// Log is the path of the file with all that it printed. The file stays;
	// whoever does not want it removes it.
	Log string

	cmd    *exec.Cmd
	exited chan struct{} // closed when the process has ended
}

// Start starts ElasticMQ with region us-east-1 and account 000000000000, as the
// emulator has them, and waits until it answers. java are options for the
// virtual machine, such as "-Xmx2g". It returns an error that says what to
// install when Java or, on the first use, Maven is missing.
func Start(ctx context.Context, java ...string) (*Server, error) {
	command, err := exec.LookPath("java")
	if err != nil {
		return nil, fmt.Errorf("elasticmq: java is not on the PATH: install a Java runtime (Debian: apt-get install default-jre-headless): %w", err)
	}
	libs, err := install(ctx)
	if err != nil {
		return nil, err
	}
	log, err := os.CreateTemp("", "sqsbatch-elasticmq-*.log")
	if err != nil {
		return nil, fmt.Errorf("elasticmq: %w", err)
	}
	defer log.Close() // the process has its own

	args := append(java,
		"-Drest-sqs.bind-hostname=127.0.0.1",
		"-Drest-sqs.bind-port=0", // a free one; the log says which
		"-Dgenerate-node-address=true",
		"-Drest-stats.enabled=false",
		"-Daws.region=us-east-1",
		"-Daws.accountId=000000000000",
		"-cp", filepath.Join(libs, "*"), "org.elasticmq.server.Main")
	s := &Server{Log: log.Name(), cmd: exec.Command(command, args...), exited: make(chan struct{})}
	s.cmd.Stdout, s.cmd.Stderr = log, log
	if err := s.cmd.Start(); err != nil {
		return nil, fmt.Errorf("elasticmq: start java: %w", err)
	}
	s.PID = s.cmd.Process.Pid
	go func() {
		defer close(s.exited)
		_ = s.cmd.Wait() // it is ended by a signal
	}()
	if err := s.await(ctx); err != nil {
		s.Stop()
		said, _ := os.ReadFile(s.Log)
		return nil, fmt.Errorf("elasticmq: %w; it printed:\n%s", err, said)
	}
	return s, nil
}

var bound = regexp.MustCompile(`bind address 127\.0\.0\.1:([0-9]+)`)

// await waits until the log names the port and the port answers.
func (s *Server) await(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, startTimeout)
	defer cancel()
	again := time.NewTicker(50 * time.Millisecond)
	defer again.Stop()
	for {
		if s.answers(ctx) {
			return nil
		}
		select {
		case <-again.C:
		case <-s.exited:
			return fmt.Errorf("ElasticMQ ended before it answered")
		case <-ctx.Done():
			return fmt.Errorf("ElasticMQ does not answer: %w", ctx.Err())
		}
	}
}

func (s *Server) answers(ctx context.Context) bool {
	said, err := os.ReadFile(s.Log)
	if err != nil {
		return false
	}
	port := bound.FindSubmatch(said)
	if port == nil {
		return false
	}
	s.URL = "http://127.0.0.1:" + string(port[1])
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, s.URL, bytes.NewReader([]byte("{}")))
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

// Stop ends the process that Start started, and no other. It may be called more
// than once.
func (s *Server) Stop() {
	if err := s.cmd.Process.Signal(os.Interrupt); err == nil { // not on Windows
		select {
		case <-s.exited:
			return
		case <-time.After(5 * time.Second):
		}
	}
	_ = s.cmd.Process.Kill() // it may have ended already
	<-s.exited
}
