package longpoll

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/sqs"
	"github.com/sqsbatch/sqsbatch/batch"
	"github.com/sqsbatch/sqsbatch/internal/ctxkey"
	"github.com/sqsbatch/sqsbatch/internal/hooks"
	"github.com/sqsbatch/sqsbatch/internal/notify"
	"github.com/sqsbatch/sqsbatch/internal/runner"
	"github.com/sqsbatch/sqsbatch/internal/settle"
)

// Errors of [Poller.Run] and of records.
var (
	// ErrAbandoned is wrapped by the error when more handlers than
	// Config.MaxAbandoned were given up and still run: the process has to end.
	ErrAbandoned = errors.New("longpoll: too many handlers ignore the end of their context")
	// ErrRunTwice is returned when Run was called before on the same Poller.
	ErrRunTwice = errors.New("longpoll: Run was called before: make a new Poller")
	// ErrLost is a record's error when it was not started, because others may have
	// received it: its visibility could not be extended.
	ErrLost = runner.ErrLost
)

// Poller handles the records of one queue. Make it with [New]. Its methods are
// safe for concurrent use.
//
// One goroutine, the loop of Run, owns the fields from "Of the loop" on. It has set those
// that are fixed before it polls, and others read them from then on. Other
// goroutines make the calls to SQS and hand it the answers (see do), and the runner wakes
// it when records have finished. The loop never waits for SQS, handlers or hooks.
type Poller struct {
	cfg    Config
	engine *runner.Engine
	hooks  *hooks.Set

	begun     atomic.Bool     // Run was called
	stopping  context.Context // ends with the first Shutdown, and with Run's context
	stop      context.CancelFunc
	forced    context.Context // ends when a drain must not wait any longer
	force     context.CancelFunc
	started   chan struct{} // closed when SQS has answered the first receive
	over      chan struct{} // closed when Run has returned
	paused    atomic.Bool   // what Pause and Resume ask for
	most      atomic.Int64  // what SetConcurrency asks for
	events    chan func()   // for the loop
	callHooks notify.Queue  // of hooks, about calls to SQS
	notices   notify.Queue  // about all else

	// Of the loop, fixed.
	queue    queue
	policy   *settle.Policy // New's, which only validates, until the queue's URL is known
	runner   *runner.Runner
	settler  *settle.Settler // nil before it polls
	base     context.Context // of handlers and calls; ends when Run does
	endBase  context.CancelFunc
	beat     context.Context // of extensions; ends when nothing runs any more
	endBeat  context.CancelFunc
	flushing context.Context // of the settler's calls; ends in time before the end of a stop
	endFlush context.CancelFunc

	// Of the loop.
	phase     phase
	phaseEnds time.Time // when the next phase of a stop begins; zero before the stop
	fatal     error     // ends Run
	callsOpen int       // calls under way, see call
	pausing   bool      // paused, as the loop has seen it
	slots     int       // how many the runner may use; 0 while it starts nothing
	sweepAt   time.Time // when to look through what is held

	finished  []*runner.Delivery // used by collect
	returning []returning        // messages that come back, see handOver
	undeleted int                // messages done but not deleted
	intake    intake
	load      load
	aborts    aborts
	trouble   trouble
	counts    Counts
}

// phase is where a Poller stands in its life.
type phase int

const (
	created phase = iota
	starting
	polling
	draining  // what runs may go on, until DrainLimit is over
	canceling // what still runs was told to end, and has Engine.Grace for it
	settling  // no handler runs any more: the settler's last calls
	stopped
)

// New returns a Poller that passes each record to h. It returns an error that
// names every field whose value is out of its bounds. No call is made before Run.
func New(h batch.Handler, cfg Config) (*Poller, error) {
	cfg.setDefaults(h)
	p := &Poller{cfg: cfg, started: make(chan struct{}), over: make(chan struct{}), events: make(chan func())}
	p.most.Store(int64(cfg.Engine.Concurrency))
	p.stopping, p.stop = context.WithCancel(context.Background())
	p.forced, p.force = context.WithCancel(context.Background())
	p.load.byID = make(map[string]*message)
	engine, err := runner.New(h, cfg.Engine)
	if err == nil {
		p.engine, p.hooks = engine, engine.Hooks
		engine.Slots, engine.Weight = cfg.Slots, cfg.Weight
	}
	// One error names all mistakes, the settler's included.
	if err := errors.Join(cfg.validate(), err, p.newPolicy("")); err != nil {
		return nil, err
	}
	return p, nil
}

// newPolicy makes the policy for the queue, once its URL is known.
func (p *Poller) newPolicy(queueURL string) (err error) {
	p.policy, err = settle.New(settle.Config{
		Config: p.cfg.Failures, QueueURL: queueURL,
		Client: func(context.Context) (*sqs.Client, error) { return p.cfg.SQS, nil },
	})
	return err
}

// do has the loop call f. After its end nothing is done.
func (p *Poller) do(f func()) {
	select {
	case p.events <- f:
	case <-p.over:
	}
}

