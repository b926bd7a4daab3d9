package lambda

import (
	"context"
	"os/exec"
	"path/filepath"
	"sync"
	"time"

	"github.com/sqsbatch/sqsbatch/internal/subprocess"
)

// process is one run of the bootstrap with the Runtime API that it talks to.
type process struct {
	*subprocess.Process
	api *runtimeAPI

	deployment  *Deployment
	environment int
	exited      chan struct{} // closed once it has ended and api is closed

	mu        sync.Mutex
	requestID string // of the invocation that lines belong to
}

// sigtermGrace is how long Lambda waits after SIGTERM for a runtime with an
// internal extension ("Lambda execution environment lifecycle", Shutdown).
const sigtermGrace = 500 * time.Millisecond

func startProcess(d *Deployment, environment int, logStream string) (*process, error) {
	api, err := serveRuntimeAPI(d.fn)
	if err != nil {
		return nil, err
	}
	p := &process{api: api, deployment: d, environment: environment, exited: make(chan struct{})}
	if err := p.start(logStream); err != nil {
		api.close()
		return nil, err
	}
	return p, nil
}

func (p *process) start(logStream string) error {
	fn := p.deployment.fn
	path, err := exec.LookPath(fn.Command[0])
	if err != nil {
		return err
	}
	// exec.Cmd would take a relative path as relative to Dir.
	if path, err = filepath.Abs(path); err != nil {
		return err
	}
	dir, err := taskRoot(fn.Dir, path)
	if err != nil {
		return err
	}
	cmd := &exec.Cmd{Path: path, Args: fn.Command, Dir: dir, Env: environ(fn, p.api.addr, dir, logStream)}
	var output func(stream, text string)
	if fn.Output != nil {
		output = p.line
	}
	if p.Process, err = subprocess.Start(cmd, output); err != nil {
		return err
	}
	go func() {
		<-p.Ended()
		p.api.close()
		close(p.exited)
	}()
	return nil
}

// attribute names the invocation that the lines from now on belong to. Lines
// printed just before may get it too where Drain does nothing, on Windows.
func (p *process) attribute(requestID string) {
	p.mu.Lock()
	p.requestID = requestID
	p.mu.Unlock()
}

func (p *process) line(stream, text string) {
	l := Line{Time: time.Now(), Environment: p.environment, Stream: stream, Text: text}
	p.mu.Lock()
	l.RequestID = p.requestID
	p.mu.Unlock()
	p.deployment.output.Lock()
	defer p.deployment.output.Unlock()
	p.deployment.fn.Output(l)
}

// kill ends the process and returns when it has ended. The invocations of a
// shared environment may all call it.
func (p *process) kill() {
	if p.api.wantsSIGTERM() {
		ctx, cancel := context.WithTimeout(context.Background(), sigtermGrace)
		defer cancel()
		p.Stop(ctx)
	} else {
		p.Kill()
	}
	<-p.exited
}

func (p *process) hasExited() bool {
	select {
	case <-p.exited:
		return true
	default:
		return false
	}
}

// status is Lambda's text for how the process ended.
func (p *process) status() string {
	if err := p.Err(); err != nil {
		return "Runtime exited with error: " + err.Error()
	}
	return "Runtime exited without providing a reason"
}
