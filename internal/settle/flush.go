package settle

import (
	"cmp"
	"errors"
	"slices"
	"time"

	"github.com/sqsbatch/sqsbatch/internal/sleep"
	"github.com/sqsbatch/sqsbatch/internal/sqserror"
)

// Flush starts a call for every ten entries that wait for the same operation. It does so
// for fewer entries if they have lingered, or if all is set and no others wait for their
// queue's answer. The owner calls it after everything else.
func (s *Settler) Flush(all bool) {
	if s.ctx.Err() != nil {
		return
	}
	now := time.Now()
	all = all && len(s.waiting) == 0
	for again := true; again; { // a send that is given up puts entries in another lane
		again = false
		for _, l := range s.lanes {
			again = s.giveUp(l, now) || again
		}
	}
	var next time.Time
	for _, l := range s.lanes {
		for s.hasRoom(l) && !now.Before(l.pause) {
			list := l.take(now, all)
			if len(list) == 0 {
				break
			}
			l.calls++
			c := s.newCall(l, list)
			s.aside(c.make, func() { s.answered(l, c) })
		}
		next = sooner(next, s.due(l))
	}
	s.arm(next)
}

// Hurry retries everything now that waits for a time, and uses short pauses from now on.
func (s *Settler) Hurry() {
	now := time.Now()
	s.longest = hurriedDelay
	for _, l := range s.lanes {
		l.pause, l.failing, l.refused = time.Time{}, 0, false
		for _, e := range l.entries {
			e.tries.due = now
		}
	}
}

// giveUp finishes the entries of a lane that are not to be tried any longer, and reports whether
// there were any.
func (s *Settler) giveUp(l *lane, now time.Time) bool {
	l.refused = l.refused && l.pause.After(now)
	var lastTry time.Time
	if l.failing > 0 { // else SQS answers, and calls go on
		lastTry = s.lastTry
	}
	if next := sooner(l.until, lastTry); !l.refused && (next.IsZero() || now.Before(next)) {
		return false
	}
	l.until = time.Time{}
	var list []*Entry
	l.entries = slices.DeleteFunc(l.entries, func(e *Entry) bool {
		until := sooner(e.tries.until, lastTry)
		if l.refused && !e.tries.patient || !until.IsZero() && !now.Before(until) {
			list = append(list, e)
			return true
		}
		l.until = sooner(l.until, e.tries.until)
		return false
	})
	if len(list) == 0 {
		return false
	}
	c := s.newCall(l, list)
	c.givenUp = true
	for k, e := range list {
		c.errs[k] = cmp.Or(e.tries.err, errRefused)
	}
	s.answered(l, c)
	return true
}

// arm schedules a flush by the owner.
func (s *Settler) arm(next time.Time) {
	if next.IsZero() {
		s.timer.Stop()
	} else {
		s.timer.Reset(time.Until(next))
	}
}

// Idle reports whether there is nothing left to do.
func (s *Settler) Idle() bool {
	return s.calls.Load() == 0 && !slices.ContainsFunc(s.lanes, func(l *lane) bool { return len(l.entries) > 0 })
}

// Calls returns the number of open calls.
func (s *Settler) Calls() int { return int(s.calls.Load()) }

func (s *Settler) newCall(l *lane, list []*Entry) *call {
	c := &call{
		Policy: s.Policy, ctx: s.ctx, called: s.owner.Called, op: l.op, arn: l.arn, target: l.arn, began: time.Now(),
		entries: list, jobs: make([]job, len(list)), errs: make([]error, len(list)),
	}
	for k, e := range list {
		j := &c.jobs[k]
		*j = job{result: *e.Result, latest: e.Latest, tries: *e.tries, received: e.Latest.ReceivedAt}
		if j.received.IsZero() { // only in a container is it known exactly
			j.received = s.began.Add(-maxWindow)
		}
		if l.op == opVisibility {
			j.visibleIn = s.visibleIn(e.tries.group)
		}
	}
	return c
}

// answered handles the end of a call: each entry is tried again, or finished.
func (s *Settler) answered(l *lane, c *call) {
	now := time.Now()
	if !c.givenUp {
		l.calls--
		s.noteResult(l, c, now)
	}
	var over []int
	var list []*Entry
	for k, e := range c.entries {
		e.Result.VisibleIn = c.jobs[k].visibleIn
		if s.goesOn(l, c, k, now) {
			s.enqueue(c.op, e)
		} else {
			over, list = append(over, k), append(list, e)
		}
	}
	switch c.op {
	case opDelete:
		s.owner.Deleted(c.entries, c.errs)
	case opVisibility:
		s.noteEntries(list)
	}
	for _, k := range over {
		s.finish(c, k)
	}
}

// goesOn reports whether another call is made for an entry of c.
func (s *Settler) goesOn(l *lane, c *call, k int, now time.Time) bool {
	e, err := c.entries[k], c.errs[k]
	if c.op == opDelete && e.Latest != c.jobs[k].latest {
		// It was delivered again before the answer. A delete with the earlier handle has no
		// effect, although SQS may confirm it.
		if sqserror.Gone(err) {
			c.errs[k] = nil
		}
		return true
	}
	if err == nil || c.givenUp || sqserror.Gone(err) || errors.Is(err, errTooLate) {
		return false
	}
	t := e.tries
	if !t.patient && (!sqserror.Passing(err) || l.refused) {
		return false
	}
	t.err, t.unsure = err, t.unsure || sqserror.Unsure(err)
	t.lingers, t.due = false, now // or after the lane's pause
	if c.worked || l.failing == 0 {
		t.count++
		t.due = now.Add(min(retryDelay<<min(t.count-1, 10), s.longest))
	}
	if t.count >= maxTries && c.worked && !t.patient {
		return false
	}
	until := sooner(t.until, s.lastTry)
	return until.IsZero() || later(t.due, l.pause).Before(until)
}

// noteResult notes whether SQS answers the calls of a lane.
func (s *Settler) noteResult(l *lane, c *call, now time.Time) {
	unanswered := false
	for _, err := range c.errs {
		if err == nil || errors.Is(err, errTooLate) {
			continue
		}
		if _, lasts := diagnose(err, c.op, c.target); lasts && s.ctx.Err() == nil {
			l.refused, l.failing, l.pause = true, 1, now.Add(s.refusedFor)
			return
		}
		unanswered = unanswered || sqserror.Passing(err)
	}
	switch {
	case c.worked:
		l.answered, l.failing, l.pause = now, 0, time.Time{}
	case unanswered && l.answered.Before(c.began) && !now.Before(l.pause): // else the call alone failed, or others with it
		l.failing++
		l.pause = now.Add(sleep.Backoff(l.failing, firstDelay, s.longest))
	}
}

// take removes and returns the entries of a call: ten, or fewer if all is set or one is due; nil
// if there is no call to make. Entries that are tried again are behind the others, so that
// those do not wait for one that always fails.
func (l *lane) take(now time.Time, all bool) (list []*Entry) {
	most := maxEntries
	if l.failing >= oneByOne { // it may be one of the ten for which SQS does not answer
		most = 1
	}
	for _, e := range l.entries {
		due := !e.tries.due.After(now)
		if due || e.tries.lingers {
			list = append(list, e)
		}
		all = all || due || len(list) == most
		if len(list) == most {
			break
		}
	}
	if !all {
		return nil
	}
	if l.op == opSend {
		list = list[:fitting(list)]
	}
	n := 0
	l.entries = slices.DeleteFunc(l.entries, func(e *Entry) bool {
		taken := n < len(list) && e == list[n]
		if taken {
			n++
		}
		return taken
	})
	return list
}
