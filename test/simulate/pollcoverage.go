package simulate

import (
	"errors"
	"slices"

	"github.com/sqsbatch/sqsbatch/longpoll"
)

// replica counts what a replica's configuration has.
func (c Coverage) replica(p Plan, i int) {
	r := p.Replicas[i]
	c.config("poll config", r.ByName, "queue by its name")
	c.config("poll config", r.Wait > 0, "Wait")
	c.config("poll config", r.Prefetch > 0, "Prefetch")
	c.config("poll config", r.Prefetch < 0, "no Prefetch")
	c.config("poll config", r.Visibility > 0, "Visibility")
	c.config("poll config", r.NoHeartbeat, "NoHeartbeat")
	c.config("poll config", r.DrainLimit > 0, "DrainLimit")
	c.config("poll config", r.MaxAbandoned > 0, "MaxAbandoned")
	for _, other := range p.Replicas[:i] {
		c.config("poll", other.Queue == r.Queue, "replicas share a queue")
	}
}

// process counts what happened to a process.
func (c Coverage) process(h *History, p *Process) {
	c["poll: process"]++
	dies, abandoned := p.Killed.Came(), errors.Is(p.Err, longpoll.ErrAbandoned)
	unusable := errors.As(p.Err, new(*longpoll.ConfigError))
	c.config("poll", dies, "process dies")
	c.config("poll", !dies && abandoned, "process ends with too many abandoned")
	c.config("poll", !dies && unusable, "process ends since the queue cannot be used")
	if !dies && !abandoned && !unusable {
		c["poll: process ends by "+string(p.How)]++
	}
	for _, call := range p.Calls {
		c.config("poll", dies && !call.Ended.Came() && call.Operation != "ReceiveMessage", "process dies in a call that settles")
	}
	c.config("poll", len(p.Paused) > 0, "process is paused")
	busy := false
	for _, g := range h.Handlings {
		if g.Process != p {
			continue
		}
		c.config("poll", g.Canceled.Came() && p.Stopping.Before(g.Canceled), "handler is cut off by a stop")
		busy = busy || g.Started.Before(p.Stopping) && p.Stopping.Before(g.Ended)
	}
	c.config("poll", busy, "stop waits for a handler")
	for _, o := range p.Results {
		c["poll outcome: "+o.Outcome.String()]++
	}
	held := map[string]bool{}
	for _, call := range p.Calls {
		c.pollCall(call, held)
		if call.Broken != "" && h.beats(p, call) {
			c["poll fault: "+string(call.Broken)+" of a heartbeat"]++
		}
	}
}

// beats reports whether a call extends the visibility of a record that is handled.
func (h *History) beats(p *Process, call *Call) bool {
	return call.Operation == "ChangeMessageVisibilityBatch" && slices.ContainsFunc(h.Handlings, func(g *Handling) bool {
		return g.Process == p && g.Started.Before(call.Began) && !g.Ended.Before(call.Began) &&
			slices.ContainsFunc(call.Entries, func(e Entry) bool { return e.Receipt == g.Receipt })
	})
}

func (c Coverage) pollCall(call *Call, held map[string]bool) {
	c.call("poll ", call)
	for _, e := range call.Entries {
		if call.Operation != "ChangeMessageVisibilityBatch" || !e.OK {
			continue
		}
		c.config("poll", e.Seconds == 0, "record is released")
		c.config("poll", e.Seconds > 0 && held[e.Receipt], "record is extended again")
		held[e.Receipt] = true
	}
	c.config("poll", len(call.Got) == call.Most && call.Most == 10, "receive is full")
	c.config("poll", call.GivenUp && call.Operation == "ReceiveMessage", "receive is given up")
}
