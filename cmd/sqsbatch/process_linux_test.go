package main

import (
	"encoding/json"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"
	"golang.org/x/term"

	"github.com/sqsbatch/sqsbatch/cmd/sqsbatch/internal/cli"
	"github.com/sqsbatch/sqsbatch/cmd/sqsbatch/internal/golden"
	"github.com/sqsbatch/sqsbatch/cmd/sqsbatch/internal/show"
)

const asEditor = "SQSBATCH_TEST_EDITOR"

// This binary is the editor when a test says so.
func init() {
	if how := os.Getenv(asEditor); how != "" {
		edit(how, os.Args[len(os.Args)-1])
	}
}

// edit is an editor of one file. how says what it does.
func edit(how, path string) {
	text, err := os.ReadFile(path)
	if err != nil || !term.IsTerminal(int(os.Stdin.Fd())) || !term.IsTerminal(int(os.Stdout.Fd())) {
		fmt.Println("the editor has no file or no terminal:", err)
		os.Exit(1)
	}
	switch how {
	case "change":
		text = []byte(strings.Replace(string(text), `"customer": 17`, `"customer": 18`, 1))
	case "empty":
		text = nil
	case "slow":
		// The user does nothing for longer than the command would take to draw its status.
		fmt.Println("editor begins")
		_, _ = unix.Poll([]unix.PollFd{{Fd: 0, Events: unix.POLLIN}}, 500)
		fmt.Println("editor ends")
	}
	if err := os.WriteFile(path, text, 0o600); err != nil {
		os.Exit(1)
	}
	os.Exit(0)
}

// terminal returns both ends of a pseudoterminal: what reads what is shown, and the file that
// a program has as its terminal.
func terminal(t *testing.T) (shown, program *os.File) {
	t.Helper()
	shown, err := os.OpenFile("/dev/ptmx", os.O_RDWR|unix.O_NOCTTY, 0)
	golden.OK(t, err)
	fd := int(shown.Fd())
	golden.OK(t, unix.IoctlSetPointerInt(fd, unix.TIOCSPTLCK, 0))
	n, err := unix.IoctlGetInt(fd, unix.TIOCGPTN)
	golden.OK(t, err)
	program, err = os.OpenFile(fmt.Sprintf("/dev/pts/%d", n), os.O_RDWR|unix.O_NOCTTY, 0)
	golden.OK(t, err)
	return shown, program
}

// A message that the user changes in the editor is sent so. One that the user leaves alone is
// sent as it was, byte for byte, and one whose file is empty stays. While the editor has the
// terminal, the command writes nothing there. Nothing of a message stays in the temporary directory.
func TestDLQReplay_Editor(t *testing.T) {
	const body = `{ "customer":17, "note":"é" }`
	for how, want := range map[string]struct {
		sent, left []string
		shows      string
	}{
		"change": {sent: []string{`{"customer":18,"note":"é"}`}, shows: "-   \"customer\": 17,\r\n+   \"customer\": 18,"},
		"leave":  {sent: []string{body}, shows: "1 message replayed"},
		"slow":   {sent: []string{body}, shows: "editor begins\r\neditor ends\r\n1 message replayed"},
		"empty":  {left: []string{body}, shows: "1  left by the edit"},
	} {
		t.Run(how, func(t *testing.T) {
			server := deadLetter(t, body)
			path, err := os.Executable()
			golden.OK(t, err)
			t.Setenv("VISUAL", path+" -w")
			t.Setenv(asEditor, how)
			t.Setenv("NO_COLOR", "1")
			temporary := t.TempDir()
			t.Setenv("TMPDIR", temporary)
			screen, tty := terminal(t)
			defer screen.Close()
			text := make(chan string)
			go func() {
				all, _ := io.ReadAll(screen) // it ends with an error when the program's end is closed
				text <- string(all)
			}()
			tio := cli.IO{
				Args:  []string{"dlq", "replay", server.QueueURL("dead"), "--to", server.QueueURL("orders"), "--editor", "--yes", "--journal", t.TempDir() + "/journal"},
				Stdin: tty, Stdout: show.To(tty), Stderr: show.To(tty),
			}
			status := cli.Run(t.Context(), root(tio))
			_ = tty.Close()
			if shown := <-text; status != 0 || !strings.Contains(shown, want.shows) {
				t.Errorf("status %d, it showed %q", status, shown)
			}
			if sent, left := bodies(server, "orders"), bodies(server, "dead"); !slices.Equal(sent, want.sent) || !slices.Equal(left, want.left) {
				t.Errorf("sent %q, left %q", sent, left)
			}
			if files, err := os.ReadDir(temporary); err != nil || len(files) > 0 {
				t.Errorf("in the temporary directory: %v, %v", files, err)
			}
		})
	}
}

// TestKilled: when the tool is killed, the process that polls is not left to
// poll a server that is gone: it ends with its next line, which has no reader.
func TestKilled(t *testing.T) {
	cmd := command(t, t.TempDir(), "local", "--mode", "poll", "--timeout", "1m", "--output", "json") // what is left behind is there
	stdout := start(t, cmd)
	var started struct {
		Type string
		PID  int
	}
	lines := json.NewDecoder(stdout)
	if err := lines.Decode(&started); err != nil || started.Type != "process" || started.PID == 0 {
		t.Errorf("%+v, %v", started, err)
	}
	process, err := unix.PidfdOpen(started.PID, 0)
	golden.OK(t, err)
	defer unix.Close(process)
	_ = cmd.Process.Kill()
	_ = cmd.Wait() // killed
	n, err := unix.Poll([]unix.PollFd{{Fd: int32(process), Events: unix.POLLIN}}, int(time.Minute.Milliseconds()))
	if n != 1 || err != nil {
		t.Errorf("process %d still runs (%v)", started.PID, err)
		_ = unix.PidfdSendSignal(process, unix.SIGKILL, nil, 0)
	}
}
