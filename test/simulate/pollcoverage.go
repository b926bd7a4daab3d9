package simulate

import (
	"errors"
	"slices"

	"github.com/sqsbatch/sqsbatch/batch"
	"github.com/sqsbatch/sqsbatch/longpoll"
)

// replica counts what a replica's configuration has.
func (c Coverage) replica(p Plan, r Replica) {
	c.config("poll config", r.ByName, "queue by its name")
	c.config("poll config", r.Wait > 0, "Wait")
	c.config("poll config", r.Prefetch > 0, "Prefetch")
	c.config("poll config", r.Prefetch < 0, "no Prefetch")
	c.config("poll config", r.Visibility > 0, "Visibility")
	c.config("poll config", r.NoHeartbeat, "NoHeartbeat")
	c.config("poll config", r.DrainLimit > 0, "DrainLimit")
	c.config("poll config", r.MaxAbandoned > 0, "MaxAbandoned")
	for _, other := range p.Replicas {
		if other.Queue == r.Queue {
			c["poll: replicas that share a queue, in pairs"]++
		}
	}
	c["poll: replicas that share a queue, in pairs"]-- // with itself
}

// process counts what became of a process.
func (c Coverage) process(h *History, p *Process) {
	c["poll: process"]++
	var config *longpoll.ConfigError
	switch {
	case p.Killed.Came():
		c["poll: process dies"]++
		for _, call := range p.Calls {
			c.config("poll", !call.Ended.Came() && call.Operation != "ReceiveMessage", "process dies in a call that settles")
		}
	case errors.Is(p.Err, longpoll.ErrAbandoned):
		c["poll: process ends with too many abandoned"]++
	case errors.As(p.Err, &config):
		c["poll: process ends since the queue cannot be used"]++
	default:
		c["poll: process ends by "+string(p.How)]++
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
		c.config("poll fault", call.Broken != "" && h.beats(p, call), string(call.Broken)+" of a heartbeat")
	}
}

// beats tells whether a call extends the visibility of a record that is handled.
func (h *History) beats(p *Process, call *Call) bool {
	return call.Operation == "ChangeMessageVisibilityBatch" && slices.ContainsFunc(h.Handlings, func(g *Handling) bool {
		return g.Process == p && g.Started.Before(call.Began) && !g.Ended.Before(call.Began) &&
			slices.ContainsFunc(call.Entries, func(e Entry) bool { return e.Receipt == g.Receipt })
	})
}

func (c Coverage) pollCall(call *Call, held map[string]bool) {
	if call.Err == "" && call.Ended.Came() {
		c["poll call: "+call.Operation]++
	} else {
		c["poll call that fails: "+call.Operation]++
	}
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

// pollFeatures are what has to occur in many histories of the long-poll mode.
func pollFeatures() (want []string) {
	for _, name := range []string{"queue by its name", "Wait", "Prefetch", "no Prefetch", "Visibility", "NoHeartbeat", "DrainLimit", "MaxAbandoned"} {
		want = append(want, "poll config: "+name)
	}
	for _, name := range []string{
		"replicas that share a queue, in pairs", "process dies", "process dies in a call that settles",
		"process ends with too many abandoned", "process ends since the queue cannot be used",
		"process ends by " + string(Shutdown), "process ends by " + string(Canceled), "process ends by " + string(Hurried),
		"process is paused", "handler is cut off by a stop", "stop waits for a handler",
		"record is released", "record is extended again", "receive is full", "receive is given up",
	} {
		want = append(want, "poll: "+name)
	}
	for o := batch.Succeeded; o <= batch.Abandoned; o++ {
		want = append(want, "poll outcome: "+o.String())
	}
	for _, operation := range []string{"ReceiveMessage", "DeleteMessageBatch", "ChangeMessageVisibilityBatch", "SendMessageBatch", "GetQueueAttributes", "GetQueueUrl"} {
		want = append(want, "poll call: "+operation, "poll call that fails: "+operation)
	}
	return want
}
