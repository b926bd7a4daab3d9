package settle

import (
	"context"
	"slices"
	"sync/atomic"
	"time"

	"github.com/sqsbatch/sqsbatch/batch"
	"github.com/sqsbatch/sqsbatch/internal/runner"
	"github.com/sqsbatch/sqsbatch/partialfailure"
)

// Callbacks are the functions that a settler calls. Its owner is an invocation or a poller. Its
// methods need the owner's lock, with which it calls Warn, Deleted and Settled.
type Callbacks struct {
	// Do calls f with the owner's lock, unless the owner has ended. It is called without it.
	Do func(f func())
	// Called is called after each call to SQS, without the lock. It must not block.
	Called func(c batch.Call)
	// Warn is called with warnings. It must not block.
	Warn func(w batch.Warning)
	// Deleted is called with the result of a call that deletes: errs has each delivery's
	// error, nil if SQS confirmed the delete. Deliveries that will be retried are not settled
	// yet.
	Deleted func(list []*runner.Delivery, errs []error)
	// Settled is called when the settler is finished with a delivery. A poller then deletes
	// records that went to the dead-letter queue.
	Settled func(d *runner.Delivery)
}

// Settler reports to SQS the outcomes of one owner's records.
type Settler struct {
	*Policy
	tuning
	owner    Callbacks
	ctx      context.Context // of calls
	asks     context.Context // of questions about queues
	stopAsks context.CancelFunc
	lastTry  time.Time // no try begins later; zero for never
	showAt   time.Time // when releases come back; zero for at once
	hurried  bool      // see Hurry
	began    time.Time

	lanes   []*lane
	calls   atomic.Int32        // under way, questions included; the owner subtracts
	waiting map[string][]func() // for what a queue says about itself, see whenKnown
	timer   *time.Timer
	causes  map[string]time.Time // that were reported, with the time
	late    bool                 // the time was over before a call was answered
}

// tuning is in what a poller's settler differs from a batch's.
type tuning struct {
	linger     time.Duration // for which a delivery waits for nine others to share its call
	maxCalls   int           // under way in a lane
	refusedFor time.Duration // for which no call is made after an error that lasts, such as a missing permission
	placeFor   time.Duration // for which a FIFO group waits for one of it to be dead-lettered
	failureFor time.Duration // for which a failure is tried; 0 for as long as the settler has
	reports    bool          // of each call's records; a batch's are reported together, at its end
}

// For which a delivery waits for nine others: on Lambda, while handlers run, and in a container.
const (
	BatchLinger = 50 * time.Millisecond
	PollLinger  = 100 * time.Millisecond
)

// batchTuning makes no call of an operation that was refused. It has so many calls that
// 10,000 records are released within the reserve of a long function.
var batchTuning = tuning{linger: BatchLinger, maxCalls: 16, refusedFor: MaxVisibility, placeFor: 12 * time.Second}

// failureTimeout limits how long a poller retries calls about a failure.
const failureTimeout = 10 * time.Second

var pollTuning = tuning{
	linger: PollLinger, maxCalls: 32, refusedFor: 5 * time.Second, placeFor: failureTimeout, failureFor: failureTimeout, reports: true,
}

// NewSettler returns the settler of a poller, whose calls end with ctx.
func (p *Policy) NewSettler(ctx context.Context, owner Callbacks) *Settler {
	return p.settler(ctx, owner, pollTuning)
}

// settler returns a Settler; ctx bounds its calls.
func (p *Policy) settler(ctx context.Context, owner Callbacks, t tuning) *Settler {
	s := &Settler{
		timer:  time.AfterFunc(time.Hour, func() { owner.Do(func() {}) }), // see arm
		Policy: p, tuning: t, owner: owner, ctx: ctx, began: time.Now(),
		waiting: map[string][]func(){}, causes: map[string]time.Time{},
	}
	if end, ok := ctx.Deadline(); ok {
		s.lastTry = end.Add(-lastWord)
	}
	s.asks, s.stopAsks = context.WithCancel(ctx)
	s.timer.Stop()
	return s
}

// Delete deletes a record. It is retried until SQS has answered that the record is gone.
func (s *Settler) Delete(d *runner.Delivery) {
	d.Settling = &runner.Settling{Patient: true}
	s.enqueue(opDelete, d)
}

