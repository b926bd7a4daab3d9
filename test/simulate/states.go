package simulate

import (
	"fmt"
	"slices"
	"strings"

	"github.com/sqsbatch/sqsbatch/batch"
)

// state is a situation of a record: a place in each of the dimensions that the checks must have
// seen together. Those that are not there are "".
type state struct {
	mode    string // Lambda or poll
	queue   string // standard or FIFO
	outcome string // a batch.Outcome
	fault   string // what went wrong with a call about the record
	stop    string // how its process was stopped, or died
	phase   string // where the record was then
	branch  string // of DESIGN.md's states of a delivery
}

func (s state) String() string {
	text := fmt.Sprintf("state: %s, %s", s.mode, s.queue)
	for _, part := range []struct{ name, value string }{
		{"outcome", s.outcome}, {"fault", s.fault}, {"stop", s.stop}, {"while", s.phase}, {"branch", s.branch},
	} {
		if part.value != "" {
			text += fmt.Sprintf(", %s: %s", part.name, part.value)
		}
	}
	return text
}

var (
	modes      = []string{"Lambda", "poll"}
	queueTypes = []string{"standard", "FIFO"}
	callFaults = []string{string(Reset), string(Silent), string(CutOff), string(TooMany), string(OneEntry), "an error", "no answer", "a lost connection", "an entry fails"}
	stops      = []string{string(Shutdown), string(Canceled), string(Hurried)}
	phases     = []string{"waits", "runs", "is settled"}
	branches   = []string{
		"waiting, running", "waiting, taken back", "waiting, skipped", "waiting, lost", "running, finished", "running, given up",
		"deciding, gone", "deciding, failed", "deleting again", "returning again", "received again while held",
	}
)

func outcomes() (names []string) {
	for o := batch.Succeeded; o <= batch.Abandoned; o++ {
		names = append(names, o.String())
	}
	return names
}

// states are all that are possible.
func states() (list []state) {
	add := func(s state) {
		if s.impossible() == "" {
			list = append(list, s.counted())
		}
	}
	for _, mode := range modes {
		for _, queue := range queueTypes {
			for _, outcome := range outcomes() {
				for _, fault := range callFaults {
					add(state{mode: mode, queue: queue, outcome: outcome, fault: fault})
				}
				for _, stop := range stops {
					for _, phase := range phases {
						add(state{mode: mode, queue: queue, outcome: outcome, stop: stop, phase: phase})
					}
				}
			}
			for _, phase := range phases {
				add(state{mode: mode, queue: queue, stop: "dies", phase: phase})
			}
			for _, branch := range branches {
				add(state{mode: mode, queue: queue, branch: branch})
			}
		}
	}
	return list
}

// impossible says why a state cannot be; "" if it can.
func (s state) impossible() string {
	unstarted := s.outcome == batch.NotStarted.String() || s.outcome == batch.Skipped.String()
	switch {
	case s.mode == "Lambda" && s.stop != "" && s.stop != "dies":
		return "nobody stops a function"
	case s.mode == "Lambda" && (s.branch == "waiting, lost" || s.branch == "received again while held"):
		return "Lambda's own pollers hold the records of an invocation"
	case s.queue == "standard" && (s.outcome == batch.Skipped.String() || s.branch == "waiting, skipped" || strings.HasPrefix(s.branch, "deciding")):
		return "nothing waits for a record of a standard queue"
	case s.stop != "" && s.outcome != "" && unstarted != (s.phase == "waits"):
		return "a stop starts nothing that waits, and what runs has started"
	}
	return ""
}

// counted is the state as it is counted. Few histories have some outcomes, so that their faults are
// counted as one, and so are their stops. Few lose a record that waits.
func (s state) counted() state {
	if s.branch == "waiting, lost" {
		s.queue = "any queue"
	}
	switch s.outcome {
	case "", batch.Retry.String(), batch.Skipped.String():
		return s
	case batch.Succeeded.String():
		if s.mode == "poll" { // a function deletes what succeeded only if it must
			return s
		}
	}
	if s.fault != "" {
		s.fault = "any"
	}
	if s.stop != "" {
		s.stop, s.phase = "any", ""
	}
	return s
}

