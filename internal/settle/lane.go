package settle

import (
	"cmp"
	"errors"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/sqsbatch/sqsbatch/batch"
	"github.com/sqsbatch/sqsbatch/internal/sqserror"
)

// Limits of a batch call, see "Amazon SQS batch actions" in the Developer Guide.
const (
	maxEntries = 10
	maxPayload = 1 << 20 // bytes over all messages of a call
)

const (
	// How long an entry waits for nine others to share its call, of a batch and of a poller.
	batchLinger  = 50 * time.Millisecond
	pollerLinger = 100 * time.Millisecond
	// Bounds of a lane's calls under way. That of a batch is above the number of
	// connections that it takes to release 10,000 records within the reserve of a long
	// function.
	batchCalls  = 16
	pollerCalls = 32
	// maxTries bounds the calls for an entry that SQS answers with a passing failure.
	maxTries = 3
	// retryDelay is after how long that is tried again, at first.
	retryDelay = 100 * time.Millisecond
	// firstDelay is between two calls while SQS does not answer, or throttles, at first.
	firstDelay = 200 * time.Millisecond
	// lastDelay bounds both: they double. hurriedDelay does so during a stop.
	lastDelay    = 4 * time.Second
	hurriedDelay = 500 * time.Millisecond
	// oneByOne is after how many calls in a row without an answer each has one entry.
	oneByOne = 8
	// refusedFor is how long a poller makes no further call of an operation that SQS
	// refuses, such as for want of a permission. A batch makes none at all.
	refusedFor = 5 * time.Second
	// lastWord is left of the time when the last try must have begun, so that the batch
	// can say what is wrong.
	lastWord = 20 * time.Millisecond
)

// A lane is what waits for calls of one operation about one queue, and how these fare.
// While SQS answers none, they are made one at a time, with pauses: an endpoint that is
// out of reach is tried seldom.
type lane struct {
	op      operation
	arn     string
	waiting []*Entry
	since   time.Time // since when what may join others lingers; zero for nothing
	unknown []*Entry  // to be sent, when it is known where to
	calls   int       // under way
	worked  time.Time // when SQS last answered
	failing int       // calls in a row that were not answered
	again   bool      // something waits to be tried again
	pause   time.Time // until then no call is made
	refused bool      // until then nothing is tried that is not patient
}

// lane returns the one of an operation and a queue.
func (s *Settler) lane(op operation, arn string) *lane {
	for _, l := range s.lanes {
		if l.op == op && l.arn == arn {
			return l
		}
	}
	l := &lane{op: op, arn: arn}
	s.lanes = append(s.lanes, l)
	return l
}

func (s *Settler) enqueue(op operation, list ...*Entry) {
	for _, e := range list {
		if f := e.failure; f != nil {
			f.tries, f.notBefore, f.unsure, f.err = 0, time.Time{}, false, nil // of the call before
			if f.inPlace != nil {
				f.notBefore = time.Now() // it does not linger: a group waits
			}
		}
		l := s.lane(op, e.record().QueueARN)
		if l.since.IsZero() {
			l.since = time.Now()
		}
		l.waiting = append(l.waiting, e)
		l.again = l.again || e.failure != nil && !e.until.IsZero()
	}
}

// Flush begins a call for every ten entries that wait for the same, and for fewer when
// they have lingered, or if all is set. The owner calls it after everything else.
func (s *Settler) Flush(all bool) {
	if s.ctx.Err() != nil {
		return
	}
	now := time.Now()
	var next time.Time
	for _, l := range s.lanes {
		if l.troubled() {
			s.giveUp(l, now)
		}
		for s.hasRoom(l) && !now.Before(l.pause) {
			list := l.take(now, all || !l.since.IsZero() && now.Sub(l.since) >= s.linger)
			if len(list) == 0 {
				break
			}
			l.calls++
			s.begin(l, list, false)
		}
	}
	for _, l := range s.lanes {
		next = sooner(next, s.due(l))
	}
	s.arm(next)
}

// hasRoom reports whether another call may be under way.
func (s *Settler) hasRoom(l *lane) bool {
	return l.calls < s.maxCalls && (l.failing == 0 || l.calls == 0)
}

