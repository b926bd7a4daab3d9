package javaserver

import (
	"context"
	"fmt"
	"net/http"
	"os/exec"
	"regexp"
	"strings"
	"time"

	"github.com/sqsbatch/sqsbatch/internal/sleep"
	"github.com/sqsbatch/sqsbatch/internal/subprocess"
)

// startTimeout is for the program to answer: a few seconds on an idle machine.
const startTimeout = time.Minute

// Program is a server that is written in Java.
type Program struct {
	// ID names it in the cache and before errors, Name in sentences.
	ID, Name string
	// Group, Artifact and Version are what it is called in Maven Central.
	Group, Artifact, Version string
	// Arguments are those of java. libs is the directory with the program's jars.
	Arguments func(libs string) []string
	// Port finds the port in a line that the program prints.
	Port *regexp.Regexp
	// Header is that of a request which the program answers when it is ready. Its body is {}.
	Header map[string]string
}

// Server is a running Program.
type Server struct {
	// URL is the endpoint for clients.
	URL string

	program Program
	process *subprocess.Process
}

// Start starts a program and waits until it answers. The error says what to install.
func Start(ctx context.Context, p Program) (*Server, error) {
	command, err := exec.LookPath("java")
	if err != nil {
		return nil, fmt.Errorf("%s: java is not on the PATH: install a Java runtime (Debian: apt-get install default-jre-headless): %w", p.ID, err)
	}
	libs, err := p.install(ctx)
	if err != nil {
		return nil, err
	}
	port := make(chan string, 1)
	s := &Server{program: p}
	if s.process, err = subprocess.Start(exec.Command(command, p.Arguments(libs)...), func(_, text string) {
		if found := p.Port.FindStringSubmatch(text); found != nil {
			select {
			case port <- found[1]:
			default:
			}
		}
	}); err != nil {
		return nil, fmt.Errorf("%s: start java: %w", p.ID, err)
	}
	if err := s.await(ctx, port); err != nil {
		s.process.Kill()
		return nil, fmt.Errorf("%s: %w; it printed at last: %q", p.ID, err, s.process.LastLines())
	}
	return s, nil
}

// await waits until the program says its port, and answers there.
func (s *Server) await(ctx context.Context, port <-chan string) error {
	ctx, cancel := context.WithTimeout(ctx, startTimeout)
	defer cancel()
	for s.URL == "" || !s.answers(ctx) {
		select {
		case p := <-port:
			s.URL = "http://127.0.0.1:" + p
		case <-s.process.Ended():
			return fmt.Errorf("%s ended before it answered: %v", s.program.Name, s.process.Err())
		default:
			if !sleep.For(ctx, 50*time.Millisecond) {
				return fmt.Errorf("%s does not answer: %w", s.program.Name, ctx.Err())
			}
		}
	}
	return nil
}

func (s *Server) answers(ctx context.Context) bool {
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, s.URL, strings.NewReader("{}"))
	if err != nil {
		return false
	}
	for name, value := range s.program.Header {
		req.Header.Set(name, value)
	}
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