// states counts those of a history.
func (c coverage) states(h *checker) {
	for _, s := range h.ordered {
		for k, d := range s.deliveries {
			var w *Work
			at := state{mode: "Lambda", queue: "standard"}
			switch {
			case d.process != nil:
				w, at.mode = &d.process.Work, "poll"
			case d.invocation != nil:
				w = &d.invocation.Work
			default:
				continue
			}
			if d.queue.FIFO() {
				at.queue = "FIFO"
			}
			c.delivery(at, d, w, s.deliveries[k+1:])
		}
	}
}

// delivery counts the states of a delivery; later are those of its message that follow.
func (c coverage) delivery(at state, d *delivery, w *Work, later []*delivery) {
	saw := func(change func(s *state)) {
		s := at
		change(&s)
		c.Seen[s.counted().String()]++
	}
	calls := map[string]int{} // about it, by operation
	var last Moment           // of its calls
	var sent *Call
	for _, call := range w.Calls {
		k := slices.IndexFunc(call.Entries, func(e Entry) bool {
			return e.Receipt == d.received.ReceiptHandle || e.Body != "" && e.Body == d.sent.Body
		})
		if k < 0 {
			continue
		}
		calls[call.Operation]++
		if last = call.Ended; call.Operation == "SendMessageBatch" {
			sent = call
		}
		if fault := faultOf(call, call.Entries[k]); fault != "" && d.outcome != nil {
			saw(func(s *state) { s.outcome, s.fault = d.outcome.Outcome.String(), fault })
		}
	}
	got := d.got
	if d.process == nil {
		got = d.invocation.Began
	}
	stopped, how := w.Killed, "dies"
	if p := d.process; p != nil && !w.Killed.Came() {
		stopped, how = p.Stopping, string(p.How)
	}
	phase := ""
	switch g := d.handling; {
	case !stopped.Came() || stopped.Before(got):
	case g == nil && (d.outcome == nil || !d.outcome.Settled.Before(stopped)), g != nil && stopped.Before(g.Started):
		phase = "waits"
	case g != nil && (!g.Ended.Came() || stopped.Before(g.Ended)):
		phase = "runs"
	case !last.Came() || stopped.Before(last):
		phase = "is settled"
	}
	switch {
	case phase == "":
	case how == "dies":
		saw(func(s *state) { s.stop, s.phase = how, phase })
	case d.outcome != nil:
		saw(func(s *state) { s.stop, s.phase, s.outcome = how, phase, d.outcome.Outcome.String() })
	}
	branch := func(name string, is bool) {
		if is {
			saw(func(s *state) { s.branch = name })
		}
	}
	branch("waiting, running", d.handling != nil)
	branch("running, finished", d.handling != nil && d.handling.Ended.Came())
	branch("deleting again", calls["DeleteMessageBatch"] > 1)
	branch("returning again", calls["ChangeMessageVisibilityBatch"] > 1 && d.outcome != nil && !d.outcome.Outcome.Done())
	branch("received again while held", slices.ContainsFunc(later, func(l *delivery) bool {
		return d.process != nil && l.process == d.process && (d.outcome == nil || l.got.Before(d.outcome.Settled))
	}))
	if d.outcome == nil {
		return
	}
	o := d.outcome
	branch("waiting, taken back", o.Outcome == batch.NotStarted)
	branch("waiting, skipped", o.Outcome == batch.Skipped)
	branch("waiting, lost", o.Lost)
	branch("running, given up", o.Outcome == batch.Abandoned)
	behind := sent != nil && d.queue.FIFO() && slices.ContainsFunc(w.Results, func(other Outcome) bool {
		b := other.delivery
		return b != d && b.sent.MessageGroupID == d.sent.MessageGroupID && (b.process == nil || b.got.Before(sent.Began)) && (b.handling == nil || sent.Began.Before(b.handling.Started))
	})
	branch("deciding, gone", behind && o.Outcome.Done())
	branch("deciding, failed", behind && !o.Outcome.Done())
}

// faultOf is what went wrong with a call for one of its entries; "" for nothing.
func faultOf(call *Call, e Entry) string {
	switch {
	case call.Broken != "":
		return string(call.Broken)
	case e.Code != "":
		return "an entry fails"
	case call.Err == "" || !call.Ended.Came():
		return ""
	case strings.HasPrefix(call.Err, "context "):
		return "no answer"
	case strings.Contains(call.Err, " "):
		return "a lost connection"
	}
	return "an error"
}
