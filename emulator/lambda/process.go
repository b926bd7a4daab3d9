package lambda

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"time"
)

// process is one run of the bootstrap with the Runtime API that it talks to.
type process struct {
	cmd    *exec.Cmd
	api    *runtimeAPI
	output *output

	killing sync.Mutex
	exited  chan struct{} // closed once it is gone and everything is read
	status  string        // Lambda's words for how it ended; set before exited
}

// sigtermGrace is how long Lambda waits after SIGTERM for a runtime with an
// internal extension ("Lambda execution environment lifecycle", Shutdown).
const sigtermGrace = 500 * time.Millisecond

func startProcess(d *Deployment, environment int, logStream string) (*process, error) {
	api, err := serveRuntimeAPI(d.fn)
	if err != nil {
		return nil, err
	}
	p := &process{api: api, exited: make(chan struct{})}
	if err := p.start(d, environment, logStream); err != nil {
		api.close()
		return nil, err
	}
	return p, nil
}

func (p *process) start(d *Deployment, environment int, logStream string) error {
	path, err := exec.LookPath(d.fn.Command[0])
	if err != nil {
		return err
	}
	// exec.Cmd would take a relative path as relative to Dir.
	if path, err = filepath.Abs(path); err != nil {
		return err
	}
	dir, err := taskRoot(d.fn.Dir, path)
	if err != nil {
		return err
	}
	p.cmd = &exec.Cmd{
		Path: path,
		Args: d.fn.Command,
		Dir:  dir,
		Env:  environ(d.fn, p.api.addr, dir, logStream),
	}
	ownGroup(p.cmd)
	out, err := newOutput(d, environment)
	if err != nil {
		return err
	}
	p.output = out
	p.cmd.Stdout, p.cmd.Stderr = out.stdout.write, out.stderr.write
	err = p.cmd.Start()
	out.started()
	if err != nil {
		out.finish()
		return err
	}
	go p.wait()
	return nil
}

// wait reaps the process and takes down what belonged to it.
func (p *process) wait() {
	err := p.cmd.Wait()
	killGroup(p.cmd) // what it left behind, as Lambda resets the environment
	p.output.finish()
	p.api.close()
	p.status = exitStatus(p.cmd.ProcessState, err)
	close(p.exited)
}

// kill ends the process and returns when it is gone.
func (p *process) kill() {
	p.killing.Lock() // the invocations of a shared environment may all want to
	defer p.killing.Unlock()
	if p.hasExited() {
		return // its number may be another's by now
	}
	if p.api.wantsSIGTERM() && terminate(p.cmd) {
		timer := time.NewTimer(sigtermGrace)
		defer timer.Stop()
		select {
		case <-p.exited:
			return
		case <-timer.C:
		}
	}
	killGroup(p.cmd)
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

func exitStatus(state *os.ProcessState, err error) string {
	switch {
	case err == nil:
		return "Runtime exited without providing a reason"
	case state == nil:
		return fmt.Sprintf("Runtime exited with error: %v", err)
	default:
		return "Runtime exited with error: " + state.String()
	}
}
