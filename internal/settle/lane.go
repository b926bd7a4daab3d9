package settle

import (
	"cmp"
	"errors"
	"iter"
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
	// lastDelay bounds both: they double.
	lastDelay = 4 * time.Second
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
	since   time.Time // since when they linger; zero where they shall not
	later   []*Entry  // those that wait for a time of their own
	calls   int       // under way
	worked  time.Time // when SQS last answered
	failing int       // calls in a row that were not answered
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
		l := s.lane(op, e.record().QueueARN)
		l.waiting = append(l.waiting, e)
		if len(l.waiting) == 1 {
			l.since = time.Now()
		}
	}
}

// all are the entries for which no call is under way.
func (l *lane) all() iter.Seq[*Entry] {
	return func(yield func(*Entry) bool) {
		for _, list := range [][]*Entry{l.waiting, l.later} {
			for _, e := range list {
				if !yield(e) {
					return
				}
			}
		}
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
	for k := 0; k < len(s.lanes); k++ { // what is given up in one may wait in another
		l := s.lanes[k]
		s.giveUp(l, now)
		if l.ripen(now) {
			l.since = time.Time{}
		}
		full := all || now.Sub(l.since) >= s.linger
		for s.free(l, now) && (len(l.waiting) >= maxEntries || full && len(l.waiting) > 0) {
			n := min(len(l.waiting), maxEntries)
			if l.op == opSend {
				n = fitting(l.waiting[:n])
			}
			list := l.waiting[:n:n]
			l.waiting = l.waiting[n:]
			s.begin(l, list)
		}
		if len(l.waiting) == 0 {
			l.waiting = nil
		}
	}
	for _, l := range s.lanes {
		next = sooner(next, s.due(l))
	}
	s.arm(next)
}

// free reports whether another call may begin.
func (s *Settler) free(l *lane, now time.Time) bool { return s.hasRoom(l) && !now.Before(l.pause) }

func (s *Settler) hasRoom(l *lane) bool {
	return l.calls < s.maxCalls && (l.failing == 0 || l.calls == 0)
}

// ripen has those wait for a call whose time has come, and reports whether there are any.
func (l *lane) ripen(now time.Time) bool {
	n := len(l.later)
	l.later = slices.DeleteFunc(l.later, func(e *Entry) bool {
		if e.notBefore.After(now) {
			return false
		}
		l.waiting = append(l.waiting, e)
		return true
	})
	return len(l.later) < n
}

// troubled reports whether something of l may have to be given up.
func (l *lane) troubled() bool { return l.failing > 0 || l.refused || len(l.later) > 0 }

// Hurry has everything tried now that waits for a time, once.
func (s *Settler) Hurry() {
	for _, l := range s.lanes {
		l.pause = time.Time{}
		for _, e := range l.later {
			e.notBefore = time.Time{}
		}
	}
}

// giveUp finishes what shall be tried no longer.
func (s *Settler) giveUp(l *lane, now time.Time) {
	if !l.troubled() {
		return
	}
	if l.refused && !l.pause.After(now) {
		l.refused = false
	}
	over := func(e *Entry) bool {
		until := s.until(e)
		return l.refused && !e.isPatient() || !until.IsZero() && !now.Before(until)
	}
	list := slices.DeleteFunc(slices.Collect(l.all()), func(e *Entry) bool { return !over(e) })
	l.waiting, l.later = slices.DeleteFunc(l.waiting, over), slices.DeleteFunc(l.later, over)
	c := &call{op: l.op, target: s.target(l), jobs: make([]job, len(list)), errs: make([]error, len(list))}
	for k, e := range list {
		c.errs[k], c.jobs[k].visibleIn = errRefused, e.Result.VisibleIn
		if e.failure != nil && e.err != nil {
			c.errs[k] = e.err
		}
	}
	s.conclude(c, list, nil)
}

func (e *Entry) isPatient() bool { return e.failure == nil || e.patient }

// until is when no try of an entry begins any more; zero for never.
func (s *Settler) until(e *Entry) time.Time {
	if e.failure == nil {
		return s.by
	}
	return sooner(e.until, s.by)
}

// due is when the next call of a lane begins, or something of it is to be given up, if
// SQS answers nothing before; zero for never.
func (s *Settler) due(l *lane) (next time.Time) {
	if len(l.waiting) > 0 && s.hasRoom(l) {
		next = l.since.Add(s.linger)
		if l.pause.After(next) {
			next = l.pause
		}
	}
	if !l.troubled() {
		return next
	}
	for e := range l.all() {
		next = sooner(next, s.until(e))
	}
	for _, e := range l.later {
		next = sooner(next, e.notBefore)
	}
	return next
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
	return s.calls == 0 && !slices.ContainsFunc(s.lanes, func(l *lane) bool { return len(l.waiting)+len(l.later) > 0 })
}

// Calls is how many calls are under way.
func (s *Settler) Calls() int { return s.calls }

// Left yields the entries for which no call is under way.
func (s *Settler) Left() iter.Seq[*Entry] {
	return func(yield func(*Entry) bool) {
		for _, l := range s.lanes {
			for e := range l.all() {
				if !yield(e) {
					return
				}
			}
		}
	}
}

// begin makes a call for a list.
func (s *Settler) begin(l *lane, list []*Entry) {
	l.calls++
	s.calls++
	c := &call{Settler: s, op: l.op, arn: l.arn, target: s.target(l), began: time.Now(), jobs: make([]job, len(list)), errs: make([]error, len(list))}
	for k, e := range list {
		c.jobs[k] = job{result: *e.Result, handle: e.Handle, receivedAt: e.ReceivedAt, failure: e.snapshot()}
		c.errs[k] = errNoAnswer // until there is one
	}
	go func() {
		defer s.owner.Do(func() { s.answered(l, c, list) }) // also where a backoff ends the goroutine
		c.make()
	}()
}

// answered takes how a call fared.
func (s *Settler) answered(l *lane, c *call, list []*Entry) {
	now := time.Now()
	l.calls--
	s.calls--
	s.fared(l, c, now)
	if l.op == opDelete {
		s.owner.Deleted(list, c.errs)
	}
	var again []*Entry
	goesOn := make([]bool, len(list))
	for k, e := range list {
		err := c.errs[k]
		e.Result.VisibleIn = c.jobs[k].visibleIn
		switch {
		case l.op == opDelete && e.Handle != c.jobs[k].handle:
			// It was delivered again meanwhile: a delete by the handle before that has
			// no effect, although it may be answered with success.
			again, goesOn[k] = append(again, e), true
		case err == nil, errors.Is(err, errTooLate):
		case !c.worked && l.failing > 0 && s.worthWaiting(l, e, err):
			e.more().err, e.unsure = err, e.unsure || sqserror.Unsure(err)
			again, goesOn[k] = append(again, e), true
		default:
			goesOn[k] = s.tryAgain(l, c, e, err, now)
		}
	}
	if len(again) > 0 {
		l.waiting = append(again, l.waiting...)
		l.since = time.Time{} // they have waited
	}
	s.conclude(c, list, goesOn)
}

// conclude takes how the latest call for entries ended, after which none follows but for
// those that go on.
func (s *Settler) conclude(c *call, list []*Entry, goesOn []bool) {
	var over []*batch.Result
	for k, e := range list {
		if goesOn == nil || !goesOn[k] {
			over = append(over, e.Result)
		}
	}
	if s.patience > 0 && c.op == opVisibility { // a batch's are reported together, at its end
		s.Report(over)
	}
	for k, e := range list {
		if goesOn == nil || !goesOn[k] {
			s.finish(e, c, &c.jobs[k], c.errs[k])
		}
	}
	if s.patience > 0 && c.op == opSend {
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
			if s.cfg.Delete != DeleteAlways {
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
		delay := min(firstDelay<<min(l.failing, 10), lastDelay)
		l.failing++
		l.pause = now.Add(delay/2 + rand.N(delay/2+1))
	}
}

// worthWaiting reports whether an entry is tried again once SQS answers.
func (s *Settler) worthWaiting(l *lane, e *Entry, err error) bool {
	until := s.until(e)
	return (e.isPatient() || sqserror.Passing(err) && !l.refused) && (until.IsZero() || l.pause.Before(until))
}

// tryAgain has an entry tried again by itself, unless that is to no purpose.
func (s *Settler) tryAgain(l *lane, c *call, e *Entry, err error, now time.Time) bool {
	passing, patient := sqserror.Passing(err), e.isPatient()
	if sqserror.Gone(err) || !passing && !patient {
		return false
	}
	f := e.more()
	if c.worked || !passing {
		if f.tries++; f.tries >= maxTries && !patient {
			return false
		}
	}
	f.notBefore = now.Add(min(retryDelay<<min(max(f.tries-1, 0), 10), lastDelay))
	if until := s.until(e); !until.IsZero() && !f.notBefore.Before(until) {
		return false
	}
	f.err, f.unsure = err, f.unsure || !c.worked && sqserror.Unsure(err)
	l.later = append(l.later, e)
	return true
}

// target is what a lane's calls are made to, as far as it is known before.
func (s *Settler) target(l *lane) string { return cmp.Or(s.cfg.QueueURL, l.arn) }
