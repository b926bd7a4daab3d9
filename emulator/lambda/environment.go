package lambda

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/sqsbatch/sqsbatch/internal/sleep"
)

// environment is an execution environment, with at most one process (or the in-process handler).
// It has a place for each concurrent invocation, which a caller must reserve.
type environment struct {
	number    int
	logStream string
	d         *Deployment
	starting  sync.Mutex // one boot at a time

	mu      sync.Mutex
	process *process // nil before the first start, and after the process's end was noticed
	warm    bool     // an in-process handler has run here
}

func newEnvironment(d *Deployment, number int) *environment {
	return &environment{
		number:    number,
		d:         d,
		logStream: fmt.Sprintf("%s[%s]%032x", time.Now().UTC().Format("2006/01/02/"), functionVersion, number),
	}
}

// cold reports whether the next invocation is a cold start.
func (e *environment) cold() bool {
	if e.d.fn.Handler != nil {
		e.mu.Lock()
		defer e.mu.Unlock()
		return !e.warm
	}
	return e.running() == nil
}

// running returns the running process, nil if there is none.
func (e *environment) running() *process {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.process == nil || isClosed(e.process.exited) {
		return nil
	}
	return e.process
}

// forget clears e.process if it is p.
func (e *environment) forget(p *process) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.process == p {
		e.process = nil
	}
}

// discard kills p and forgets it.
func (e *environment) discard(p *process) {
	p.kill()
	e.forget(p)
}

// run runs inv. If late is not nil, it waits until inv's place is free.
func (e *environment) run(inv *invocation) (r Result, late func()) {
	if e.d.fn.Handler != nil {
		return e.runHandler(inv)
	}
	for {
		start := time.Now()
		p, cold, a := e.ensure(inv)
		init := time.Since(start)
		if a == nil {
			a, late = e.invoke(p, inv, cold)
		}
		if a == nil {
			continue // the warm process had ended: start a new one
		}
		r = inv.result(e.number, a)
		if cold {
			r.ColdStart, r.Init = true, init
		}
		return r, late
	}
}

// ensure returns the running process, or boots one. If that fails, it returns inv's answer
// instead.
func (e *environment) ensure(inv *invocation) (p *process, cold bool, a *answer) {
	e.starting.Lock()
	defer e.starting.Unlock()
	if p := e.running(); p != nil {
		return p, false, nil
	}
	p, a = e.boot(inv)
	return p, true, a
}