// take takes the entries of a call, ten or, if fewer will do or one of them is tried again,
// what there is; nil for none.
func (l *lane) take(now time.Time, fewer bool) (list []*Entry) {
	most := maxEntries
	if l.failing >= oneByOne { // it may be one of the ten for which SQS does not answer
		most = 1
	}
	for _, e := range l.waiting {
		if !e.isFresh() {
			if e.notBefore.After(now) {
				continue
			}
			fewer = true
		}
		if list = append(list, e); len(list) == most {
			break
		}
	}
	if len(list) < most && !fewer {
		return nil
	}
	if l.op == opSend {
		list = list[:fitting(list)]
	}
	taken := 0
	l.waiting = slices.DeleteFunc(l.waiting, func(e *Entry) bool {
		if taken == len(list) || e != list[taken] {
			return false
		}
		taken++
		return true
	})
	l.since = time.Time{}
	if slices.ContainsFunc(l.waiting, (*Entry).isFresh) {
		l.since = now
	}
	return list
}

// isFresh reports whether no try was made for e.
func (e *Entry) isFresh() bool { return e.failure == nil || e.notBefore.IsZero() }

// Hurry has everything tried now that waits for a time, and with short pauses from now on.
func (s *Settler) Hurry() {
	now := time.Now()
	s.longest = hurriedDelay
	for _, l := range s.lanes {
		l.pause, l.failing, l.refused = time.Time{}, 0, false
		for _, e := range l.waiting {
			if e.failure != nil && e.notBefore.After(now) {
				e.notBefore = now
			}
		}
	}
}

// troubled reports whether something of l may have to wait, or to be given up.
func (l *lane) troubled() bool { return l.again || l.failing > 0 || l.refused || len(l.unknown) > 0 }

// giveUp finishes what shall be tried no longer.
func (s *Settler) giveUp(l *lane, now time.Time) {
	l.refused = l.refused && l.pause.After(now)
	var list []*Entry
	l.waiting = slices.DeleteFunc(l.waiting, func(e *Entry) bool {
		until := s.until(e)
		over := l.refused && !e.isPatient() || !until.IsZero() && !now.Before(until)
		if over {
			list = append(list, e)
		}
		return over
	})
	l.again = len(l.waiting) > 0
	for _, e := range slices.Clone(l.unknown) {
		if until := s.until(e); !until.IsZero() && !now.Before(until) {
			l.unknown = slices.DeleteFunc(l.unknown, func(other *Entry) bool { return other == e })
			s.sent(e, "", errUnknown)
		}
	}
	if len(list) > 0 {
		s.begin(l, list, true)
	}
}

func (e *Entry) isPatient() bool { return e.failure == nil || e.patient }

// until is when no try of an entry begins any more; zero for never.
func (s *Settler) until(e *Entry) time.Time {
	if e.failure == nil {
		return s.lastTry
	}
	return sooner(e.until, s.lastTry)
}

// due is when the next call of a lane begins, or something of it is to be given up, if
// SQS answers nothing before; zero for never.
func (s *Settler) due(l *lane) (next time.Time) {
	switch {
	case len(l.waiting)+len(l.unknown) == 0, !l.troubled() && !s.hasRoom(l):
		return next
	case !l.troubled():
		return l.since.Add(s.linger)
	}
	var over time.Time
	for _, e := range l.unknown {
		over = sooner(over, s.until(e))
	}
	for _, e := range l.waiting {
		over = sooner(over, s.until(e))
		if e.isFresh() {
			next = sooner(next, l.since.Add(s.linger))
		} else {
			next = sooner(next, e.notBefore)
		}
	}
	if !next.IsZero() && next.Before(l.pause) {
		next = l.pause
	}
	if !s.hasRoom(l) {
		return over
	}
	return sooner(next, over)
}

// sooner is the earlier of two times, of which zero is never.
func sooner(a, b time.Time) time.Time {
	if a.IsZero() || !b.IsZero() && b.Before(a) {
		return b
	}
	return a
}

// arm has the owner flush at a time.
func (s *Settler) arm(next time.Time) {
	switch {
	case next.IsZero():
		if s.timer != nil {
			s.timer.Stop()
		}
	case s.timer == nil:
		s.timer = time.AfterFunc(time.Until(next), func() { s.owner.Do(func() {}) })
	default:
		s.timer.Reset(time.Until(next))
	}
}

// Idle reports whether nothing is left to do.
func (s *Settler) Idle() bool {
	return s.calls == 0 && !slices.ContainsFunc(s.lanes, func(l *lane) bool { return len(l.waiting) > 0 })
}

// Calls is how many calls are under way.
func (s *Settler) Calls() int { return s.calls }

