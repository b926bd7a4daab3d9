package settle

import (
	"context"
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
	// Deleted is called with the result of a call that deletes: errs has each entry's
	// error, nil if SQS confirmed the delete. Entries that will be retried are not settled
	// yet.
	Deleted func(list []*Entry, errs []error)
	// Settled is called when the settler is finished with an entry. A poller then deletes
	// records that went to the dead-letter queue.
	Settled func(e *Entry)
}

// Entry is a delivery to be settled. Its Result is updated with what happened to the record.
type Entry struct {
	*runner.Delivery
	// Latest is the record as SQS delivered it last. Calls use its receipt handle, and
	// count the 12 hours that SQS allows from its time. It may be replaced while a delete
	// waits: the delete is then made, or repeated, with the new handle.
	Latest *batch.Record

	tries   *tries   // nil until the settler is given the entry: what is in flight does not have to hold it
	inPlace *inPlace // nil unless its FIFO group waits for it
}

// tries says how long an entry is retried, and has the results of its calls.
type tries struct {
	group   *group    // that it comes back with, the owner's; nil for a delete, and while its FIFO group waits for it
	until   time.Time // no try begins later; zero for the settler's
	patient bool      // it is tried until it is settled, whatever SQS answers
	due     time.Time // when it is tried; zero for when it has lingered
	lingers bool      // it may be tried sooner, with others
	count   int       // that SQS answered with a failure
	unsure  bool      // a try may have had its effect, although it failed
	err     error     // of the latest try
}

// group is a set of records that come back together, so that a FIFO group is not blocked by
// some of its records: a failure with the records that were skipped because of it, or one
// record that was not started. It is written before its first call.
type group struct {
	entries     []*Entry
	failedAt    time.Time     // or released
	hiddenUntil time.Time     // when SQS shows it by itself at the latest; zero if that is not known
	visibleIn   time.Duration // counted from failedAt; of a failure
	released    *batch.Record // which Postpone delays; nil for none
}

// inPlace is what an entry has for which its FIFO group waits.
type inPlace struct {
	done    func(gone bool)
	sending bool // else its queue is asked whether it is to be sent
}

// Settler reports to SQS the outcomes of one owner's records.
type Settler struct {
	*Policy
	tuning
	owner    Callbacks
	ctx      context.Context // of calls
	asks     context.Context // of questions about queues
	stopAsks context.CancelFunc
	lastTry  time.Time     // no try begins later; zero for never
	showAt   time.Time     // when releases come back; zero for at once
	longest  time.Duration // between two tries
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
	linger     time.Duration // for which an entry waits for nine others to share its call
	maxCalls   int           // under way in a lane
	refusedFor time.Duration // for which no call is made after an error that lasts, such as a missing permission
	placeFor   time.Duration // for which a FIFO group waits for one of it to be dead-lettered
	failureFor time.Duration // for which a failure is tried; 0 for as long as the settler has
	reports    bool          // of each call's records; a batch's are reported together, at its end
}

// batchTuning makes no call of an operation that was refused. It has so many calls that
// 10,000 records are released within the reserve of a long function.
var batchTuning = tuning{linger: 50 * time.Millisecond, maxCalls: 16, refusedFor: MaxVisibility, placeFor: 12 * time.Second}

// failureTimeout limits how long a poller retries calls about a failure.
const failureTimeout = 10 * time.Second

var pollTuning = tuning{
	linger: 100 * time.Millisecond, maxCalls: 32, refusedFor: 5 * time.Second, placeFor: failureTimeout, failureFor: failureTimeout, reports: true,
}

// NewSettler returns the settler of a poller, whose calls end with ctx.
func (p *Policy) NewSettler(ctx context.Context, owner Callbacks) *Settler {
	return p.settler(ctx, owner, pollTuning)
}

