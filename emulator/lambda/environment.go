package lambda

import (
	"fmt"
	"sync"
	"time"
)

// environment is one of Function.Concurrency. It has at most one process (or in-process
// handler), and runs as many invocations at the same time as it has places. A caller that
// has reserved a place may run one.
type environment struct {
	number    int
	logStream string
	d         *Deployment
	starting  sync.Mutex // one start at a time

	mu      sync.Mutex
	process *process // nil when none was started or the last one is gone
	warm    bool     // an in-process handler has run here
}

func newEnvironment(d *Deployment, number int) *environment {
	return &environment{
		number:    number,
		d:         d,
		logStream: fmt.Sprintf("%s[%s]%032x", time.Now().UTC().Format("2006/01/02/"), d.fn.Version, number),
	}
}

// cold reports whether the next invocation has to start something.
func (e *environment) cold() bool {
	if e.d.fn.Handler != nil {
		e.mu.Lock()
		defer e.mu.Unlock()
		return !e.warm
	}
	return e.running() == nil
}

// running returns the process that can take work; nil if there is none.
func (e *environment) running() *process {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.process == nil || e.process.hasExited() {
		return nil
	}
	return e.process
}

// lost forgets p, unless another was started meanwhile.
func (e *environment) lost(p *process) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.process == p {
		e.process = nil
	}
}

// run carries out inv. If it returns a second result that is not nil, that waits until
// inv's place is free.
func (e *environment) run(inv *invocation) (r Result, late func(), err error) {
	if e.d.fn.Handler != nil {
		return e.runHandler(inv)
	}
	for {
		begun := time.Now()
		p, cold, a, err := e.started(inv)
		init := time.Since(begun)
		if a == nil {
			a, late, err = e.invoke(p, inv, cold)
		}
		if a == nil {
			continue // a warm process that had ended unseen: start a new one
		}
		r = inv.result(e.number, *a)
		if cold {
			r.ColdStart, r.Init = true, init
		}
		return r, late, err
	}
}

// started returns the process, and starts one if there is none. If that fails, it returns
// inv's answer instead.
func (e *environment) started(inv *invocation) (p *process, cold bool, a *answer, err error) {
	e.starting.Lock()
	defer e.starting.Unlock()
	if p := e.running(); p != nil {
		return p, false, nil, nil
	}
	p, a, err = e.boot(inv)
	return p, true, a, err
}

// boot starts a process and waits until it asks for work. If that fails, it returns the
// invocation's answer. If a process cannot start, its exit is reported at once, and the
// next start waits (bootBackoff).
func (e *environment) boot(inv *invocation) (*process, *answer, error) {
	if !e.d.boot.wait(e.d.ctx) {
		a, err := e.closed()
		return nil, a, err
	}
	p, err := startProcess(e.d, e.number, e.logStream)
	if err != nil {
		return e.bootFailed(&FunctionError{
			Type:    "Runtime.InvalidEntrypoint",
			Message: fmt.Sprintf("RequestId: %s Error: %v", inv.id, err),
		})
	}
	limit := e.d.init + e.d.fn.Timeout
	timer := time.NewTimer(limit)
	defer timer.Stop()
	select {
	case <-p.api.ready:
		e.mu.Lock()
		e.process = p
		e.mu.Unlock()
		e.d.boot.report(true)
		p.Drain() // lines of the start belong to no invocation
		return p, nil, nil
	case ferr := <-p.api.initError:
		p.kill()
		ferr.Output = p.LastLines()
		return e.bootFailed(ferr)
	case <-p.exited:
		select {
		case ferr := <-p.api.initError: // its own words say more than its status
			ferr.Output = p.LastLines()
			return e.bootFailed(ferr)
		default:
		}
		return e.bootFailed(exited(inv.id, p.status(), p.LastLines()))
	case <-timer.C:
		p.kill()
		return e.bootFailed(timedOut(inv.id, limit))
	case <-e.d.ctx.Done():
		p.kill()
		a, err := e.closed()
		return nil, a, err
	}
}

func (e *environment) bootFailed(ferr *FunctionError) (*process, *answer, error) {
	e.d.boot.report(false)
	ferr.Init = true
	a := failure(ferr)
	return nil, &a, nil
}

func (e *environment) close() {
	e.mu.Lock()
	p := e.process
	e.process = nil
	e.mu.Unlock()
	if p != nil {
		p.kill()
	}
}
