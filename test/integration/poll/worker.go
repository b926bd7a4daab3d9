package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"sync"
	"time"
)

// patience bounds every wait for something that must happen.
const patience = 40 * time.Second

// line is one that the worker printed: its own, or the toolkit's log.
type line struct {
	Event      string // "begin" or "end"
	N, Attempt int
	Group      string
	Error      string

	Logger, Message, Outcome, MessageID, Reason string
}

// worker is a running process.
type worker struct {
	cmd     *exec.Cmd
	changed chan struct{} // has a value when there are new lines
	ended   chan struct{} // closed when it has ended and all is read
	stderr  bytes.Buffer  // to be read after ended

	mu    sync.Mutex
	lines []line
}

// startWorker starts the program with the variables added to what a container
// has anyway.
func startWorker(program string, env []string) (*worker, error) {
	w := &worker{cmd: exec.Command(program), changed: make(chan struct{}, 1), ended: make(chan struct{})}
	w.cmd.Env = append([]string{
		"AWS_REGION=us-east-1", "AWS_ACCESS_KEY_ID=test", "AWS_SECRET_ACCESS_KEY=test",
		"AWS_CONFIG_FILE=" + os.DevNull, "AWS_SHARED_CREDENTIALS_FILE=" + os.DevNull, "AWS_EC2_METADATA_DISABLED=true",
		"SQSBATCH_LOG_SUCCEEDED=true",
	}, env...)
	w.cmd.SysProcAttr = ownGroup()
	w.cmd.Stderr = &w.stderr
	out, err := w.cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := w.cmd.Start(); err != nil {
		return nil, err
	}
	go func() {
		defer close(w.ended)
		for in := bufio.NewScanner(out); in.Scan(); {
			var l line
			if json.Unmarshal(in.Bytes(), &l) != nil {
				l = line{Message: in.Text()}
			}
			w.mu.Lock()
			w.lines = append(w.lines, l)
			w.mu.Unlock()
			select {
			case w.changed <- struct{}{}:
			default:
			}
		}
		_ = w.cmd.Wait() // the state says it
	}()
	return w, nil
}

// seen counts the lines so far.
func (w *worker) seen(of func(line) bool) (n int) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, l := range w.lines {
		if of(l) {
			n++
		}
	}
	return n
}

func began(l line) bool     { return l.Event == "begin" }
func endedWell(l line) bool { return l.Event == "end" && l.Error == "" }
func logged(l line) bool    { return l.Logger == "sqsbatch" && l.Message == "record" }

// await waits until there are n such lines.
func (w *worker) await(n int, what string, of func(line) bool) error {
	late := time.NewTimer(patience)
	defer late.Stop()
	for {
		got := w.seen(of)
		if got >= n {
			return nil
		}
		select {
		case <-w.changed:
		case <-w.ended:
			if w.seen(of) >= n {
				return nil
			}
			return fmt.Errorf("the process ended (%s) when %d of %d had %s: %s", w.cmd.ProcessState, got, n, what, w.stderr.Bytes())
		case <-late.C:
			return fmt.Errorf("after %v %d of %d have %s", patience, got, n, what)
		}
	}
}

// stop sends the signals, pauses apart, and waits for the end. It returns how
// long that took from the last signal on, and the exit status.
func (w *worker) stop(pause time.Duration, signals ...os.Signal) (took time.Duration, status int, err error) {
	begin := time.Now()
	for i, s := range signals {
		if i > 0 {
			time.Sleep(pause)
		}
		begin = time.Now()
		if err := w.cmd.Process.Signal(s); err != nil {
			return 0, 0, fmt.Errorf("signal %v: %w: %s", s, err, w.stderr.Bytes())
		}
	}
	late := time.NewTimer(patience)
	defer late.Stop()
	select {
	case <-w.ended:
		return time.Since(begin), w.cmd.ProcessState.ExitCode(), nil
	case <-late.C:
		w.end()
		return 0, 0, errors.New("the process did not stop")
	}
}

// end kills the process, if it has not ended.
func (w *worker) end() {
	_ = w.cmd.Process.Kill() // fails when it has ended
	<-w.ended
}
