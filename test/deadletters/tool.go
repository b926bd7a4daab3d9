package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"time"

	"github.com/sqsbatch/sqsbatch/test/internal/must"
)

// A toolRun is one process of `sqsbatch dlq`.
type toolRun struct {
	cmd            *exec.Cmd
	stdout, stderr bytes.Buffer
}

// result is the last line of its JSON output.
type result struct {
	Type                      string
	Selected, Deleted, Failed int
	Behind, Unseen            int
	InFlightElsewhere         int
	StillHidden               int
	SentTwice                 []string
	Error                     string
}

// tool prepares a process. Its configuration is not that of the user.
func tool(ctx context.Context, program string, args ...string) *toolRun {
	t := &toolRun{cmd: exec.CommandContext(ctx, program, append([]string{"dlq"}, args...)...)}
	t.cmd.Stdout, t.cmd.Stderr = &t.stdout, &t.stderr
	for _, variable := range os.Environ() {
		if !strings.HasPrefix(variable, "AWS_") {
			t.cmd.Env = append(t.cmd.Env, variable)
		}
	}
	t.cmd.Env = append(t.cmd.Env, "AWS_REGION=us-east-1", "AWS_ACCESS_KEY_ID=test", "AWS_SECRET_ACCESS_KEY=test", "AWS_EC2_METADATA_DISABLED=true")
	return t
}

// run runs it, and calls started meanwhile. It returns the exit status, -1 after a kill.
func (t *toolRun) run(started func()) (status int) {
	must.Do(t.cmd.Start())
	started()
	err := t.cmd.Wait()
	if _, exited := errors.AsType[*exec.ExitError](err); !exited {
		must.Do(err)
	}
	return t.cmd.ProcessState.ExitCode()
}

// result reads the output.
func (t *toolRun) result() (r result) {
	all := bytes.Split(bytes.TrimSpace(t.stdout.Bytes()), []byte("\n"))
	if err := json.Unmarshal(all[len(all)-1], &r); err != nil || r.Type != "result" {
		must.Failf("the output does not end with a result: %s", t.output())
	}
	return r
}

// output is what it printed, for errors.
func (t *toolRun) output() string {
	return strings.TrimSpace(t.stdout.String() + "\n" + t.stderr.String())
}

// seconds is how long ago a time is.
func seconds(since time.Time) string { return fmt.Sprintf("%.1f s", time.Since(since).Seconds()) }
