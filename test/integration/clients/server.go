package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"runtime"
	"strings"
)

// A server is a running `sqsbatch sqs`.
type server struct {
	cmd      *exec.Cmd
	stderr   bytes.Buffer
	endpoint string
}

// serve starts the command on a free port and returns when it is ready.
func serve(ctx context.Context, command string) (*server, error) {
	s := &server{cmd: exec.CommandContext(ctx, command, "sqs", "--addr", "127.0.0.1:0", "--output", "json")}
	s.cmd.Stderr = &s.stderr
	out, err := s.cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := s.cmd.Start(); err != nil {
		return nil, err
	}
	var ready struct{ Type, Endpoint string }
	line, err := bufio.NewReader(out).ReadBytes('\n')
	if err == nil {
		err = json.Unmarshal(line, &ready)
	}
	if err == io.EOF || ready.Type != "ready" {
		_ = s.cmd.Process.Kill()
		_ = s.cmd.Wait() // what it printed says more
		return nil, fmt.Errorf("sqsbatch sqs did not start: %s%s", line, s.stderr.Bytes())
	}
	s.endpoint = ready.Endpoint
	return s, err
}

// environment is what a client needs to find the server, and nothing else of
// the user's that is for AWS.
func (s *server) environment() []string {
	var env []string
	for _, v := range os.Environ() {
		if !strings.HasPrefix(v, "AWS_") {
			env = append(env, v)
		}
	}
	return append(env,
		"AWS_ENDPOINT_URL_SQS="+s.endpoint,
		"AWS_DEFAULT_REGION=us-east-1",
		"AWS_ACCESS_KEY_ID=test",
		"AWS_SECRET_ACCESS_KEY=test",
		"AWS_CONFIG_FILE="+os.DevNull,
		"AWS_SHARED_CREDENTIALS_FILE="+os.DevNull,
		"AWS_EC2_METADATA_DISABLED=true",
		"PYTHONIOENCODING=utf-8",
	)
}

// end interrupts the server, which must end well.
func (s *server) end() error {
	if runtime.GOOS == "windows" { // has no interrupt for another process
		_ = s.cmd.Process.Kill()
		_ = s.cmd.Wait() // killed
		return nil
	}
	if err := s.cmd.Process.Signal(os.Interrupt); err != nil {
		return err
	}
	if err := s.cmd.Wait(); err != nil || s.stderr.Len() > 0 {
		return fmt.Errorf("sqsbatch sqs ended with %v: %s", err, s.stderr.Bytes())
	}
	return nil
}
