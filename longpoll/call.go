package longpoll

import (
	"context"
	"time"

	"github.com/sqsbatch/sqsbatch/batch"
)

// call begins to note a call to SQS for the hooks.
func (p *Poller) call(operation string) batch.Call {
	return batch.Call{Operation: operation, QueueARN: p.queue.arn, URL: p.queue.url, Started: time.Now()}
}

// answered notes the end of a call, which it returns.
func answered(c *batch.Call, err error) time.Time {
	now := time.Now()
	c.Duration, c.Err = now.Sub(c.Started), err
	return now
}

// called tells the hooks of a call. The lock is not held: a hook may take its
// time, and ask for the poller's status.
func (p *Poller) called(c batch.Call) {
	p.engine.Hooks().Called(context.WithoutCancel(p.base), c)
}

// announce tells the hooks that the polling begins.
func (p *Poller) announce() {
	p.engine.Hooks().Polling(context.WithoutCancel(p.base), p.queue.arn, func() batch.Load {
		s := p.Status()
		return batch.Load{
			Slots: p.cfg.Engine.Concurrency, Running: s.Running, Waiting: s.Waiting, Undeleted: s.Undeleted,
			AbandonedRunning: s.AbandonedRunning, OldestSeconds: s.OldestSeconds,
			Lost: s.Counts.Lost, Repeated: s.Counts.Repeated, Ended: s.State == "stopped",
		}
	})
}
