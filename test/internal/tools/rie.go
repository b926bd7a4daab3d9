package tools

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
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
type RIE struct {
	PID int

	process *subprocess.Process
	url     string
	mu      sync.Mutex
	log     strings.Builder
}

// StartRIE starts the emulator on free ports and waits until it listens. It starts
// the program, with the variables, at the first request.
func StartRIE(ctx context.Context, rie, program string, env []string) (_ *RIE, err error) {
	defer must.Return(&err)
	front, runtimeAPI := must.Get(harness.FreeAddress()), must.Get(harness.FreeAddress())
	e := &RIE{url: "http://" + front + "/2015-03-31/functions/function/invocations"}
	cmd := exec.Command(rie, "--runtime-interface-emulator-address", front, "--runtime-api-address", runtimeAPI, program)
	cmd.Env = env
	if e.process, err = subprocess.Start(cmd, e.line); err != nil {
		return nil, fmt.Errorf("start the Runtime Interface Emulator: %w", err)
	}
	e.PID = e.process.PID()
	// Both: the program would not find the Runtime API if it came first.
	if err := harness.Ready(ctx, e.process, func() error { return errors.Join(harness.Listens(front), harness.Listens(runtimeAPI)) }); err != nil {
		e.Stop()
		return nil, fmt.Errorf("start the Runtime Interface Emulator: %w\n%s", err, e.Log())
	}
	return e, nil
}

// Invoke sends an event to the function and returns its answer, or its error.
func (e *RIE) Invoke(ctx context.Context, event []byte) (answer []byte, took time.Duration, err error) {
	defer must.Return(&err)
	ctx, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	req := must.Get(http.NewRequestWithContext(ctx, http.MethodPost, e.url, bytes.NewReader(event)))
	begin := time.Now()
	res := must.Get(http.DefaultClient.Do(req))
	defer res.Body.Close()
	answer = must.Get(io.ReadAll(res.Body))
	took = time.Since(begin)
	if res.StatusCode != http.StatusOK {
		must.Failf("status %s: %s", res.Status, answer)
	}
	return answer, took, nil
}

// Stop ends the emulator and what it started.
func (e *RIE) Stop() {
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
	defer cancel()
	e.process.Stop(ctx)
}

// Log is what emulator and function have printed.
func (e *RIE) Log() string {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.log.String()
}

func (e *RIE) line(_, text string) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.log.WriteString(text + "\n")
}
