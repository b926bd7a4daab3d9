package lambda

import "time"

// invoke gives inv to the process. As on Lambda, an invocation is over when the runtime
// asks for the next one, or is gone. In a shared environment it is over when it is
// answered. invoke returns nil if a warm process had ended before it took inv.
func (e *environment) invoke(p *process, inv *invocation, cold bool) (a *answer, late func(), err error) {
	if !e.d.fn.shared() {
		p.attribute(inv.id)
	}
	timer := time.NewTimer(e.d.fn.Timeout)
	defer timer.Stop()
	taken, a, err := e.hand(p, inv, cold, timer.C)
	if !taken {
		return a, nil, err
	}
	timer.Reset(time.Until(inv.deadline))
	select {
	case a := <-inv.answer:
		e.settle(p, timer)
		return &a, nil, nil
	case <-p.exited:
		return e.crashed(p, inv), nil, nil
	case <-timer.C:
		if e.d.fn.shared() {
			a := failure(timedOut(inv.id, e.d.fn.Timeout))
			return &a, func() { e.awaitLate(p, inv) }, nil
		}
		return e.timedOut(p, inv), nil, nil
	case <-e.d.ctx.Done():
		p.kill()
		a, err := e.closed()
		return a, nil, err
	}
}

// hand waits until the runtime takes inv, but not beyond inv's time: a runtime that hangs,
// or has lost its connection, may never ask for it. If it is not taken, hand returns the
// answer, or nil if another process must get inv. The channel to the runtime has no buffer,
// so that an abandoned invocation does not stay in it.
func (e *environment) hand(p *process, inv *invocation, cold bool, timeout <-chan time.Time) (taken bool, a *answer, err error) {
	inv.back = make(chan struct{}, 1)
	for work := p.api.work; ; {
		select {
		case work <- inv:
			work = nil
		case <-inv.back:
			work = p.api.work
		case <-inv.delivered:
			return true, nil, nil
		case <-timeout:
			if !inv.giveUp() {
				return true, nil, nil // it was delivered in that very moment
			}
			if !e.d.fn.shared() { // else it may be busy with the others
				p.kill()
				e.lost(p)
			}
			a := failure(timedOut(inv.id, e.d.fn.Timeout))
			return false, &a, nil
		case <-p.exited:
			switch {
			case inv.wasDelivered():
				return true, nil, nil
			case cold:
				return false, e.crashed(p, inv), nil
			}
			e.lost(p)
			return false, nil, nil
		case <-e.d.ctx.Done():
			p.kill()
			a, err := e.closed()
			return false, a, err
		}
	}
}

// timedOut ends the process, unless inv was answered in that very moment.
func (e *environment) timedOut(p *process, inv *invocation) *answer {
	answering := !inv.claim()
	p.kill()
	e.lost(p)
	a := failure(timedOut(inv.id, e.d.fn.Timeout))
	if answering {
		select {
		case in := <-inv.answer:
			if in.at.Before(inv.deadline) { // else it ended with the process: half a response is none
				a = in
			}
		default:
		}
	}
	return &a
}

// awaitLate waits for the answer that comes too late: "Understanding the Lambda
// Managed Instances execution environment" says that a timeout neither ends the
// code that runs nor the environment.
func (e *environment) awaitLate(p *process, inv *invocation) {
	select {
	case <-inv.answer:
	case <-p.exited:
	case <-e.d.ctx.Done():
	}
}

// crashed answers for a process that is gone, using what it reported before: after a panic
// aws-lambda-go reports the error and exits.
func (e *environment) crashed(p *process, inv *invocation) *answer {
	e.lost(p)
	select {
	case a := <-inv.answer:
		return &a
	default:
		a := failure(exited(inv.id, p.status(), p.LastLines()))
		return &a
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
		p.kill()
		e.lost(p)
	case <-e.d.ctx.Done():
		p.kill()
		e.lost(p)
	}
}

func (e *environment) closed() (*answer, error) {
	a := failure(&FunctionError{Type: "Sandbox.Closed", Message: ErrClosed.Error()})
	return &a, e.d.error(ErrClosed)
}
