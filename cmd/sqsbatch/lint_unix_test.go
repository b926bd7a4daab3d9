//go:build unix

package main

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/sqsbatch/sqsbatch/cmd/sqsbatch/internal/golden"
)

// Signals end `sqsbatch lint` while it waits for a template.
func TestLint_SignalsEndARead(t *testing.T) {
	for _, signal := range []os.Signal{syscall.SIGTERM, os.Interrupt} {
		fifo := filepath.Join(t.TempDir(), "template.yaml")
		golden.OK(t, unix.Mkfifo(fifo, 0o600))
		cmd := command(t, t.TempDir(), "lint", fifo)
		var stderr bytes.Buffer
		cmd.Stderr = &stderr
		golden.OK(t, cmd.Start())
		writer, err := os.OpenFile(fifo, os.O_WRONLY, 0) // waits until the command has opened it
		golden.OK(t, err)
		golden.OK(t, cmd.Process.Signal(signal))
		if err := cmd.Wait(); cmd.ProcessState.ExitCode() != 130 || stderr.String() != "sqsbatch lint: interrupted\n" {
			t.Errorf("%v: %v\n%s", signal, err, stderr.String())
		}
		golden.OK(t, writer.Close())
	}
}

// A device that never ends, and --fix of something that is no file.
func TestLint_Devices(t *testing.T) {
	cmd := command(t, t.TempDir(), "lint", "/dev/zero")
	out, err := cmd.CombinedOutput()
	if cmd.ProcessState.ExitCode() != 3 || !strings.Contains(string(out), "/dev/zero: it is larger than 4 MiB") {
		t.Errorf("%v\n%s", err, out)
	}
	cmd = command(t, t.TempDir(), "lint", "--fix", "/dev/stdin")
	cmd.Stdin = strings.NewReader("Resources: {Q: {Type: AWS::SQS::Queue, Properties: {RedrivePolicy: {deadLetterTargetArn: !GetAtt D.Arn, maxReceiveCount: 2}}}, D: {Type: AWS::SQS::Queue}}\n")
	out, err = cmd.CombinedOutput()
	if cmd.ProcessState.ExitCode() != 1 || !strings.Contains(string(out), "/dev/stdin: not fixed: it is not a regular file; name the file itself") {
		t.Errorf("%v\n%s", err, out)
	}
}
