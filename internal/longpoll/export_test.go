package longpoll

import "fmt"

// Drift says which of an idle or stopped poller's counters are not what they
// are without any record, "" for none.
func (p *Poller) Drift() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.drift()
}

func (p *Poller) drift() string {
	l, in := &p.load, &p.intake
	drift := ""
	check := func(name string, got, least, most int) {
		if got < least || got > most {
			drift += fmt.Sprintf(" %s is %d, want %d to %d;", name, got, least, most)
		}
	}
	check("held", l.held, 0, 0)
	check("byID", len(l.byID), 0, 0)
	if p.runner != nil {
		r := p.runner.Count()
		check("running", r.Running, 0, 0)
		check("waiting", r.Waiting, 0, 0)
		check("ready", r.Ready, 0, 0)
		check("deciding", r.Deciding, 0, 0)
		check("slots in use", r.Slots, 0, 0)
		check("abandoned", r.Abandoned, 0, 0)
	}
	check("backlog", p.undeleted, 0, 0)
	check("waiting to come back", len(p.releases), 0, 0)
	if p.settler != nil && !p.settler.Idle() {
		drift += " the settler is not idle;"
	}
	if p.phase == stopped || p.pausing {
		check("receives", in.calls, 0, 0)
		check("reserved", in.reserved, 0, 0)
	} else {
		check("receives", in.calls, 1, 1)
		check("reserved", in.reserved, 1, maxReceive)
	}
	return drift
}
