package main

import (
	"encoding/json"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// TestKilled: when the tool is killed, the process that polls is not left to
// poll a server that is gone: it ends with its next line, which has no reader.
func TestKilled(t *testing.T) {
	cmd := command(t, t.TempDir(), "local", "--mode", "poll", "--timeout", "1m", "--output", "json") // what is left behind is there
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	var started struct {
		Type string
		PID  int
	}
	lines := json.NewDecoder(stdout)
	if err := lines.Decode(&started); err != nil || started.Type != "process" || started.PID == 0 {
		t.Errorf("%+v, %v", started, err)
	}
	process, err := unix.PidfdOpen(started.PID, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer unix.Close(process)
	_ = cmd.Process.Kill()
	_ = cmd.Wait() // killed
	n, err := unix.Poll([]unix.PollFd{{Fd: int32(process), Events: unix.POLLIN}}, int((20 * time.Second).Milliseconds()))
	if n != 1 || err != nil {
		t.Errorf("process %d still runs (%v)", started.PID, err)
		_ = unix.PidfdSendSignal(process, unix.SIGKILL, nil, 0)
	}
}
