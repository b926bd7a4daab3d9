//go:build linux

package main

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"strconv"
	"sync"
	"syscall"
	"time"
)

// emulator is a running Runtime Interface Emulator with a function in it.
type emulator struct {
	cmd    *exec.Cmd
	url    string
	log    *output
	exited chan struct{} // closed when the process has ended
}

// start starts the emulator on free ports and waits until it listens.
func start(ctx context.Context, rie, bootstrap string, timeout time.Duration) (*emulator, error) {
	front, err := freeAddress()
	if err != nil {
		return nil, err
	}
	runtimeAPI, err := freeAddress()
	if err != nil {
		return nil, err
	}
	cmd := exec.Command(rie, "--runtime-interface-emulator-address", front, "--runtime-api-address", runtimeAPI, bootstrap)
	cmd.Env = append(os.Environ(),
		"AWS_LAMBDA_FUNCTION_TIMEOUT="+strconv.Itoa(int(timeout.Seconds())),
		"AWS_LAMBDA_LOG_FORMAT=JSON",
		"AWS_REGION=us-east-1",
		"AWS_SAM_LOCAL=true", // sample receipt handles: no queue behind them
		"SQSBATCH_LOG_SUCCEEDED=true",
	)
	e := &emulator{
		cmd:    cmd,
		url:    "http://" + front + "/2015-03-31/functions/function/invocations",
		log:    &output{},
		exited: make(chan struct{}),
	}
	cmd.Stdout, cmd.Stderr = e.log, e.log
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} // to end it with its children
	if err := cmd.Start(); err != nil {
		return nil, fmt.Errorf("start the Runtime Interface Emulator: %w", err)
	}
	go func() {
		defer close(e.exited)
		_ = cmd.Wait() // it is ended by a signal
	}()

	for range 100 {
		if c, err := net.Dial("tcp", front); err == nil {
			c.Close()
			return e, nil
		}
		select {
		case <-time.After(100 * time.Millisecond):
		case <-e.exited:
			return nil, fmt.Errorf("the Runtime Interface Emulator ended at once:\n%s", e.log)
		case <-ctx.Done():
			e.stop()
			return nil, ctx.Err()
		}
	}
	e.stop()
	return nil, fmt.Errorf("the Runtime Interface Emulator does not listen on %s after 10 s:\n%s", front, e.log)
}

// invoke sends the event to the function and returns what it answers, be it an
// error of the function's.
func (e *emulator) invoke(ctx context.Context, event []byte) (answer []byte, took time.Duration, err error) {
	ctx, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, e.url, bytes.NewReader(event))
	if err != nil {
		return nil, 0, err
	}
	begin := time.Now()
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		return nil, 0, err
	}
	defer res.Body.Close()
	answer, err = io.ReadAll(res.Body)
	if err == nil && res.StatusCode != http.StatusOK {
		err = fmt.Errorf("status %s: %s", res.Status, answer)
	}
	return answer, time.Since(begin), err
}

// stop ends the emulator and what it started.
func (e *emulator) stop() {
	_ = e.cmd.Process.Signal(syscall.SIGTERM) // lets it end the function
	select {
	case <-e.exited:
	case <-time.After(5 * time.Second):
	}
	_ = syscall.Kill(-e.cmd.Process.Pid, syscall.SIGKILL)
	<-e.exited
}

func freeAddress() (string, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return "", err
	}
	defer l.Close()
	return l.Addr().String(), nil
}

// output keeps what a process prints while others read it.
type output struct {
	mu  sync.Mutex
	buf bytes.Buffer
}

func (o *output) Write(b []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.buf.Write(b)
}

func (o *output) String() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.buf.String()
}
