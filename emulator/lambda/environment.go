package lambda

import (
	"fmt"
	"time"
)

// environment is one place of Function.Concurrency: at most one process (or
// in-process handler) at a time, one invocation at a time. Whoever reserved it
// owns its fields.
type environment struct {
	number    int
	logStream string
	d         *Deployment
	process   *process // nil when none was started or the last one is gone
	warm      bool     // an in-process handler has run here
}

func newEnvironment(d *Deployment, number int) *environment {
	return &environment{
		number:    number,
		d:         d,
		logStream: fmt.Sprintf("%s[%s]%032x", time.Now().UTC().Format("2006/01/02/"), d.fn.Version, number),
	}
}

// cold tells whether the next invocation has to start something.
func (e *environment) cold() bool {
	if e.d.fn.Handler != nil {
		return !e.warm
	}
	return e.process == nil || e.process.hasExited()
}

func (e *environment) run(inv *invocation) (Result, error) {
	if e.d.fn.Handler != nil {
		return e.runHandler(inv)
	}
	for {
		cold, begun := e.cold(), time.Now()
		if cold {
			if a, err := e.boot(inv); a != nil {
				r := inv.result(e.number, *a)
				r.ColdStart, r.Init = true, time.Since(begun)
				return r, err
			}
		}
		init := time.Since(begun)
		a, err := e.invoke(inv, cold)
		if a == nil {
			continue // a warm process that had ended unseen: start a new one
		}
		r := inv.result(e.number, *a)
		if cold {
			r.ColdStart, r.Init = true, init
		}
		return r, err
	}
}

// boot starts a process and waits until it asks for work. It returns the
// invocation's answer when that fails. The exit of a process that cannot start
// is told at once; the next start then waits (bootBackoff).
func (e *environment) boot(inv *invocation) (*answer, error) {
	if !e.d.boot.wait(e.d.ctx) {
		return e.closed()
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
		e.process = p
		e.d.boot.report(true)
		p.output.drain() // lines of the start belong to no invocation
		return nil, nil
	case ferr := <-p.api.initError:
		p.kill()
		ferr.Output = p.output.lastLines()
		return e.bootFailed(ferr)
	case <-p.exited:
		select {
		case ferr := <-p.api.initError: // its own words say more than its status
			ferr.Output = p.output.lastLines()
			return e.bootFailed(ferr)
		default:
		}
		return e.bootFailed(exited(inv.id, p.status, p.output.lastLines()))
	case <-timer.C:
		p.kill()
		return e.bootFailed(timedOut(inv.id, limit))
	case <-e.d.ctx.Done():
		p.kill()
		return e.closed()
	}
}

func (e *environment) bootFailed(ferr *FunctionError) (*answer, error) {
	e.d.boot.report(false)
	ferr.Init = true
	a := failure(ferr)
	return &a, nil
}

func (e *environment) closed() (*answer, error) {
	a := failure(&FunctionError{Type: "Sandbox.Closed", Message: ErrClosed.Error()})
	return &a, e.d.error(ErrClosed)
}

// invoke hands inv to the waiting process. As on Lambda an invocation is over
// when the runtime asks for the next one, or is gone. It returns nil when a
// warm process had ended before it took inv.
func (e *environment) invoke(inv *invocation, cold bool) (*answer, error) {
	p := e.process
	p.output.attribute(inv.id)
	p.api.work <- inv // has room: the process waits with nothing to do
	select {
	case <-inv.delivered:
		return e.await(inv)
	case <-p.exited:
		switch {
		case inv.wasDelivered():
			return e.await(inv)
		case cold:
			return e.crashed(inv)
		}
		e.process = nil
		return nil, nil
	case <-e.d.ctx.Done():
		p.kill()
		return e.closed()
	}
}

// await waits for the answer to a delivered invocation.
func (e *environment) await(inv *invocation) (*answer, error) {
	p := e.process
	timer := time.NewTimer(time.Until(inv.deadline))
	defer timer.Stop()
	select {
	case a := <-inv.answer:
		e.settle(timer)
		return &a, nil
	case <-p.exited:
		return e.crashed(inv)
	case <-timer.C:
		answering := !inv.claim()
		p.kill()
		e.process = nil
		a := failure(timedOut(inv.id, e.d.fn.Timeout))
		if answering {
			select {
			case a = <-inv.answer:
			default: // half a response is none
			}
		}
		return &a, nil
	case <-e.d.ctx.Done():
		p.kill()
		return e.closed()
	}
}

// crashed answers for a process that is gone, with what it said before: after a
// panic aws-lambda-go reports the error and exits.
func (e *environment) crashed(inv *invocation) (*answer, error) {
	p := e.process
	e.process = nil
	select {
	case a := <-inv.answer:
		return &a, nil
	default:
		a := failure(exited(inv.id, p.status, p.output.lastLines()))
		return &a, nil
	}
}

// settle waits until the runtime asks for its next invocation, within the time
// that this one has left.
func (e *environment) settle(timer *time.Timer) {
	p := e.process
	select {
	case <-p.api.ready:
		p.output.drain()
		p.output.attribute("")
	case <-p.exited:
		e.process = nil
	case <-timer.C:
		p.kill()
		e.process = nil
	case <-e.d.ctx.Done():
		p.kill()
		e.process = nil
	}
}

func (e *environment) close() {
	if p := e.process; p != nil {
		p.kill()
		e.process = nil
	}
}
