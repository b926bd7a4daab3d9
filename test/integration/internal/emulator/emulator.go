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
	"strings"
	"sync"
	"time"

	"github.com/sqsbatch/sqsbatch/internal/subprocess"
	"github.com/sqsbatch/sqsbatch/test/internal/harness"
	"github.com/sqsbatch/sqsbatch/test/internal/must"
)

// An Emulator is a running one with a function in it.
type Emulator struct {
	PID int

	process *subprocess.Process
	url     string
	mu      sync.Mutex
	log     strings.Builder
}

// Start starts the emulator on free ports and waits until it listens. It starts
// the program, with the variables, at the first request.
func Start(ctx context.Context, rie, program string, env []string) (_ *Emulator, err error) {
	defer must.Return(&err)
	front, runtimeAPI := must.Get(harness.FreeAddress()), must.Get(harness.FreeAddress())
	e := &Emulator{url: "http://" + front + "/2015-03-31/functions/function/invocations"}
	cmd := exec.Command(rie, "--runtime-interface-emulator-address", front, "--runtime-api-address", runtimeAPI, program)
	cmd.Env = env
	if e.process, err = subprocess.Start(cmd, e.line); err != nil {
		return nil, fmt.Errorf("start the Runtime Interface Emulator: %w", err)
	}
	e.PID = e.process.PID()
	// Both: the program would not find the Runtime API if it came first.
	if err := errors.Join(e.listens(ctx, front), e.listens(ctx, runtimeAPI)); err != nil {
		e.Stop()
		return nil, fmt.Errorf("start the Runtime Interface Emulator: %w\n%s", err, e.Log())
	}
	return e, nil
}

// listens waits until something listens on the address.
func (e *Emulator) listens(ctx context.Context, address string) error {
	return harness.Ready(ctx, e.process, func() error {
		c, err := net.Dial("tcp", address)
		if err != nil {
			return err
		}
		return c.Close()
	})
}

// Invoke sends an event to the function and returns its answer, or its error.
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
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
	defer cancel()
	e.process.Stop(ctx)
}

// Log is what emulator and function have printed.
func (e *Emulator) Log() string {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.log.String()
}

func (e *Emulator) line(_, text string) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.log.WriteString(text + "\n")
}
