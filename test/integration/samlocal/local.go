package samlocal

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/sqsbatch/sqsbatch/test/integration/internal/stage"
	"github.com/sqsbatch/sqsbatch/test/internal/module"
)

// local is the tool, built.
type local struct {
	stage   *stage.Stage
	program string
}

func buildLocal(ctx context.Context, s *stage.Stage) (*local, error) {
	l := &local{stage: s, program: filepath.Join(s.Tmp, "sqsbatch")}
	return l, module.Build(ctx, l.program, "./cmd/sqsbatch")
}

// failed counts, by their bodies, the records of an event that do not succeed
// in their first invocation. That is all that can be compared with an answer:
// there is a queue, from which what failed comes back, and a dead-letter queue
// for what can never succeed.
func (l *local) failed(ctx context.Context, name string) (map[string]int, error) {
	failed := map[string]int{}
	if name == "empty.json" {
		return failed, nil // nothing is sent, so nothing is invoked
	}
	args := []string{"local", "--event", filepath.Join(l.stage.Root, "events", name), "--output", "json", "--timeout", "1m",
		"--parameter-overrides", "FunctionTimeout=" + strconv.Itoa(int(timeout.Seconds()))}
	if strings.HasPrefix(name, "fifo") {
		args = append(args, "--parameter-overrides", "Fifo=true")
	}
	ctx, cancel := context.WithTimeout(ctx, 2*time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, l.program, args...)
	cmd.Dir = l.stage.Root
	var stderr strings.Builder
	cmd.Stderr = &stderr
	out, err := cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	invoked := false
	for lines := bufio.NewScanner(out); lines.Scan(); {
		fmt.Fprintf(l.stage.Log, "%s by sqsbatch local: %s\n", name, lines.Bytes())
		var line struct{ Type, Body, Outcome string }
		if err := json.Unmarshal(lines.Bytes(), &line); err != nil {
			end(cmd, out)
			return nil, fmt.Errorf("sqsbatch local printed %q: %w", lines.Bytes(), err)
		}
		if line.Type == "invocation" {
			invoked = true
			break // what comes back does so for minutes
		}
		if line.Type == "record" && line.Outcome != "succeeded" {
			failed[line.Body]++
		}
	}
	end(cmd, out)
	if !invoked {
		return nil, fmt.Errorf("%s: sqsbatch local invoked nothing: %s", name, stderr.String())
	}
	return failed, nil
}

// end has the tool end without waiting for what is under way, which takes two
// signals; two that come at once are one.
func end(cmd *exec.Cmd, out io.Reader) {
	drained := make(chan struct{})
	go func() {
		defer close(drained)
		_, _ = io.Copy(io.Discard, out)
	}()
	for again := time.NewTicker(50 * time.Millisecond); ; {
		_ = cmd.Process.Signal(os.Interrupt)
		select {
		case <-drained:
			again.Stop()
			_ = cmd.Wait() // it was interrupted
			return
		case <-again.C:
		}
	}
}