// onLoop calls f when nothing changes what the loop owns, also after its end, and
// reports whether it did: not before Run.
func (p *Poller) onLoop(f func()) bool {
	if !p.begun.Load() {
		return false
	}
	done := make(chan struct{})
	select {
	case p.events <- func() { f(); close(done) }:
		<-done
	case <-p.over:
		f()
	}
	return true
}

// Run polls until ctx ends or [Poller.Shutdown] is called, and then drains: it
// stops receiving, waits up to Config.DrainLimit for what runs, makes visible
// what was not started, deletes what is done, and returns nil. Whatever SQS,
// handlers and hooks do, it returns by DrainLimit, Engine.Grace and 4.1 s.
//
// It returns an error when the queue cannot be used at all (there is no such
// queue, or no permission, see [ConfigError]), when it was called before
// ([ErrRunTwice]), and when too many handlers had to be abandoned
// ([ErrAbandoned]). In the first and the last case it has drained before.
func (p *Poller) Run(ctx context.Context) error {
	if p.begun.Swap(true) {
		return ErrRunTwice
	}
	defer close(p.over)
	if p.stopping.Err() != nil {
		p.phase = stopped
		return nil
	}
	defer context.AfterFunc(ctx, p.stop)()
	base := context.WithValue(context.WithoutCancel(ctx), ctxkey.Stopping{}, p.stopping.Done())
	p.base, p.endBase = context.WithCancel(base)
	p.beat, p.endBeat = context.WithCancel(p.base)
	p.flushing, p.endFlush = context.WithCancel(p.base)
	p.runner = p.engine.NewRunner(p.base, runner.Options{
		AsksOwner:   true,
		LastAttempt: func(r *batch.Record) bool { return p.policy.LastAttempt(r) }, // the queue's own policy comes later
	})
	p.intake.open(p.base)
	p.phase = starting
	go p.begin(p.base)
	p.loop()
	p.end()
	return p.fatal
}

// loop handles what happens until the poller has stopped.
func (p *Poller) loop() {
	stop, force := p.stopping.Done(), p.forced.Done()
	timer := time.NewTimer(0)
	defer timer.Stop()
	for now := time.Now(); ; {
		timer.Reset(time.Until(p.due(now)))
		select {
		case f := <-p.events:
			f()
		case <-p.runner.Wake():
		case <-timer.C:
		case <-stop:
			stop = nil
			p.beginStop()
		case <-force:
			force = nil
		}
		p.collect()
		now = time.Now()
		if p.step(now) {
			return
		}
	}
}

// step does what is due, and reports whether the poller has stopped.
func (p *Poller) step(now time.Time) (over bool) {
	if p.fatal != nil {
		p.beginStop()
	}
	p.heedPause(now)
	p.sweep(now)
	p.intake.abandonLate(now)
	p.receiveMore()
	p.startOrPause(now)
	p.giveBackWaiting(now)
	p.drain(now)
	p.flush(now)
	return p.phase == stopped || p.phase == settling && p.settledAll(now)
}

// due is the earliest moment after now at which something is due, an hour from now if
// nothing is.
func (p *Poller) due(now time.Time) time.Time {
	next := now.Add(time.Hour)
	if len(p.load.byID) > 0 {
		next = p.sweepAt
	}
	for _, at := range []time.Time{
		p.phaseEnds, p.phaseEnds.Add(-lastAnswers), p.aborts.until, p.aborts.trialUntil, p.intake.notBefore, p.intake.endBy,
	} {
		if at.After(now) && at.Before(next) {
			next = at
		}
	}
	return next
}

// What the poller does depends on its phase, a pause, an abort, and deletes that fail:
//
//	                     starts, receives   gives back what waits   ends open receives
//	polling              yes                no                      no
//	paused               no                 yes                     yes
//	aborted              no                 yes                     no
//	too many undeleted   no                 no                      no
//	deletes refused      no                 yes                     no
//	stopping             no                 yes                     yes

// mayStart reports whether records may be started, and received.
func (p *Poller) mayStart(now time.Time) bool {
	return p.phase == polling && !p.pausing && !p.aborts.on(now) && !p.deletesHold()
}

// givesBack reports whether waiting records must go back to SQS.
func (p *Poller) givesBack(now time.Time) bool {
	return p.endsReceives() || p.aborts.on(now) || p.trouble.refused && p.deletesHold()
}

// endsReceives reports whether receiving has ended, for good or until Resume.
func (p *Poller) endsReceives() bool { return p.phase != polling || p.pausing }

// startOrPause tells the runner how many records, or FIFO groups, may run.
func (p *Poller) startOrPause(now time.Time) {
	slots := p.concurrency()
	switch {
	case !p.mayStart(now):
		slots = 0
	case p.aborts.trial(now):
		slots = 1
	}
	if slots == p.slots {
		return
	}
	p.slots = slots
	if slots > 0 {
		p.runner.Resume(slots)
	} else {
		p.runner.Pause()
	}
}