// Release makes a record visible: at once, or at the time of [Settler.Postpone], unless
// [Settler.Hurry] was called. It is retried until d.HiddenUntil, when SQS itself shows the record.
func (s *Settler) Release(d *runner.Delivery) {
	d.Settling = &runner.Settling{FailedAt: time.Now(), Postponed: !s.hurried, Until: d.HiddenUntil, Patient: true}
	s.enqueue(opVisibility, d)
}

// Postpone delays records that are released before at until then. They come back no sooner than
// after a failure, since this delivery counts as an attempt.
func (s *Settler) Postpone(at time.Time) { s.showAt = at }

// visibleIn returns when a record comes back, counted from its FailedAt.
func (s *Settler) visibleIn(d *runner.Delivery) time.Duration {
	t := d.Settling
	if !t.Postponed || !s.showAt.After(t.FailedAt) {
		return t.VisibleIn
	}
	return WholeSeconds(max(s.showAt.Sub(t.FailedAt), s.Backoff(d.First, t.FailedAt)))
}

// Fail settles a failure, and the records of its [runner.Delivery.Group], which were skipped because
// of it: they are sent to the dead-letter queue, dropped, or made visible again after their backoff.
//
// The record of an abandoned handler is not shown before SQS shows it itself (ShownBy, or else the
// queue's visibility timeout, counted from when the settler began), since its handler may still be
// running. A poller tries no failure later than that.
func (s *Settler) Fail(head *runner.Delivery) {
	sending := s.Sending(head)
	if !sending {
		head.Settling = &runner.Settling{}
	}
	until := s.tryUntil(head)
	head.Settling.FailedAt, head.Settling.Until = head.Result.Started.Add(head.Result.Duration), until
	if sending { // SQS's answer decides
		for _, l := range s.lanes { // the record is in the one of sends, or waits for its queue's answer
			l.until = sooner(l.until, until)
		}
		return
	}
	switch s.onPermanent(head.Verdict.Verdict) {
	case partialfailure.DeadLetter:
		s.send(head)
	case partialfailure.Drop:
		s.gone(head, batch.Dropped, "")
	default:
		s.comeBack(head, true)
	}
}

// tryUntil returns when calls for a failed group end: no call is made once others may have it.
func (s *Settler) tryUntil(head *runner.Delivery) (until time.Time) {
	if s.failureFor > 0 {
		until = sooner(time.Now().Add(s.failureFor), shownBy(head))
	}
	return until
}

// shownBy returns when SQS shows the records of a group at the latest; zero if that is not known.
func shownBy(head *runner.Delivery) (latest time.Time) {
	for d := range head.Group() {
		latest = later(latest, d.ShownBy)
	}
	return latest
}

// comeBack has a group come back, at once or after its backoff.
func (s *Settler) comeBack(head *runner.Delivery, backoff bool) {
	r, abandoned := head.Result.Record, head.Result.Outcome == batch.Abandoned
	show := func() {
		if backoff {
			head.Settling.VisibleIn = s.Wait(r, head.Verdict.Verdict, head.Settling.FailedAt)
		}
		if abandoned && s.hiddenAnyway(head) {
			s.Leave(slices.Collect(head.Group())...)
		} else {
			s.show(head)
		}
	}
	asks := s.cfg.MaxReceiveCount == 0 && (backoff && s.cfg.Backoff == nil || r.Attempt > 1) || abandoned
	if asks && (backoff || abandoned) {
		s.whenKnown(r.QueueARN, show)
		return
	}
	show()
	if asks {
		s.whenKnown(r.QueueARN, func() {}) // note tells the attempts that are left
	}
}

// hiddenAnyway reports whether SQS hides a group for longer than its backoff, so that no call is
// made: the handler of its first record was abandoned and may still be at work. It is true if nobody
// knows for how long SQS hides the group.
func (s *Settler) hiddenAnyway(head *runner.Delivery) bool {
	until := shownBy(head)
	if queue, _ := s.queues.known(head.Result.Record.QueueARN); until.IsZero() && queue.visibility > 0 {
		until = s.began.Add(queue.visibility) // it was received before that
	}
	return until.IsZero() || !head.Settling.FailedAt.Add(head.Settling.VisibleIn).After(until)
}

