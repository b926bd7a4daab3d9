package lambda

import "time"

// invoke hands inv to the process. As on Lambda an invocation is over when the
// runtime asks for the next one, or is gone; where an environment is shared,
// when it is answered. It returns nil when a warm process had ended before it
// took inv.
func (e *environment) invoke(p *process, inv *invocation, cold bool) (a *answer, late func(), err error) {
	if !e.d.fn.shared() {
		p.output.attribute(inv.id)
	}
	p.api.work <- inv         // has room: no more than the places of the environment
	var busy <-chan time.Time // a shared runtime may hang in all that it does
	if e.d.fn.shared() {
		timer := time.NewTimer(e.d.fn.Timeout)
		defer timer.Stop()
		busy = timer.C
	}
	select {
	case <-inv.delivered:
	case <-busy:
		if inv.giveUp() {
			a := failure(timedOut(inv.id, e.d.fn.Timeout))
			return &a, nil, nil
		}
	case <-p.exited:
		switch {
		case inv.wasDelivered():
		case cold:
			return e.crashed(p, inv), nil, nil
		default:
			e.lost(p)
			return nil, nil, nil
		}
	case <-e.d.ctx.Done():
		p.kill()
		a, err := e.closed()
		return a, nil, err
	}
	timer := time.NewTimer(time.Until(inv.deadline))
	defer timer.Stop()
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

// timedOut ends the process, unless inv was answered in that very moment.
func (e *environment) timedOut(p *process, inv *invocation) *answer {
	answering := !inv.claim()
	p.kill()
	e.lost(p)
	a := failure(timedOut(inv.id, e.d.fn.Timeout))
	if answering {
		select {
		case a = <-inv.answer:
		default: // half a response is none
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

// crashed answers for a process that is gone, with what it said before: after a
// panic aws-lambda-go reports the error and exits.
func (e *environment) crashed(p *process, inv *invocation) *answer {
	e.lost(p)
	select {
	case a := <-inv.answer:
		return &a
	default:
		a := failure(exited(inv.id, p.status, p.output.lastLines()))
		return &a
	}
}

// settle waits until the runtime asks for its next invocation, within the time
// that this one has left. In a shared environment the others need not wait.
func (e *environment) settle(p *process, timer *time.Timer) {
	if e.d.fn.shared() {
		return
	}
	select {
	case <-p.api.ready:
		p.output.drain()
		p.output.attribute("")
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