// concurrency is how many records, or FIFO groups, may run at a time.
func (p *Poller) concurrency() int { return int(p.most.Load()) }

// SetConcurrency changes how many records, or FIFO groups, are handled at a time:
// Config.Engine.Concurrency, 1 to 10,000. If it is fewer than run now, those go on. What
// was derived from it (Prefetch, MaxAbandoned) stays.
func (p *Poller) SetConcurrency(n int) error {
	if n < 1 || n > maxConcurrency {
		return fmt.Errorf("longpoll: Concurrency is %d, must be 1 to %d", n, maxConcurrency)
	}
	p.most.Store(int64(n))
	p.onLoop(func() {})
	return nil
}

// fail ends Run with an error.
func (p *Poller) fail(err error) { p.fatal = cmp.Or(p.fatal, err) }

// end ends all that belongs to Run.
func (p *Poller) end() {
	p.phase = stopped
	p.runner.Pause()
	p.runner.Leave()
	if p.settler != nil {
		p.settler.Stop()
	}
	p.endBase()
	late := time.Now()
	if p.phaseEnds.After(late) {
		late = p.phaseEnds
	}
	p.serve(late.Add(lastWords), p.noCalls, nil) // those that end with the contexts
	p.collect()
	p.giveBackWaiting(time.Now())
	p.reportLeft()
	for _, hooks := range []*notify.Queue{&p.callHooks, &p.notices} {
		p.serve(late.Add(2*lastWords), func() bool { return false }, hooks.Last())
	}
}

// noCalls reports whether no call to SQS is under way.
func (p *Poller) noCalls() bool {
	return p.callsOpen == 0 && (p.settler == nil || p.settler.Calls() == 0)
}

// serve does what the loop is asked for until over reports true or told is closed, at most
// until late, or a moment after the stop was told not to wait any longer.
func (p *Poller) serve(late time.Time, over func() bool, told <-chan struct{}) {
	timer := time.NewTimer(time.Until(late))
	defer timer.Stop()
	for force := p.forced.Done(); !over(); {
		select {
		case f := <-p.events:
			f()
		case <-told:
			return
		case <-force:
			force = nil
			timer.Reset(min(lastWords, time.Until(late)))
		case <-timer.C:
			return
		}
	}
}

// Started returns a channel that is closed when SQS has answered the first receive: the
// queue can be used. It is never closed if Run ends before.
func (p *Poller) Started() <-chan struct{} { return p.started }

// Shutdown stops the Poller and waits until [Poller.Run] has returned. When ctx
// ends before, the drain is cut short: what runs is cancelled, what is left is
// released, and ctx's error is returned. It may be called often, and before
// Run, which then returns at once.
func (p *Poller) Shutdown(ctx context.Context) error {
	p.stop()
	if !p.begun.Load() {
		return nil
	}
	select {
	case <-p.over:
		return nil
	default: // ctx may have ended as well
	}
	select {
	case <-p.over:
		return nil
	case <-ctx.Done():
	}
	p.force()
	<-p.over
	return ctx.Err()
}

// Pause stops receiving until [Poller.Resume], for when what the handler needs
// is down: what runs goes on, and what has not been started is made visible as soon as
// no receive is open that would take it again, after 0.2 s at most, or 2 s where
// one may be on its way with messages. It has no effect while the Poller stops.
func (p *Poller) Pause() {
	p.paused.Store(true)
	p.onLoop(func() {})
}

// Resume begins receiving again after [Poller.Pause].
func (p *Poller) Resume() {
	p.paused.Store(false)
	p.onLoop(func() {})
}

// heedPause does what Pause and Resume ask for.
func (p *Poller) heedPause(now time.Time) {
	paused := p.paused.Load()
	if paused == p.pausing || !paused && p.intake.ctx.Err() != nil && p.intake.ending(now) {
		return // or SQS has not noticed yet that receives were abandoned
	}
	p.pausing = paused
	switch {
	case p.phase != polling:
	case paused: // also where nothing waits: a receive must not bring anything now
		p.intake.endSoon(now)
	default:
		p.intake.open(p.base)
	}
}

// StopTakes is the longest that [Poller.Run] takes to return when it was told
// to stop: DrainLimit, what handlers may take after the end of their contexts,
// and 4 s for settling.
func (p *Poller) StopTakes() time.Duration {
	return p.cfg.DrainLimit + p.cfg.Engine.Grace + flushTimeout
}

// warn tells the hooks of a warning.
func (p *Poller) warn(w batch.Warning) {
	w.Queue = batch.QueueName(p.cfg.Queue)
	p.notices.Notify(func() { p.hooks.Warn(context.WithoutCancel(p.base), w) })
}

// called tells the hooks of a call.
func (p *Poller) called(c batch.Call) {
	if p.hooks.Calls {
		p.callHooks.Notify(func() { p.hooks.Called(context.WithoutCancel(p.base), c) })
	}
}
