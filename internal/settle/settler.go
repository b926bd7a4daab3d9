package settle

import (
	"context"
	"sync"
	"time"

	"github.com/sqsbatch/sqsbatch/batch"
	"github.com/sqsbatch/sqsbatch/partialfailure"
)

// Owner is whose settler it is: the goroutine of an invocation, or a poller's loop. The
// settler and its entries belong to that goroutine.
type Owner interface {
	// Do has f called by the owner's goroutine, unless that has ended. It is called by
	// others.
	Do(f func())
	// Called tells of a call to SQS. It is called by others, and must not block.
	Called(c batch.Call)
	// Warn tells what an operator should know. It must not block.
	Warn(w batch.Warning)
	// Deleted tells how a call fared that deletes: errs has each entry's error, nil where SQS
	// confirmed it. Those that are tried again are not settled yet.
	Deleted(list []*Entry, errs []error)
	// Settled tells that nothing more is done about an entry by itself. A poller deletes what
	// went to the dead-letter queue.
	Settled(e *Entry)
}

// An Entry is a record to be settled. Its owner sets the fields before it gives it to the
// settler.
type Entry struct {
	// Result is where what became of the record goes. Its Record is the record.
	Result *batch.Result
	// Handle is the receipt handle. It may be set anew while a delete waits: the delete
	// is made, or made again, with the latest.
	Handle string
	// ReceivedAt is when the message was received; zero if that is not known.
	ReceivedAt time.Time
	// Owner is the owner's, who else has no way from here to what it keeps.
	Owner any

	*failure // nil for a poller's delete that has not failed
}

// failure is what an entry needs whose record comes back, or of which a call failed.
type failure struct {
	group       *group
	hiddenUntil time.Time // when SQS shows it by itself at the latest; zero if that is not known
	showAt      time.Time // when to show what was not started; zero for at once
	first       *batch.Record
	until       time.Time                // no try begins later; zero for the settler's
	patient     bool                     // it is tried until it is settled
	notBefore   time.Time                // the next try; zero for the first
	tries       int                      // that SQS answered with a failure
	unsure      bool                     // a try may have had its effect, although it failed
	err         error                    // of the latest try
	inPlace     func(gone *batch.Result) // who waits for a send; nil for nobody
	sending     bool                     // for them
}

func (e *Entry) record() *batch.Record { return e.Result.Record }

// ensureFailure returns e's failure, which it makes if need be.
func (e *Entry) ensureFailure() *failure {
	if e.failure == nil {
		e.failure = &failure{patient: true}
	}
	return e.failure
}

// A group is a failure, or a record that was not started, and the records that were skipped
// because of it. They come back
// together, so that a FIFO group is not blocked by some of its records.
type group struct {
	entries   []*Entry
	failedAt  time.Time
	decide    func(began time.Time) // sets visibleIn, for a call; it may wait, and call the user's code. nil where it is 0
	decided   sync.Once
	visibleIn time.Duration // counted from failedAt
	abandoned bool          // the first one's handler may still be at work
}

// Settler tells SQS what became of the records of one owner.
type Settler struct {
	*Policy
	owner    Owner
	ctx      context.Context // of calls
	asks     context.Context // of questions about queues
	stopAsks context.CancelFunc
	settleBy time.Time // when calls end; zero for never
	lastTry  time.Time // no try begins later; zero for never
	poller   bool
	patience time.Duration // for which a poller tries a failure
	linger   time.Duration
	longest  time.Duration // between two tries
	maxCalls int           // under way in a lane
	began    time.Time

	lanes   []*lane
	calls   int                      // under way, questions included
	inPlace map[*batch.Record]*Entry // for which a group waits: sends, and questions before them
	timer   *time.Timer
	causes  map[string]time.Time // that were told, and when
	late    bool                 // the time was over before a call was answered
}

// placePatience is how long a FIFO group waits on Lambda for one of it to be dead-lettered.
const placePatience = 12 * time.Second

// settler makes one for an owner whose calls end with ctx.
func (p *Policy) settler(ctx context.Context, owner Owner, settleBy time.Time) *Settler {
	s := &Settler{
		Policy: p, owner: owner, ctx: ctx, settleBy: settleBy, linger: batchLinger, longest: lastDelay, maxCalls: batchCalls, began: time.Now(),
		inPlace: map[*batch.Record]*Entry{}, causes: map[string]time.Time{},
	}
	if !settleBy.IsZero() {
		s.lastTry = settleBy.Add(-lastWord)
	}
	s.asks, s.stopAsks = context.WithCancel(ctx)
	return s
}