// Leave leaves failures to SQS, which shows them when their visibility timeout ends.
func (s *Settler) Leave(list ...*runner.Delivery) {
	s.noteAll(list)
	for _, d := range list {
		s.owner.Settled(d)
	}
}

// noteAll calls note. A batch calls it at its end instead.
func (s *Settler) noteAll(list []*runner.Delivery) {
	if s.reports {
		s.note(len(list), func(i int) *batch.Result { return list[i].Result })
	}
}

// show makes the records of a group visible, except a head that is gone.
func (s *Settler) show(head *runner.Delivery) {
	t, until := head.Settling, s.tryUntil(head)
	for d := range head.Group() {
		if !d.Result.Outcome.Done() {
			d.Settling = &runner.Settling{FailedAt: t.FailedAt, VisibleIn: t.VisibleIn, Until: until}
			s.enqueue(opVisibility, d)
		}
	}
}

// gone finishes a failure that was dead-lettered or dropped. The records that were skipped
// because of it come back at once.
func (s *Settler) gone(head *runner.Delivery, outcome batch.Outcome, queue string) {
	head.Result.Outcome, head.Result.DeadLetterQueue = outcome, queue
	s.show(head)
	s.owner.Settled(head)
}

// DeadLetter dead-letters a record of a FIFO group in place: it sends the record to the
// dead-letter queue, or drops it, if it failed for good or for the last time before SQS
// would move it there. The records behind it are then handled in the same delivery. They
// were delivered as often as it was, so SQS would move them with the next delivery,
// although no handler has seen them.
//
// It then calls [runner.Delivery.Resolve], unless the record is passed to [Settler.Fail] first.
func (s *Settler) DeadLetter(d *runner.Delivery) {
	r := d.Result.Record
	policy := s.onPermanent(d.Verdict.Verdict)
	if policy == partialfailure.Drop {
		d.Result.Outcome = batch.Dropped
		d.Resolve(true)
		return
	}
	decide := func() {
		switch {
		case d.State != runner.Deciding: // it was given to Fail
		case policy == partialfailure.DeadLetter || s.LastAttempt(r):
			d.Settling = &runner.Settling{Sending: true, Until: time.Now().Add(s.placeFor), Due: time.Now()} // it does not linger: a group waits
			s.send(d)
		default:
			d.Resolve(false)
		}
	}
	_, known := s.maxReceiveCount(r.QueueARN)
	if policy == partialfailure.DeadLetter || s.cfg.OnPermanent == partialfailure.Retry || s.cfg.MaxReceiveCount > 0 || known && r.Attempt <= 1 {
		decide() // the queue's answer about the last attempt is not needed
	} else {
		s.whenKnown(r.QueueARN, decide)
	}
}

// sent handles the result of a send. A record leaves its queue only if SQS confirmed the send.
func (s *Settler) sent(d *runner.Delivery, queue string, err error) {
	d.Settling.Sending = false
	switch deciding := d.State == runner.Deciding; {
	case deciding && err != nil:
		d.Resolve(false)
	case deciding:
		d.Result.Outcome, d.Result.DeadLetterQueue = batch.DeadLettered, queue
		d.Resolve(true)
	case err != nil:
		s.comeBack(d, true)
	default:
		s.gone(d, batch.DeadLettered, queue)
	}
}

// finish handles the result of the last call for a delivery.
func (s *Settler) finish(c *call, k int) {
	d, j, err := c.list[k], &c.jobs[k], c.errs[k]
	if err != nil {
		s.warnOf(c.op, c.target, err)
	}
	switch c.op {
	case opSend:
		if err == nil && j.noOrigin != nil {
			s.owner.Warn(batch.Warning{
				MessageID: d.Result.Record.MessageID, Err: j.noOrigin,
				Message: "the record's dead letter has no attribute " + partialfailure.OriginAttribute + ": only its body shows which record it was",
			})
		}
		s.sent(d, c.queue.url, err)
	case opVisibility:
		d.Result.VisibilitySet = err == nil
		s.owner.Settled(d)
	case opDelete:
		d.Result.Deleted, d.Result.DeleteErr = err == nil, err
		s.owner.Settled(d)
	}
}

// Sending reports whether [Settler.DeadLetter] sends d, and SQS has not answered.
func (s *Settler) Sending(d *runner.Delivery) bool { return d.Settling != nil && d.Settling.Sending }
