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

// agenda has what is to happen. Most events come after one of a few delays, such as the visibility
// timeout: those of a delay are in order already, which costs less than a heap.
type agenda struct {
	heap  heap[event]
	lines []line
	order uint64
}

// line has events that come after the same delay.
type line struct {
	delay time.Duration
	ring[event]
}

// delays has events after these delays cost less.
func (a *agenda) delays(list ...time.Duration) {
	for _, d := range list {
		a.lines = append(a.lines, line{delay: d})
	}
}

// add schedules an event after d.
func (s *sim) add(d time.Duration, e event) {
	a := &s.agenda
	a.order++
	e.at, e.order = s.now+d, a.order
	for k := range a.lines {
		if l := &a.lines[k]; l.delay == d {
			l.push(e)
			return
		}
	}
	a.heap.push(e)
}

// next removes and returns the next event. ok is false if there is none.
func (a *agenda) next() (e event, ok bool) {
	first := -1
	if ok = len(a.heap) > 0; ok {
		e = a.heap[0]
	}
	for k := range a.lines {
		if l := &a.lines[k]; l.len() > 0 && (!ok || l.first().before(e)) {
			e, ok, first = l.first(), true, k
		}
	}
	switch {
	case first >= 0:
		a.lines[first].pop()
	case ok:
		a.heap.pop()
	}
	return e, ok
}

// after has do called after d.
func (s *sim) after(d time.Duration, do func()) { s.add(d, event{do: do}) }

// at has do called at a time, or now if that is over.
func (s *sim) at(t time.Duration, do func()) { s.after(max(0, t-s.now), do) }
