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

// called tells the hooks of calls. The lock is not held: a hook may take its
// time, and ask for the poller's status.
func (p *Poller) called(calls ...batch.Call) {
	for _, c := range calls {
		if p.engine.Hooks().WantsCalls() {
			p.routines.watch(func() { p.engine.Hooks().Called(context.WithoutCancel(p.base), c) })
		}
	}
}

// announce tells the hooks that the polling begins, and waits for them for a
// moment, unless it is to stop.
func (p *Poller) announce(stopping context.Context) {
	ctx, cancel := context.WithTimeout(stopping, time.Second)
	p.routines.hook(func() {
		defer cancel()
		p.tellPolling()
	})
	<-ctx.Done()
}

func (p *Poller) tellPolling() {
	if text := p.settler.Schedule(p.queue.arn); text != "" {
		p.warn(batch.Warning{Message: text, Info: true})
	}
	p.engine.Hooks().Polling(context.WithoutCancel(p.base), p.queue.arn, func() batch.Load {
		s := p.Status()
		return batch.Load{
			Slots: p.cfg.Engine.Concurrency, Running: s.Running, Waiting: s.Waiting, Undeleted: s.Undeleted,
			AbandonedRunning: s.AbandonedRunning, OldestSeconds: s.OldestSeconds,
			Lost: s.Counts.Lost, Repeated: s.Counts.Repeated, Ended: s.State == "stopped",
		}
	})
}
