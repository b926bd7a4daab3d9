package container

import (
	"bytes"
	"maps"
	"os"
	"os/exec"
	"slices"
	"sync"
	"time"
)

const (
	keptLines = 20
	maxLine   = 256 * 1024
	// pipeGrace is how long what is printed is still read when the process is
	// gone: something that it started may hold the pipes for ever.
	pipeGrace = 250 * time.Millisecond
)

// process is one run of the program.
type process struct {
	cmd    *exec.Cmd
	ended  chan struct{} // closed once it is gone and everything is read
	status string        // how it ended; set before ended

	mu   sync.Mutex
	last []string
}

func (o *Options) start(number int) (*process, error) {
	p := &process{cmd: exec.Command(o.Command), ended: make(chan struct{})}
	p.cmd.Env = environment(o.Env)
	p.cmd.WaitDelay = pipeGrace
	ownGroup(p.cmd)
	stdout := &lines{tell: func(text string) { p.keep(text); o.Output(number, "stdout", text) }}
	stderr := &lines{tell: func(text string) { p.keep(text); o.Output(number, "stderr", text) }}
	p.cmd.Stdout, p.cmd.Stderr = stdout, stderr
	if err := p.cmd.Start(); err != nil {
		return nil, err
	}
	go func() {
		defer close(p.ended)
		_ = p.cmd.Wait() // the state says it
		p.killGroup()    // what it has left behind
		p.status = p.cmd.ProcessState.String()
		stdout.end()
		stderr.end()
	}()
	return p, nil
}

func (p *process) pid() int { return p.cmd.Process.Pid }

// kill ends it at once, if it has not ended.
func (p *process) kill() {
	select {
	case <-p.ended:
	default:
		p.killGroup()
	}
}

func (p *process) keep(text string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.last = append(p.last, text); len(p.last) > keptLines {
		p.last = p.last[1:]
	}
}

func (p *process) lastLines() []string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return slices.Clone(p.last)
}

// inherited are the variables of this process without which another does not
// run on one system or another. Nothing else is passed on: what happens to be
// set here would hide what is missing from the template.
var inherited = []string{
	"PATH", "HOME", "TMPDIR", "TMP", "TEMP",
	"SystemRoot", "SystemDrive", "ComSpec", "PATHEXT", "windir",
	"USERPROFILE", "APPDATA", "LOCALAPPDATA", "ProgramData",
	"SSL_CERT_FILE", "SSL_CERT_DIR", "GOCOVERDIR",
}

func environment(own map[string]string) []string {
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

// lines hands out what is written to it by lines.
type lines struct {
	tell    func(string)
	mu      sync.Mutex // Wait may return while a writer is still at work
	pending []byte
	over    bool
}

func (l *lines) Write(data []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.over {
		return 0, os.ErrClosed
	}
	l.pending = append(l.pending, data...)
	for {
		i := bytes.IndexByte(l.pending, '\n')
		n := i + 1
		if i < 0 || i > maxLine {
			if len(l.pending) < maxLine {
				return len(data), nil
			}
			i, n = maxLine, maxLine
		}
		l.tell(string(bytes.TrimSuffix(l.pending[:i], []byte("\r"))))
		l.pending = append(l.pending[:0], l.pending[n:]...)
	}
}

// end hands out a last line without its end.
func (l *lines) end() {
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.pending) > 0 {
		l.tell(string(l.pending))
	}
	l.pending, l.over = nil, true
}
