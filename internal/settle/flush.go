package settle

import (
	"cmp"
	"errors"
	"slices"
	"time"

	"github.com/sqsbatch/sqsbatch/internal/runner"
	"github.com/sqsbatch/sqsbatch/internal/sleep"
	"github.com/sqsbatch/sqsbatch/internal/sqserror"
)

// Flush starts a call for every ten deliveries that wait for the same operation. It does so
// for fewer if they have lingered, or if all is set and no others wait for their
// queue's answer. The owner calls it after everything else.
func (s *Settler) Flush(all bool) {
	if s.ctx.Err() != nil {
		return
	}
	now := time.Now()
	all = all && len(s.waiting) == 0
	for again := true; again; { // a send that is given up puts deliveries in another lane
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
	s.hurried = true
	for _, l := range s.lanes {
		l.pause, l.failing, l.refused = time.Time{}, 0, false
		for _, d := range l.list {
			d.Settling.Due = now
		}
	}
}

// giveUp finishes the deliveries of a lane that are not to be tried any longer, and reports whether
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
	var list []*runner.Delivery
	l.list = slices.DeleteFunc(l.list, func(d *runner.Delivery) bool {
		until := sooner(d.Settling.Until, lastTry)
		if l.refused && !d.Settling.Patient || !until.IsZero() && !now.Before(until) {
			list = append(list, d)
			return true
		}
		l.until = sooner(l.until, d.Settling.Until)
		return false
	})
	if len(list) == 0 {
		return false
	}
	c := s.newCall(l, list)
	c.givenUp = true
	for k, d := range list {
		c.errs[k] = cmp.Or(d.Settling.Err, errRefused)
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
	return s.calls.Load() == 0 && !slices.ContainsFunc(s.lanes, func(l *lane) bool { return len(l.list) > 0 })
}

// Calls returns the number of open calls.
func (s *Settler) Calls() int { return int(s.calls.Load()) }

func (s *Settler) newCall(l *lane, list []*runner.Delivery) *call {
	c := &call{
		Policy: s.Policy, ctx: s.ctx, called: s.owner.Called, op: l.op, arn: l.arn, target: l.arn, began: time.Now(),
		list: list, jobs: make([]job, len(list)), errs: make([]error, len(list)),
	}
	for k, d := range list {
		j, t := &c.jobs[k], d.Settling
		*j = job{result: *d.Result, latest: d.Latest, unsure: t.Unsure, err: t.Err, received: d.Latest.ReceivedAt}
		if j.received.IsZero() { // only in a container is it known exactly
			j.received = s.began.Add(-maxWindow)
		}
		if l.op == opVisibility {
			j.failedAt, j.visibleIn = t.FailedAt, s.visibleIn(d)
		}
	}
	return c
}

// answered handles the end of a call: each delivery is tried again, or finished.
func (s *Settler) answered(l *lane, c *call) {
	now := time.Now()
	if !c.givenUp {
		l.calls--
		s.noteResult(l, c, now)
	}
	var over []int
	var list []*runner.Delivery
	for k, d := range c.list {
		d.Result.VisibleIn = c.jobs[k].visibleIn
		if s.goesOn(l, c, k, now) {
			s.enqueue(c.op, d)
		} else {
			over, list = append(over, k), append(list, d)
		}
	}
	switch c.op {
	case opDelete:
		s.owner.Deleted(c.list, c.errs)
	case opVisibility:
		s.noteAll(list)
	}
	for _, k := range over {
		s.finish(c, k)
	}
}

// goesOn reports whether another call is made for a delivery of c.
func (s *Settler) goesOn(l *lane, c *call, k int, now time.Time) bool {
	d, err := c.list[k], c.errs[k]
	if c.op == opDelete && d.Latest != c.jobs[k].latest {
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
	t := d.Settling
	if !t.Patient && (!sqserror.Passing(err) || l.refused) {
		return false
	}
	t.Err, t.Unsure = err, t.Unsure || sqserror.Unsure(err)
	t.Lingers, t.Due = false, now // or after the lane's pause
	if c.worked || l.failing == 0 {
		t.Count++
		t.Due = now.Add(min(retryDelay<<min(t.Count-1, 10), s.longestDelay()))
	}
	if t.Count >= maxTries && c.worked && !t.Patient {
		return false
	}
	until := sooner(t.Until, s.lastTry)
	return until.IsZero() || later(t.Due, l.pause).Before(until)
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
		l.pause = now.Add(sleep.Backoff(l.failing, firstDelay, s.longestDelay()))
	}
}

// take removes and returns the deliveries of a call: ten, or fewer if all is set or one is due; nil
// if there is no call to make. Retries come last, so that the
// others do not wait for one that always fails.
func (l *lane) take(now time.Time, all bool) (list []*runner.Delivery) {
	most := MaxEntries
	if l.failing >= oneByOne { // it may be one of the ten for which SQS does not answer
		most = 1
	}
	for _, d := range l.list {
		due := !l.waits(d) && !d.Settling.Due.After(now)
		if due || d.Settling.Lingers && !l.waits(d) {
			list = append(list, d)
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
	l.list = slices.DeleteFunc(l.list, func(d *runner.Delivery) bool {
		taken := n < len(list) && d == list[n]
		if taken {
			n++
		}
		return taken
	})
	return list
}
