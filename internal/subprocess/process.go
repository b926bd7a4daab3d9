// Package subprocess runs a program in its own process group, passes on its output line by
// line, and ends it together with all processes that it has started:
//
//	p, err := subprocess.Start(exec.Command(path), func(stream, text string) { … })
//	p.Stop(ctx)
//
// Ctrl-C in the terminal does not reach another process group, so only the caller decides
// when the program ends.
package subprocess

import (
	"context"
	"maps"
	"os"
	"os/exec"
	"slices"
	"sync"
)

// keptLines is how many of the last lines a Process keeps.
const keptLines = 20

// Process is one run of a program.
type Process struct {
	cmd            *exec.Cmd
	stdout, stderr *stream
	output         func(stream, text string)
	ended          chan struct{}
	err            error // set before ended is closed

	mu   sync.Mutex
	last []string
}

// Start starts cmd, whose Stdout, Stderr and SysProcAttr it sets. Two
// goroutines call output for each line of "stdout" and "stderr", without the
// line's end. Lines longer than 256 KiB come in pieces. Output may be nil.
func Start(cmd *exec.Cmd, output func(stream, text string)) (*Process, error) {
	p := &Process{cmd: cmd, output: output, ended: make(chan struct{})}
	ownGroup(cmd)
	if err := p.openPipes(); err != nil {
		return nil, err
	}
	err := cmd.Start()
	p.stdout.start()
	p.stderr.start()
	if err != nil {
		p.stdout.finish()
		p.stderr.finish()
		return nil, err
	}
	go p.wait()
	return p, nil
}

func (p *Process) openPipes() (err error) {
	if p.stdout, err = newStream(func(text string) { p.line("stdout", text) }); err != nil {
		return err
	}
	if p.stderr, err = newStream(func(text string) { p.line("stderr", text) }); err != nil {
		_ = p.stdout.read.Close()
		_ = p.stdout.write.Close()
		return err
	}
	p.cmd.Stdout, p.cmd.Stderr = p.stdout.write, p.stderr.write
	return nil
}

// wait reaps the process, and kills the processes that it has left behind.
func (p *Process) wait() {
	p.err = p.cmd.Wait()
	killGroup(p.cmd)
	p.stdout.finish()
	p.stderr.finish()
	close(p.ended)
}

func (p *Process) line(stream, text string) {
	p.mu.Lock()
	if p.last = append(p.last, text); len(p.last) > keptLines {
		p.last = p.last[1:]
	}
	p.mu.Unlock()
	if p.output != nil {
		p.output(stream, text)
	}
}

// PID returns the process's number.
func (p *Process) PID() int { return p.cmd.Process.Pid }

// Ended returns a channel that is closed when the process has ended and its last line was
// passed on.
func (p *Process) Ended() <-chan struct{} { return p.ended }

// Err says how the process ended, as [exec.Cmd.Wait] does. Call it after Ended.
func (p *Process) Err() error { return p.err }

// LastLines returns up to 20 lines of both streams.
func (p *Process) LastLines() []string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return slices.Clone(p.last)
}

// Drain returns when all lines printed before the call have been passed on, which takes a
// millisecond. It does nothing without an output function, and on Windows, where pipes have
// no deadlines.
func (p *Process) Drain() {
	if p.output == nil {
		return
	}
	fromStdout, fromStderr := p.stdout.drain(), p.stderr.drain()
	<-fromStdout
	<-fromStderr
}

// Stop asks the process to end, with SIGTERM or, on Windows, Ctrl-Break. It kills the
// process and returns false if ctx ends first. It kills the process at once if it cannot be
// asked. It returns when the process has ended.
func (p *Process) Stop(ctx context.Context) (inTime bool) {
	inTime = true
	if !p.hasEnded() && terminate(p.cmd) {
		select {
		case <-p.ended:
		case <-ctx.Done():
			inTime = false
		}
	}
	p.Kill()
	return inTime
}

// Kill ends the process with its group, and returns when it has ended.
func (p *Process) Kill() {
	if !p.hasEnded() { // else its number may be another's by now
		killGroup(p.cmd)
	}
	<-p.ended
}

func (p *Process) hasEnded() bool {
	select {
	case <-p.ended:
		return true
	default:
		return false
	}
}

// inherited are the caller's variables that a process needs to run at all on
// one system or another: search paths, temporary and home folders, the roots of
// Windows, certificates, and the folder for coverage data.
var inherited = []string{
	"PATH", "HOME", "TMPDIR", "TMP", "TEMP",
	"SystemRoot", "SystemDrive", "ComSpec", "PATHEXT", "windir",
	"USERPROFILE", "APPDATA", "LOCALAPPDATA", "ProgramData",
	"SSL_CERT_FILE", "SSL_CERT_DIR", "GOCOVERDIR",
}

// Environ returns own for [exec.Cmd.Env], together with the variables of this process that
// every program needs to run. It passes on no others, since a variable that happens to be
// set here could hide that a template does not set it.
func Environ(own map[string]string) []string {
	vars := map[string]string{}
	for _, name := range inherited {
		if value, ok := os.LookupEnv(name); ok {
			vars[name] = value
		}
	}
	maps.Copy(vars, own)
	list := make([]string, 0, len(vars))
	for _, name := range slices.Sorted(maps.Keys(vars)) {
		list = append(list, name+"="+vars[name])
	}
	return list
}
