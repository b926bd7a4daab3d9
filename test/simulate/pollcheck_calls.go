package simulate

import (
	"cmp"
	"errors"
	"slices"
	"time"

	"github.com/sqsbatch/sqsbatch/longpoll"
)

// failing is how many receives may follow on one that fails, and fail as well,
// within a second: after 0.2, 0.4, 0.8 s and so on, or half of that.
const failing = 4

// receives: Frugal.
func (c *checker) receives() {
	for _, p := range c.Processes {
		var open []span
		full, short := 0, 0
		first := true
		for _, call := range p.Calls {
			if p.Returned.Before(call.Began) {
				c.violated(Frugal, call.Began, "process %d calls %s after Run has returned", p.Number, call.Operation)
			}
			if call.Operation != "ReceiveMessage" {
				continue
			}
			took := call.Ended.At.Sub(call.Began.At)
			switch {
			case call.Most < 1 || call.Most > 10:
				c.violated(Frugal, call.Began, "process %d asks for %d messages", p.Number, call.Most)
			case call.Wait == p.Limits.Wait:
			case call.Wait == 0 && (first || p.troubled(call)): // it tells at once whether the queue can be used
			case short == 0 || call.Wait < time.Second:
				c.violated(Frugal, call.Began, "process %d asks SQS to wait for %v, not %v", p.Number, call.Wait, p.Limits.Wait)
			}
			first = false
			end := call.Ended.At
			if !call.Ended.Came() {
				end = p.gone().At
			}
			open = append(open, span{call.Began.At, end})
			switch {
			case call.Err != "" && !call.GivenUp:
				if took > time.Second && took < call.Wait {
					short++ // as if something between here and SQS had cut it
				}
			case len(call.Got) == call.Most:
				full++
			}
		}
		if n, at := most(open); n > 1+full+len(p.Paused) {
			c.violated(Frugal, Moment{At: at}, "process %d has %d receives open, of which %d came back full", p.Number, n, full)
		}
	}
}

// hurries: Frugal. Receives that fail become rarer.
func (c *checker) hurries() {
	for _, p := range c.Processes {
		var answered []*Call
		for _, call := range p.Calls {
			if call.Operation == "ReceiveMessage" && call.Ended.Came() && !call.GivenUp {
				answered = append(answered, call)
			}
		}
		slices.SortFunc(answered, func(a, b *Call) int { return cmp.Compare(a.Ended.Seq, b.Ended.Seq) })
		var failed []*Call // one after another, not side by side
		for _, call := range answered {
			n := len(failed)
			switch {
			case call.Err == "":
				failed = nil
				continue
			case n > 0 && call.Began.Before(failed[n-1].Ended):
				continue
			}
			failed = append(failed, call)
			if k := n - failing - besideSuccess(failed, answered); k >= 0 && call.Began.At.Sub(failed[k].Began.At) < time.Second {
				c.violated(Frugal, call.Began, "process %d receives %d times in %v although it fails", p.Number, failing+1, call.Began.At.Sub(failed[k].Began.At))
			}
		}
	}
}

// besideSuccess counts the calls that succeeded at a moment at which others failed:
// what happened at one moment has no order, and after a success the process tries
// again at once.
func besideSuccess(failed, answered []*Call) (n int) {
	for _, call := range answered {
		if call.Err == "" && slices.ContainsFunc(failed, func(f *Call) bool { return f.Ended.At.Equal(call.Ended.At) }) {
			n++
		}
	}
	return n
}

// troubled reports whether no receive was answered before a call, or the latest
// one failed, or one of the latest: what happened at one moment has no order.
func (p *Process) troubled(call *Call) bool {
	var latest time.Time
	failed := true
	for _, c := range p.Calls {
		if c.Operation != "ReceiveMessage" || !c.Ended.Before(call.Began) || c.GivenUp || c.Ended.At.Before(latest) {
			continue
		}
		failed = c.Err != "" || failed && c.Ended.At.Equal(latest)
		latest = c.Ended.At
	}
	return failed
}

// extensions: Frugal.
func (c *checker) extensions() {
	for _, p := range c.Processes {
		count := map[string]int{}
		for _, call := range p.Calls {
			for _, e := range call.Entries {
				if call.Operation == "ChangeMessageVisibilityBatch" && e.OK && e.Seconds > 0 {
					count[e.Receipt]++
				}
			}
		}
		for receipt, n := range count {
			d := c.deliveries[receipt]
			if d == nil || d.process != p || d.received.Visibility == 0 {
				continue
			}
			every := max(d.received.Visibility/3-time.Second, time.Second)
			if enough := 2 + int(p.gone().At.Sub(d.got.At)/every); n > enough {
				c.violated(Frugal, d.got, "process %d sets the visibility of %v %d times in %v", p.Number, d.story, n, p.gone().At.Sub(d.got.At))
			}
		}
	}
}

// pauses: Quiet.
func (c *checker) pauses() {
	for _, p := range c.Processes {
		if c.function(p).slowStart() {
			continue
		}
		for _, pause := range p.Paused {
			for _, h := range c.Handlings {
				if h.Process == p && pause.From.Before(h.Started) && pause.From.At.Before(h.Started.At) && h.Started.Before(pause.Until) && !c.goesOn(h, pause) {
					c.violated(Quiet, h.Started, "process %d starts message %d, %v after it was paused", p.Number, h.Number, h.Started.At.Sub(pause.From.At))
				}
			}
			due := Moment{At: pause.From.At.Add(3 * time.Second)} // 2 of them for receives that are open at a busy queue
			if !p.clean() || p.gone().At.Before(due.At) || !pause.Until.At.After(due.At) || p.Stopping.Came() && p.Stopping.At.Before(due.At) {
				continue
			}
			for _, d := range c.deliveries {
				if d.process == p && len(d.handlings) == 0 && !d.got.At.After(due.At) && !c.groupGoesOn(d, pause) && c.hiddenAt(d, due).After(due.At.Add(time.Second)) &&
					!c.inGroupThatFailed(d) && !c.heldBefore(d) && !c.putOff(d, c.hiddenAt(d, due)) {
					c.violated(Quiet, pause.From, "process %d holds %v, 3 s after it was paused", p.Number, d.story)
				}
			}
		}
	}
}

// goesOn reports whether a handling belongs to a group that ran when the pause began.
func (c *checker) goesOn(h *Handling, pause *Paused) bool {
	d := c.deliveries[h.Receipt]
	return d != nil && c.groupGoesOn(d, pause)
}

// groupGoesOn reports whether the messages of a delivery's group that were
// received with it were being handled when the pause began.
func (c *checker) groupGoesOn(d *delivery, pause *Paused) bool {
	return d.queue.FIFO() && slices.ContainsFunc(c.Handlings, func(h *Handling) bool {
		with := c.deliveries[h.Receipt]
		return h.Process == d.process && h.Group == d.plan.Group && !h.Started.At.After(pause.From.At) && with != nil && with.got == d.got
	})
}

// errs: Drained. Run ends with an error only for a reason.
func (c *checker) errs() {
	for _, p := range c.Processes {
		var config *longpoll.ConfigError
		switch {
		case p.Err == nil || p.Killed.Came() || errors.Is(p.Err, longpoll.ErrAbandoned):
		case errors.As(p.Err, &config) && c.Plan.faulty():
		default:
			c.violated(Drained, p.Returned, "process %d ends with %v", p.Number, p.Err)
		}
	}
}
