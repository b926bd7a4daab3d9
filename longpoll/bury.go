package longpoll

import (
	"context"
	"time"

	"github.com/sqsbatch/sqsbatch/batch"
)

// LastAttempt goes by what the queue said when the poller started.
func (p *progress) LastAttempt(r *batch.Record) bool { return p.settler.LastAttempt(r) }

// Bury puts a failure out of the way of the rest of its group, with a settlement
// of its own. One that failed because the poller stops is none of the record's.
func (p *progress) Bury(ctx context.Context, r *batch.Result) (buried bool) {
	p.mu.Lock()
	p.heed(r)                                                                     // not only once it is buried
	skip := p.phase != polling || p.lapsed(p.chain.message(r.Record), time.Now()) // SQS may have moved it itself
	if skip {
		p.mu.Unlock()
		return false
	}
	st := p.settler.Begin(p.base, batch.Times{SettleBy: time.Now().Add(settleTimeout)})
	p.chain.burial = st
	p.mu.Unlock()
	over := make(chan struct{})
	p.routines.Go(func() { // so that the end of Run waits for its calls
		defer close(over)
		buried = st.Bury(ctx, r)
		st.Finish(nil)
	})
	<-over
	p.mu.Lock()
	defer p.mu.Unlock()
	p.chain.burial = nil
	return buried
}

// endBurial ends the calls of a burial that the engine has given up on: what is
// not in the dead-letter queue comes back, and must not get there as well. The
// caller holds the lock.
func (c *chain) endBurial() {
	if c.burial != nil {
		c.burial.Cancel()
	}
}
