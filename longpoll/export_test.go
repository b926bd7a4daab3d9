package longpoll

import "fmt"

// Drift says which of an idle or stopped poller's counters are not what they
// are without any record, "" for none.
func (p *Poller) Drift() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	l, s, in := &p.load, &p.settling, &p.intake
	drift := ""
	check := func(name string, got, least, most int) {
		if got < least || got > most {
			drift += fmt.Sprintf(" %s is %d, want %d to %d;", name, got, least, most)
		}
	}
	check("held", l.held, 0, 0)
	check("running", l.running, 0, 0)
	check("waiting", len(l.waiting), 0, 0)
	check("byID", len(l.byID), 0, 0)
	check("groups", len(l.groups), 0, 0)
	check("begun", len(l.begun), 0, 0)
	check("abandoned", l.abandoned, 0, 0)
	check("settlements", s.calls, 0, 0)
	check("backlog", s.backlog, 0, 0)
	check("done", len(s.done), 0, 0)
	check("failed", len(s.failed), 0, 0)
	check("back", len(s.back), 0, 0)
	check("again", len(s.again), 0, 0)
	if p.phase == stopped || p.paused {
		check("receives", in.calls, 0, 0)
		check("reserved", in.reserved, 0, 0)
	} else {
		check("receives", in.calls, 1, 1)
		check("reserved", in.reserved, 1, maxReceive)
	}
	return drift
}
