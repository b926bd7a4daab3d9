package lambda

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/sqsbatch/sqsbatch/internal/sleep"
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
	if e.process == nil || isClosed(e.process.exited) {
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

// discard ends p and forgets it.
func (e *environment) discard(p *process) {
	p.kill()
	e.lost(p)
}

// run carries out inv. If it returns a function, that waits until inv's place is free.
func (e *environment) run(inv *invocation) (r Result, late func()) {
	if e.d.fn.Handler != nil {
		return e.runHandler(inv)
	}
	for {
		begun := time.Now()
		p, cold, a := e.started(inv)
		init := time.Since(begun)
		if a == nil {
			a, late = e.invoke(p, inv, cold)
		}
		if a == nil {
			continue // a warm process that had ended unseen: start a new one
		}
		r = inv.result(e.number, a)
		if cold {
			r.ColdStart, r.Init = true, init
		}
		return r, late
	}
}

// started returns the process, and starts one if there is none. If that fails, it returns
// inv's answer instead.
func (e *environment) started(inv *invocation) (p *process, cold bool, a *answer) {
	e.starting.Lock()
	defer e.starting.Unlock()
	if p := e.running(); p != nil {
		return p, false, nil
	}
	p, a = e.boot(inv)
	return p, true, a
}

// boot starts a process and waits until it asks for work. If that fails, it returns the
// invocation's answer. If a process cannot start, its exit is reported at once, and the
// next start waits (bootBackoff).
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
		p.Drain() // lines of the start belong to no invocation
		return p, nil
	case ferr := <-p.api.initError:
		p.kill()
		ferr.Output = p.LastLines()
		return nil, e.bootFailed(ferr)
	case <-p.exited:
		select {
		case ferr := <-p.api.initError: // its own words say more than its status
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

// bootBackoff spaces the starts of processes that fail before their first
// invocation, so that a broken bootstrap behind a full queue is not a hot loop.
type bootBackoff struct {
	mu       sync.Mutex
	failures int
	next     time.Time
}

const (
	bootBackoffBase = 100 * time.Millisecond
	bootBackoffCap  = 10 * time.Second
)

// wait returns when a process may be started, or false when ctx ended first.
func (b *bootBackoff) wait(ctx context.Context) bool {
	b.mu.Lock()
	next := b.next
	b.mu.Unlock()
	return sleep.Until(ctx, next)
}

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

// invoke gives inv to the process. As on Lambda, an invocation is over when the runtime
// asks for the next one, or is gone. In a shared environment it is over when it is
// answered. invoke returns nil if a warm process had ended before it took inv.
func (e *environment) invoke(p *process, inv *invocation, cold bool) (a *answer, late func()) {
	if !e.d.fn.shared() {
		p.attribute(inv.id)
	}
	timer := time.NewTimer(e.d.fn.Timeout)
	defer timer.Stop()
	if taken, a := e.hand(p, inv, cold, timer.C); !taken {
		return a, nil
	}
	timer.Reset(time.Until(inv.deadline))
	select {
	case a := <-inv.answer:
		e.settle(p, timer)
		return a, nil
	case <-p.exited:
		return e.crashed(p, inv), nil
	case <-timer.C:
		if e.d.fn.shared() {
			// "Understanding the Lambda Managed Instances execution environment" says that a
			// timeout neither ends the code that runs nor the environment.
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

// hand waits until the runtime takes inv, but not beyond inv's time: a runtime that hangs,
// or has lost its connection, may never ask for it. If it is not taken, hand returns the
// answer, or nil if another process must get inv. The channel to the runtime has no buffer,
// so that an abandoned invocation does not stay in it.
func (e *environment) hand(p *process, inv *invocation, cold bool, timeout <-chan time.Time) (taken bool, a *answer) {
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
			if !inv.giveUp() {
				return true, nil // it was delivered in that very moment
			}
			if !e.d.fn.shared() { // else it may be busy with the others
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
			e.lost(p)
			return false, nil
		case <-e.d.ctx.Done():
			p.kill()
			return false, closedAnswer()
		}
	}
}

// timedOut ends the process, unless inv was answered in that very moment.
func (e *environment) timedOut(p *process, inv *invocation) *answer {
	answering := !inv.claim()
	e.discard(p)
	if answering {
		select {
		case a := <-inv.answer:
			if a.at.Before(inv.deadline) { // else it ended with the process: half a response is none
				return a
			}
		default:
		}
	}
	return failure(timedOut(inv.id, e.d.fn.Timeout))
}

// crashed answers for a process that is gone, using what it reported before: after a panic
// aws-lambda-go reports the error and exits.
func (e *environment) crashed(p *process, inv *invocation) *answer {
	e.lost(p)
	select {
	case a := <-inv.answer:
		return a
	default:
		return failure(p.exit(inv.id))
	}
}

// settle waits until the runtime asks for its next invocation, within the time that is left
// for this one. In a shared environment the other invocations do not have to wait.
func (e *environment) settle(p *process, timer *time.Timer) {
	if e.d.fn.shared() {
		return
	}
	select {
	case <-p.api.ready:
		p.Drain()
		p.attribute("")
	case <-p.exited:
		e.lost(p)
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
