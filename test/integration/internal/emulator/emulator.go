//go:build linux

// Package emulator runs a function under AWS's Runtime Interface Emulator, which
// package samcli finds.
package emulator

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os/exec"
	"sync"
	"syscall"
	"time"

	"github.com/sqsbatch/sqsbatch/test/integration/internal/stage"
)

// An Emulator is a running one with a function in it.
type Emulator struct {
	PID int

	cmd    *exec.Cmd
	url    string
	log    output
	exited chan struct{} // closed when the process has ended
}

// Start starts the emulator on free ports and waits until it listens. It starts
// the program, with the variables, at the first request.
func Start(ctx context.Context, rie, program string, env []string) (*Emulator, error) {
	front, err := stage.FreeAddress()
	if err != nil {
		return nil, err
	}
	runtimeAPI, err := stage.FreeAddress()
	if err != nil {
		return nil, err
	}
	e := &Emulator{
		cmd:    exec.Command(rie, "--runtime-interface-emulator-address", front, "--runtime-api-address", runtimeAPI, program),
		url:    "http://" + front + "/2015-03-31/functions/function/invocations",
		exited: make(chan struct{}),
	}
	e.cmd.Env = env
	e.cmd.Stdout, e.cmd.Stderr = &e.log, &e.log
	e.cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} // to end it with its children
	if err := e.cmd.Start(); err != nil {
		return nil, fmt.Errorf("start the Runtime Interface Emulator: %w", err)
	}
	e.PID = e.cmd.Process.Pid
	go func() {
		defer close(e.exited)
		_ = e.cmd.Wait() // it is ended by a signal
	}()
	// Both: the program would not find the Runtime API if it came first.
	if err := errors.Join(e.listens(ctx, front), e.listens(ctx, runtimeAPI)); err != nil {
		e.Stop()
		return nil, fmt.Errorf("%w\n%s", err, e.Log())
	}
	return e, nil
}

// listens waits until something listens on the address.
func (e *Emulator) listens(ctx context.Context, address string) error {
	ctx, cancel := context.WithTimeout(ctx, 30*time.Second)
	defer cancel()
	for {
		c, err := net.Dial("tcp", address)
		if err == nil {
			return c.Close()
		}
		select {
		case <-e.exited:
			return errors.New("the Runtime Interface Emulator ended at once")
		case <-ctx.Done():
			return fmt.Errorf("the Runtime Interface Emulator does not listen on %s: %w", address, ctx.Err())
		case <-time.After(5 * time.Millisecond):
		}
	}
}

// Invoke sends an event to the function and returns what it answers, be it an
// error of the function's.
func (e *Emulator) Invoke(ctx context.Context, event []byte) (answer []byte, took time.Duration, err error) {
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
	took = time.Since(begin)
	if err == nil && res.StatusCode != http.StatusOK {
		err = fmt.Errorf("status %s: %s", res.Status, answer)
	}
	return answer, took, err
}

// Stop ends the emulator and what it started.
func (e *Emulator) Stop() {
	_ = e.cmd.Process.Signal(syscall.SIGTERM) // lets it end the function
	select {
	case <-e.exited:
	case <-time.After(5 * time.Second):
	}
	_ = syscall.Kill(-e.PID, syscall.SIGKILL)
	<-e.exited
}

// Log is what emulator and function have printed.
func (e *Emulator) Log() string {
	e.log.mu.Lock()
	defer e.log.mu.Unlock()
	return e.log.buf.String()
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