// boot starts a process and waits until it asks for an invocation. If that fails, it
// returns inv's answer at once, and the next boot waits (bootBackoff).
func (e *environment) boot(inv *invocation) (*process, *answer) {
	if !e.d.boot.wait(e.d.ctx) {
		return nil, closedAnswer()
	}
	p, err := startProcess(e.d, e.number, e.logStream)
	if err != nil {
		return nil, e.bootFailed(&FunctionError{
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
		p.Drain() // lines printed so far belong to no invocation
		return p, nil
	case ferr := <-p.api.initError:
		p.kill()
		ferr.Output = p.LastLines()
		return nil, e.bootFailed(ferr)
	case <-p.exited:
		select {
		case ferr := <-p.api.initError: // more precise than the exit status
			ferr.Output = p.LastLines()
			return nil, e.bootFailed(ferr)
		default:
			return nil, e.bootFailed(p.exit(inv.id))
		}
	case <-timer.C:
		p.kill()
		return nil, e.bootFailed(timedOut(inv.id, limit))
	case <-e.d.ctx.Done():
		p.kill()
		return nil, closedAnswer()
	}
}

func (e *environment) bootFailed(ferr *FunctionError) *answer {
	e.d.boot.report(false)
	ferr.Init = true
	return failure(ferr)
}

// bootBackoff delays the next boot after failed ones, so that a broken bootstrap and a full
// queue do not make a busy loop.
type bootBackoff struct {
	mu       sync.Mutex
	failures int
	next     time.Time
}

const (
	bootBackoffBase = 100 * time.Millisecond
	bootBackoffCap  = 10 * time.Second
)

// wait waits until a process may be started. It returns false if ctx ends first.
func (b *bootBackoff) wait(ctx context.Context) bool {
	b.mu.Lock()
	next := b.next
	b.mu.Unlock()
	return sleep.Until(ctx, next)
}

// report sets the next wait after a boot.
func (b *bootBackoff) report(ok bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if ok {
		b.failures, b.next = 0, time.Time{}
		return
	}
	b.next = time.Now().Add(min(bootBackoffBase<<min(b.failures, 10), bootBackoffCap))
	b.failures++
}

// invoke runs inv in the process and returns the answer, nil if a warm process had ended before
// inv was delivered. As on Lambda, an invocation is over when the runtime asks for the next one,
// or is gone. In a shared environment it is over when it is answered. If late is not nil, it
// waits until inv's place is free.
func (e *environment) invoke(p *process, inv *invocation, cold bool) (a *answer, late func()) {
	if !e.d.fn.shared() {
		p.attribute(inv.id)
	}
	timer := time.NewTimer(e.d.fn.Timeout)
	defer timer.Stop()
	if delivered, a := e.deliver(p, inv, cold, timer.C); !delivered {
		return a, nil
	}
	timer.Reset(time.Until(inv.deadline))
	select {
	case a := <-inv.answer:
		e.awaitNext(p, timer)
		return a, nil
	case <-p.exited:
		return e.crashed(p, inv), nil
	case <-timer.C:
		if e.d.fn.shared() {
			// A timeout ends neither the running code nor the environment ("Understanding the
			// Lambda Managed Instances execution environment").
			late = func() {
				select {
				case <-inv.answer:
				case <-p.exited:
				case <-e.d.ctx.Done():
				}
			}
			return failure(timedOut(inv.id, e.d.fn.Timeout)), late
		}
		return e.timedOut(p, inv), nil
	case <-e.d.ctx.Done():
		p.kill()
		return closedAnswer(), nil
	}
}

// deliver waits until the runtime gets inv, up to the timeout: a runtime that hangs, or has lost
// its connection, may never ask for it. If inv is not delivered, deliver returns the answer, or
// nil if another process must run inv.
func (e *environment) deliver(p *process, inv *invocation, cold bool, timeout <-chan time.Time) (delivered bool, a *answer) {
	inv.back = make(chan struct{}, 1)
	for work := p.api.work; ; {
		select {
		case work <- inv:
			work = nil
		case <-inv.back:
			work = p.api.work
		case <-inv.delivered:
			return true, nil
		case <-timeout:
			if !inv.abandon() {
				return true, nil // delivered at the same moment
			}
			if !e.d.fn.shared() { // a shared process may be busy with other invocations
				e.discard(p)
			}
			return false, failure(timedOut(inv.id, e.d.fn.Timeout))
		case <-p.exited:
			switch {
			case isClosed(inv.delivered):
				return true, nil
			case cold:
				return false, e.crashed(p, inv)
			}
			e.forget(p)
			return false, nil
		case <-e.d.ctx.Done():
			p.kill()
			return false, closedAnswer()
		}
	}
}

// timedOut ends the process. It returns the timeout, or the answer if that came before the
// deadline.
func (e *environment) timedOut(p *process, inv *invocation) *answer {
	answered := !inv.claim()
	e.discard(p)
	if answered {
		select {
		case a := <-inv.answer:
			if a.at.Before(inv.deadline) { // the end of the process may have cut a later one
				return a
			}
		default:
		}
	}
	return failure(timedOut(inv.id, e.d.fn.Timeout))
}

// crashed returns the answer of an invocation whose process is gone: the answer before the
// exit, if there is one, since aws-lambda-go reports a panic and then exits.
func (e *environment) crashed(p *process, inv *invocation) *answer {
	e.forget(p)
	select {
	case a := <-inv.answer:
		return a
	default:
		return failure(p.exit(inv.id))
	}
}

// awaitNext waits until the runtime asks for its next invocation, up to the deadline of
// this one, after which it kills the process. It does not wait in a shared environment.
func (e *environment) awaitNext(p *process, timer *time.Timer) {
	if e.d.fn.shared() {
		return
	}
	select {
	case <-p.api.ready:
		p.Drain()
		p.attribute("")
	case <-p.exited:
		e.forget(p)
	case <-timer.C:
		e.discard(p)
	case <-e.d.ctx.Done():
		e.discard(p)
	}
}

func (e *environment) close() {
	if p := e.running(); p != nil {
		p.kill()
	}
}