// begin makes a call for a list, or none where it is given up.
func (s *Settler) begin(l *lane, list []*Entry, givenUp bool) {
	s.calls++
	c := &call{Settler: s, givenUp: givenUp, op: l.op, arn: l.arn, target: cmp.Or(s.cfg.QueueURL, l.arn), began: time.Now(), jobs: make([]job, len(list)), errs: make([]error, len(list))}
	for k, e := range list {
		c.jobs[k] = job{result: *e.Result, handle: e.Handle, receivedAt: e.ReceivedAt}
		if e.failure != nil {
			c.jobs[k].failure = *e.failure
		}
		c.errs[k] = errNoAnswer // until there is one
	}
	go func() {
		defer s.owner.Do(func() { s.answered(l, c, list) }) // also where Config.Client ends the goroutine
		c.make()
	}()
}

// answered takes how a call fared.
func (s *Settler) answered(l *lane, c *call, list []*Entry) {
	now := time.Now()
	s.calls--
	if !c.givenUp {
		l.calls--
		s.fared(l, c, now)
	}
	var again []*Entry
	goesOn := make([]bool, len(list))
	for k, e := range list {
		e.Result.VisibleIn = c.jobs[k].visibleIn
		switch {
		case l.op == opDelete && e.Handle != c.jobs[k].handle:
			// It was delivered again meanwhile: a delete by the handle before that has
			// no effect, although it may be answered with success.
			if goesOn[k] = true; sqserror.Gone(c.errs[k]) {
				c.errs[k] = nil
			}
		case c.errs[k] != nil:
			goesOn[k] = s.goesOn(l, c, e, c.errs[k], now)
		}
		if goesOn[k] {
			again = append(again, e)
		}
	}
	l.waiting = append(l.waiting, again...) // behind the others: they shall not wait for one that always fails
	l.again = l.again || len(again) > 0
	if l.since.IsZero() && len(again) > 0 {
		l.since = now
	}
	if l.op == opDelete {
		s.owner.Deleted(list, c.errs)
	}
	s.conclude(c, list, goesOn)
}

// goesOn reports whether an entry is tried again, of which SQS has not confirmed what a
// call was for.
func (s *Settler) goesOn(l *lane, c *call, e *Entry, err error, now time.Time) bool {
	passing, patient := sqserror.Passing(err), e.isPatient()
	if sqserror.Gone(err) || errors.Is(err, errTooLate) || !patient && (!passing || l.refused) {
		return false
	}
	f := e.ensureFailure()
	f.err, f.unsure = err, f.unsure || sqserror.Unsure(err)
	next := now
	if l.pause.After(now) { // for all of them
		next = l.pause
	}
	if f.notBefore = now; c.worked || l.failing == 0 {
		if f.tries++; f.tries >= maxTries && !patient && c.worked {
			return false
		}
		f.notBefore = now.Add(min(retryDelay<<min(f.tries-1, 10), s.longest))
		next = f.notBefore
	}
	until := s.until(e)
	return until.IsZero() || next.Before(until)
}

// conclude takes how the latest call for entries ended, after which none follows but for
// those that go on.
func (s *Settler) conclude(c *call, list []*Entry, goesOn []bool) {
	var over []*batch.Result
	for k, e := range list {
		if !goesOn[k] {
			over = append(over, e.Result)
		}
	}
	if s.poller && c.op == opVisibility { // a batch's are reported together, at its end
		s.Report(over)
	}
	for k, e := range list {
		if !goesOn[k] {
			s.finish(e, c, &c.jobs[k], c.errs[k])
		}
	}
	if s.poller && c.op == opSend {
		s.warnOrigins(over)
	}
}

// fared notes whether SQS answers the calls of a lane.
func (s *Settler) fared(l *lane, c *call, now time.Time) {
	unanswered := false
	for _, err := range c.errs {
		switch {
		case err == nil, errors.Is(err, errTooLate):
		case s.ctx.Err() == nil && diagnose(err).lasts:
			l.refused, l.failing, l.pause = true, 1, now.Add(refusedFor)
			if !s.poller {
				l.pause = now.Add(maxVisibility) // for the rest of the batch
			}
			return
		default:
			unanswered = unanswered || sqserror.Passing(err)
		}
	}
	switch {
	case c.worked:
		l.worked, l.failing, l.pause = now, 0, time.Time{}
	case unanswered && l.worked.Before(c.began) && !now.Before(l.pause): // else the call alone failed, or others with it
		delay := min(firstDelay<<min(l.failing, 10), s.longest)
		l.failing++
		l.pause = now.Add(delay/2 + rand.N(delay/2+1))
	}
}
