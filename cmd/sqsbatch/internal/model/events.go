package model

import "time"

// event is something that happens at a time: do, or the end of a message's visibility timeout or
// delay. The time is counted from the beginning of the run.
type event struct {
	at    time.Duration
	order uint64 // of events at the same time: the one that was added first
	do    func()
	shows *message
}

func (e event) before(other event) bool {
	return e.at < other.at || e.at == other.at && e.order < other.order
}

// add schedules an event.
func (s *sim) add(e event) {
	s.events++
	e.order = s.events
	s.agenda.push(e)
}

// at has do called at a time, or now if that is over.
func (s *sim) at(t time.Duration, do func()) { s.add(event{at: max(t, s.now), do: do}) }

// after has do called after d.
func (s *sim) after(d time.Duration, do func()) { s.at(s.now+d, do) }