// settler makes one for an owner whose calls end with ctx.
func (p *Policy) settler(ctx context.Context, owner Callbacks, t tuning) *Settler {
	s := &Settler{
		timer:  time.AfterFunc(time.Hour, func() { owner.Do(func() {}) }), // see arm
		Policy: p, tuning: t, owner: owner, ctx: ctx, longest: lastDelay, began: time.Now(),
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
func (s *Settler) Delete(e *Entry) {
	e.tries = &tries{patient: true}
	s.enqueue(opDelete, e)
}

// Release makes a record visible that was not started: at once, or later after
// [Settler.Postpone]. first is the first record of those that were received together: the
// records of a FIFO group come back together; nil means at once in any case. It is retried until
// hiddenUntil, when SQS itself shows the record.
func (s *Settler) Release(e *Entry, first *batch.Record, hiddenUntil time.Time) {
	e.tries = &tries{group: &group{failedAt: time.Now(), released: first}, until: hiddenUntil, patient: true}
	s.enqueue(opVisibility, e)
}

// Postpone has records that are released before at come back then. They come back no sooner than
// after a failure, since this delivery counts as an attempt.
func (s *Settler) Postpone(at time.Time) { s.showAt = at }

// visibleIn is when a group comes back, counted from its failedAt.
func (s *Settler) visibleIn(g *group) time.Duration {
	if g.released == nil || !s.showAt.After(g.failedAt) {
		return g.visibleIn
	}
	return WholeSeconds(max(s.showAt.Sub(g.failedAt), s.Backoff(g.released, g.failedAt)))
}

// Fail settles a failure, and the records that were skipped because of it: they are sent to
// the dead-letter queue, dropped, or made visible again after their backoff.
//
// hiddenUntil is when SQS itself shows an abandoned record at the latest. Such a record is
// not shown sooner, since its handler may still be running. In a poller no failure is
// retried later than that. Zero means the queue's visibility timeout, counted from when the
// settler began.
func (s *Settler) Fail(hiddenUntil time.Time, list ...*Entry) {
	first := list[0]
	g := &group{entries: list, failedAt: first.Result.Started.Add(first.Result.Duration), hiddenUntil: hiddenUntil}
	if first.Result.Outcome == batch.NotStarted {
		g.failedAt = time.Now()
	}
	sending := !s.Withdraw(first)
	first.inPlace = nil
	for _, e := range list {
		if t := s.failureTries(g); sending && e == first {
			e.tries.group, e.tries.until = g, t.until
		} else {
			e.tries = t
		}
	}
	if sending { // SQS's answer decides
		for _, l := range s.lanes { // the entry is in one of them, or waits for its queue's answer
			l.until = sooner(l.until, first.tries.until)
		}
		return
	}
	switch s.onPermanent(first.Verdict.Verdict) {
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
	first := g.entries[0]
	r, abandoned := first.Result.Record, first.Result.Outcome == batch.Abandoned
	show := func() {
		if backoff {
			g.visibleIn = s.backoff(r, first.Verdict.Verdict, g.failedAt)
		}
		if abandoned && s.hiddenAnyway(g) {
			s.Leave(g.entries...)
		} else {
			s.show(g.entries)
		}
	}
	asks := s.cfg.MaxReceiveCount == 0 && (backoff && s.cfg.Backoff == nil || r.Attempt > 1) || abandoned
	if asks && (backoff || abandoned) {
		s.whenKnown(r.QueueARN, show)
		return
	}
	show()
	if asks {
		s.whenKnown(r.QueueARN, func() {}) // for note
	}
}

// hiddenAnyway reports whether SQS hides a group for longer than its backoff, so that no call is
// made: the handler of its first record was abandoned and may still be at work.
func (s *Settler) hiddenAnyway(g *group) bool {
	until := g.hiddenUntil
	if queue, _ := s.queues.known(g.entries[0].Result.Record.QueueARN); until.IsZero() && queue.visibility > 0 {
		until = s.began.Add(queue.visibility) // it was received before that
	}
	return until.IsZero() || !g.failedAt.Add(g.visibleIn).After(until)
}

// Leave leaves failures to SQS, which shows them when their visibility timeout ends.
func (s *Settler) Leave(list ...*Entry) {
	s.noteEntries(list)
	for _, e := range list {
		s.owner.Settled(e)
	}
}

// noteEntries is note, unless a batch does that at its end.
func (s *Settler) noteEntries(list []*Entry) {
	if s.reports {
		s.note(len(list), func(i int) *batch.Result { return list[i].Result })
	}
}

// show has failures made visible.
func (s *Settler) show(list []*Entry) {
	for _, e := range list {
		e.tries = s.failureTries(e.tries.group)
		s.enqueue(opVisibility, e)
	}
}

// failureTries returns new tries for a failure. A poller does not try once others may have
// the record.
func (s *Settler) failureTries(g *group) *tries {
	if s.failureFor == 0 {
		return &tries{group: g}
	}
	return &tries{group: g, until: sooner(time.Now().Add(s.failureFor), g.hiddenUntil)}
}

// gone finishes a failure that was dead-lettered or dropped. The records that were skipped
// because of it come back at once.
func (s *Settler) gone(e *Entry, outcome batch.Outcome, queue string) {
	e.Result.Outcome, e.Result.DeadLetterQueue = outcome, queue
	s.show(e.tries.group.entries[1:])
	s.owner.Settled(e)
}

// DeadLetter dead-letters a record of a FIFO group in place: it sends the record to the
// dead-letter queue, or drops it, if it failed for good or for the last time before SQS
// would move it there. The records behind it are then handled in the same delivery. They
// were delivered as often as it was, so SQS would move them with the next delivery,
// although no handler has seen them.
//
// done is called with the lock: with true when SQS has confirmed it, or with false
// if the record has failed. It is not called if the entry is passed to [Settler.Fail] first.
func (s *Settler) DeadLetter(e *Entry, done func(gone bool)) {
	r := e.Result.Record
	policy := s.onPermanent(e.Verdict.Verdict)
	if policy == partialfailure.Drop {
		e.Result.Outcome = batch.Dropped
		done(true)
		return
	}
	p := &inPlace{done: done}
	e.inPlace = p
	decide := func() {
		switch {
		case e.inPlace != p: // it was given to Fail
		case policy == partialfailure.DeadLetter || s.LastAttempt(r):
			p.sending = true
			e.tries = &tries{until: time.Now().Add(s.placeFor), due: time.Now()} // it does not linger: a group waits
			s.send(e)
		default:
			e.inPlace = nil
			done(false)
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
func (s *Settler) sent(e *Entry, queue string, err error) {
	p := e.inPlace
	e.inPlace = nil
	switch {
	case p != nil && err != nil:
		p.done(false)
	case p != nil:
		e.Result.Outcome, e.Result.DeadLetterQueue = batch.DeadLettered, queue
		p.done(true)
	case err != nil:
		s.comeBack(e.tries.group, true)
	default:
		s.gone(e, batch.DeadLettered, queue)
	}
}

// finish handles the result of the last call for an entry.
func (s *Settler) finish(c *call, k int) {
	e, j, err := c.entries[k], &c.jobs[k], c.errs[k]
	if err != nil {
		s.warnOf(c.op, c.target, err)
	}
	switch c.op {
	case opSend:
		if err == nil && j.noOrigin != nil {
			s.owner.Warn(batch.Warning{
				MessageID: e.Result.Record.MessageID, Err: j.noOrigin,
				Message: "the record's dead letter has no attribute " + partialfailure.OriginAttribute + ": only its body shows which record it was",
			})
		}
		s.sent(e, c.queue.url, err)
	case opVisibility:
		e.Result.VisibilitySet = err == nil
		s.owner.Settled(e)
	case opDelete:
		e.Result.Deleted, e.Result.DeleteErr = err == nil, err
		s.owner.Settled(e)
	}
}

// Withdraw takes back an entry that was passed to [Settler.DeadLetter]. It returns false if
// that is too late, because the record is being sent.
func (s *Settler) Withdraw(e *Entry) (ok bool) {
	if e.inPlace != nil && e.inPlace.sending {
		return false
	}
	e.inPlace = nil
	return true
}