// NewSettler returns the settler of a poller, whose calls end with ctx. What fails is
// tried for as long as patience says.
func (p *Policy) NewSettler(ctx context.Context, owner Owner, patience time.Duration) *Settler {
	s := p.settler(ctx, owner, time.Time{})
	s.poller, s.patience, s.linger, s.maxCalls = true, patience, pollerLinger, pollerCalls
	return s
}

// Delete deletes a record that is done with. It is tried until SQS has answered that
// the record is gone.
func (s *Settler) Delete(e *Entry) {
	e.failure = nil
	s.enqueue(opDelete, e)
}

// Release makes a record visible that was not started: at a time, zero for at once, but no
// sooner than after a failure if that is later, since this delivery counts as an attempt.
// first is the one that came first of what was received together: those of a FIFO group
// come back together. It is tried until hiddenUntil, when SQS shows the record by itself.
func (s *Settler) Release(e *Entry, at time.Time, first *batch.Record, hiddenUntil time.Time) {
	e.failure = &failure{showAt: at, first: first, until: hiddenUntil, patient: true}
	s.enqueue(opVisibility, e)
}

// Postpone puts off what [Settler.Release] was given and no call is under way for, until at.
func (s *Settler) Postpone(at time.Time) {
	for _, l := range s.lanes {
		for _, e := range l.waiting {
			if l.op == opVisibility && e.group == nil && e.showAt.Before(at) {
				e.showAt = at
			}
		}
	}
}

// Fail takes a failure, and what was skipped for it: it is sent to the dead-letter queue,
// dropped, or made visible again after its backoff. hiddenUntil is when SQS shows an
// abandoned one by itself at the latest: it is not shown sooner, since its handler may
// still be at work. In a poller no failure is tried later. Zero stands for the queue's
// visibility timeout after the settler began.
func (s *Settler) Fail(hiddenUntil time.Time, list ...*Entry) {
	first, now := list[0], time.Now()
	g := &group{entries: list, failedAt: first.Result.Started.Add(first.Result.Duration)}
	if first.Result.Outcome == batch.NotStarted {
		g.failedAt = now
	}
	for _, e := range list {
		e.failure = &failure{group: g, hiddenUntil: hiddenUntil, until: s.tryUntil(now, hiddenUntil)}
	}
	if placed := s.inPlace[first.record()]; placed != nil {
		delete(s.inPlace, first.record())
		placed.inPlace = nil
		if placed.sending { // what SQS says to that decides
			placed.Result, placed.Handle, placed.ReceivedAt, placed.Owner = first.Result, first.Handle, first.ReceivedAt, first.Owner
			placed.group, placed.hiddenUntil, placed.until = g, hiddenUntil, first.until
			g.entries[0] = placed
			return
		}
	}
	switch s.onPermanent(batch.VerdictOf(first.Result.Err)) {
	case partialfailure.DeadLetter:
		s.send(first)
	case partialfailure.Drop:
		s.gone(first, batch.Dropped, "")
	default:
		s.comeBack(g, true)
	}
}

// comeBack has the whole group come back, at once or after its backoff.
func (s *Settler) comeBack(g *group, backoff bool) {
	first := *g.entries[0].Result // a copy, for the goroutine of the call
	g.abandoned = first.Outcome == batch.Abandoned
	var answered <-chan struct{}
	if s.cfg.MaxReceiveCount == 0 && (backoff && s.cfg.Backoff == nil || first.Record.Attempt > 1) || g.abandoned {
		answered, _ = s.ask(first.Record.QueueARN)
	}
	g.decide = func(began time.Time) {
		if backoff || g.abandoned {
			s.wait(answered, began)
		}
		if backoff {
			g.visibleIn = s.backoff(first.Record, batch.VerdictOf(first.Err), g.failedAt)
		}
	}
	s.show(g.entries)
}

// show has failures made visible.
func (s *Settler) show(list []*Entry) {
	for _, e := range list {
		e.until = s.tryUntil(time.Now(), e.hiddenUntil)
	}
	s.enqueue(opVisibility, list...)
}

