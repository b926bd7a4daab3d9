package lambda

import "context"

// groupRun is an invocation as its message groups see it.
type groupRun struct {
	done   chan struct{}
	failed map[string]int // group to the receive of a message that was not processed; read after done
}

// lockGroups notes that b is being invoked. On a FIFO queue the returned run
// must be ended; on others it is nil.
func (p *poller) lockGroups(b *batch) *groupRun {
	if !p.isFIFO {
		return nil
	}
	if len(p.carry) == 0 { // what is over matters to nothing that is held
		for group, run := range p.runs {
			if isClosed(run.done) {
				delete(p.runs, group)
			}
		}
	}
	run := &groupRun{done: make(chan struct{}), failed: map[string]int{}}
	for _, m := range b.messages {
		p.runs[m.GroupID] = run
	}
	return run
}

// inOrder waits until no group of b is being invoked. The queue sees to that
// by its lock, except for messages of the same receive that went into another
// batch, and when a message became visible before its invocation ended. After
// a failure, messages that were received together with the failed one are
// released: they must not overtake it.
func (p *poller) inOrder(ctx context.Context, b *batch) {
	if !p.isFIFO {
		return
	}
	for _, m := range b.messages {
		if run := p.runs[m.GroupID]; run != nil {
			select {
			case <-run.done:
			case <-ctx.Done():
				return
			}
		}
	}
	p.release(ctx, b.remove(func(m message) bool {
		run := p.runs[m.GroupID]
		return run != nil && run.failed[m.GroupID] == m.receive
	}))
}

// end lets the groups' next invocation begin.
func (r *groupRun) end(b *batch, left []bool) {
	if r == nil {
		return
	}
	for i, m := range b.messages {
		if left[i] {
			r.failed[m.GroupID] = m.receive
		}
	}
	close(r.done)
}
