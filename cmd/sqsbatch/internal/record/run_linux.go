package main

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// run runs a command in a terminal, and returns what it writes, with the times. When it
// has written the given text, Ctrl-C is pressed.
func run(ctx context.Context, command []string, last string) ([]chunk, error) {
	ours, theirs, err := openTerminal()
	if err != nil {
		return nil, fmt.Errorf("a terminal: %w", err)
	}
	defer ours.Close()
	cmd := exec.CommandContext(ctx, command[0], command[1:]...)
	cmd.Env = append(slices.DeleteFunc(os.Environ(), func(v string) bool {
		return strings.HasPrefix(v, "NO_COLOR=") || strings.HasPrefix(v, "COLUMNS=")
	}), "TERM=xterm-256color")
	cmd.Stdin, cmd.Stdout, cmd.Stderr = theirs, theirs, theirs
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Setctty: true}
	err = cmd.Start()
	theirs.Close()
	if err != nil {
		return nil, err
	}
	output := read(ours, last)
	if err := cmd.Wait(); err != nil && last == "" { // go run fails at Ctrl-C, whatever the command does
		return nil, fmt.Errorf("%s: %w\n%s", strings.Join(command, " "), err, strings.Join(plain(lines(output)), "\n"))
	}
	return output, nil
}

// read returns what comes until the command closes the terminal.
func read(terminal *os.File, last string) (output []chunk) {
	text := ""
	buffer := make([]byte, 1<<16)
	for {
		n, err := terminal.Read(buffer)
		if n > 0 {
			output = append(output, chunk{time.Now(), string(buffer[:n])})
			text += string(buffer[:n])
		}
		if last != "" && strings.Contains(text, last) {
			last = ""
			if _, err := terminal.WriteString("\x03"); err != nil {
				return output
			}
		}
		if err != nil { // EIO
			return output
		}
	}
}

// openTerminal returns both ends of a new pseudoterminal, see pty(7).
func openTerminal() (ours, theirs *os.File, err error) {
	ours, err = os.OpenFile("/dev/ptmx", os.O_RDWR|unix.O_NOCTTY, 0)
	if err != nil {
		return nil, nil, err
	}
	fd := int(ours.Fd())
	number, err := unix.IoctlGetInt(fd, unix.TIOCGPTN)
	if err == nil {
		err = unix.IoctlSetPointerInt(fd, unix.TIOCSPTLCK, 0)
	}
	if err == nil {
		err = unix.IoctlSetWinsize(fd, unix.TIOCSWINSZ, &unix.Winsize{Row: rows, Col: columns})
	}
	if err == nil {
		theirs, err = os.OpenFile("/dev/pts/"+strconv.Itoa(number), os.O_RDWR|unix.O_NOCTTY, 0)
	}
	if err != nil {
		ours.Close()
		return nil, nil, err
	}
	return ours, theirs, nil
}