// tryUntil is until when a failure of now is tried: in a poller not after others may have
// the record. Zero stands for the batch's own time.
func (s *Settler) tryUntil(now, hiddenUntil time.Time) time.Time {
	if !s.poller {
		return time.Time{}
	}
	return sooner(now.Add(s.patience), hiddenUntil)
}

// gone takes a failure that is out of the way of those skipped because of it: they come
// back at once.
func (s *Settler) gone(e *Entry, outcome batch.Outcome, queue string) {
	e.Result.Outcome, e.Result.DeadLetterQueue = outcome, queue
	e.group.decide, e.group.abandoned = nil, false
	s.show(e.group.entries[1:])
	s.owner.Settled(e)
}

// DeadLetter dead-letters a record of a FIFO group in place: it sends the record to the
// dead-letter queue, or drops it, if it failed for good or for the last time before SQS
// would move it there, so that the records behind it are handled in the same delivery.
// They were delivered as often as it was, and SQS would move them with the next delivery,
// although no handler has seen them.
//
// done is told what became of the record once SQS has confirmed it, or nil if it has
// failed. It is called by the owner's goroutine, and not if the record is given to
// [Settler.Fail] before.
func (s *Settler) DeadLetter(e *Entry, done func(gone *batch.Result)) {
	policy, arn := s.onPermanent(batch.VerdictOf(e.Result.Err)), e.record().QueueARN
	_, known := s.maxReceiveCount(arn)
	switch {
	case policy == partialfailure.Drop:
		e.Result.Outcome = batch.Dropped
		done(e.Result)
		return
	case policy == partialfailure.Retry && (s.cfg.OnPermanent == partialfailure.Retry || known && !s.LastAttempt(e.record())):
		done(nil)
		return
	}
	e.failure = &failure{inPlace: done}
	s.inPlace[e.record()] = e
	if policy == partialfailure.DeadLetter || s.cfg.MaxReceiveCount > 0 {
		s.sendInPlace(e)
		return
	}
	s.whenKnown(arn, policyWait, func() {
		switch {
		case e.inPlace == nil: // it was given to Fail
		case s.LastAttempt(e.record()):
			s.sendInPlace(e)
		default:
			delete(s.inPlace, e.record())
			done(nil)
		}
	})
}

func (s *Settler) sendInPlace(e *Entry) {
	wait := placePatience
	if s.poller {
		wait = s.patience
	}
	e.until, e.sending = time.Now().Add(wait), true
	s.send(e)
}

// sent takes what became of a send. Only what SQS confirms is out of its own queue.
func (s *Settler) sent(e *Entry, queue string, err error) {
	switch done := e.inPlace; {
	case done != nil:
		delete(s.inPlace, e.record())
		if err != nil {
			done(nil)
			return
		}
		e.Result.Outcome, e.Result.DeadLetterQueue = batch.DeadLettered, queue
		done(e.Result)
	case err != nil:
		s.comeBack(e.group, true)
	default:
		s.gone(e, batch.DeadLettered, queue)
	}
}

// finish takes how the latest call for an entry ended, after which none follows.
func (s *Settler) finish(e *Entry, c *call, j *job, err error) {
	if err != nil {
		s.refuse(c.op, c.target, err)
	}
	switch c.op {
	case opSend:
		s.sent(e, c.queue.url, err)
	case opVisibility:
		e.Result.VisibleIn, e.Result.VisibilitySet = j.visibleIn, err == nil && !j.left
		s.owner.Settled(e)
	case opDelete:
		e.Result.Deleted, e.Result.DeleteErr = err == nil, err
		s.owner.Settled(e)
	}
}

// Withdraw takes back what [Settler.DeadLetter] was given. It reports false where that is too
// late, since the record is being sent.
func (s *Settler) Withdraw(r *batch.Record) (ok bool) {
	placed := s.inPlace[r]
	if placed == nil {
		return true
	}
	if !placed.sending {
		delete(s.inPlace, r)
		placed.inPlace = nil
	}
	return !placed.sending
}

// Stop ends what waits for a time.
func (s *Settler) Stop() {
	s.stopAsks()
	s.arm(time.Time{})
}
