package main

import (
	"bufio"
	"bytes"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"testing"

	"github.com/sqsbatch/sqsbatch/cmd/sqsbatch/internal/golden"
)

// TestClosedPipe: when what reads the output ends, as in `sqsbatch local | head`,
// the run ends with an error and leaves nothing behind.
func TestClosedPipe(t *testing.T) {
	for _, format := range []string{"text", "json"} {
		t.Run(format, func(t *testing.T) {
			temporary := t.TempDir()
			cmd := command(t, temporary, "local", "--timeout", "1m", "--output", format)
			var stderr bytes.Buffer
			cmd.Stderr = &stderr
			stdout := start(t, cmd)
			line, err := bufio.NewReaderSize(stdout, 16).ReadString('\n')
			if err != nil || line == "" {
				t.Errorf("%q, %v", line, err)
			}
			_ = stdout.Close() // Wait would close it too
			_ = cmd.Wait()     // the status says it
			if status := cmd.ProcessState.ExitCode(); status != 1 || !strings.Contains(stderr.String(), "sqsbatch local: standard output: ") {
				t.Errorf("status %d\n%s", status, stderr.String())
			}
			left, err := filepath.Glob(filepath.Join(temporary, "*"))
			if err != nil || len(left) > 0 {
				t.Errorf("left behind: %v, %v", left, err)
			}
		})
	}
}

// Signals end the command with status 0.
func TestSignals(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("Windows has no signals that a test could send")
	}
	for _, signal := range []os.Signal{syscall.SIGTERM, os.Interrupt} {
		cmd := command(t, t.TempDir(), "sqs", "--addr", "127.0.0.1:0")
		var stderr bytes.Buffer
		cmd.Stderr = &stderr
		out := bufio.NewReader(start(t, cmd))
		for line := ""; line != "ready\n"; {
			var err error
			if line, err = out.ReadString('\n'); err != nil {
				t.Fatal(err)
			}
		}
		golden.OK(t, cmd.Process.Signal(signal))
		if err := cmd.Wait(); err != nil || stderr.Len() > 0 {
			t.Errorf("%v: %v\n%s", signal, err, stderr.String())
		}
	}
}

// start starts a program, and returns its standard output.
func start(t *testing.T, cmd *exec.Cmd) io.ReadCloser {
	t.Helper()
	stdout, err := cmd.StdoutPipe()
	golden.OK(t, err)
	golden.OK(t, cmd.Start())
	return stdout
}
