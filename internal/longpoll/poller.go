package longpoll

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/sqs"
	"github.com/sqsbatch/sqsbatch/batch"
	"github.com/sqsbatch/sqsbatch/internal/ctxkey"
	"github.com/sqsbatch/sqsbatch/internal/hooks"
	"github.com/sqsbatch/sqsbatch/internal/runner"
	"github.com/sqsbatch/sqsbatch/internal/settle"
	"github.com/sqsbatch/sqsbatch/internal/sleep"
)

// Errors of [Poller.Run] and of records.
var (
	// ErrAbandoned is returned when more than Config.MaxAbandoned handlers were abandoned
	// and still run. The process should end, so that the platform starts a new one. Run's
	// error wraps it.
	ErrAbandoned = errors.New("handler: too many handlers ignore the end of their context")
	// ErrRunTwice is returned when Run is called a second time on the same Poller.
	ErrRunTwice = errors.New("handler: Run was called before: make a new Poller")
	// ErrLost is returned when a record was not started because others may have received
	// it: its visibility could not be extended. The record's error wraps it.
	ErrLost = runner.ErrLost
)

// Poller handles the records of one queue. Make it with [New]. Its methods are safe for
// concurrent use.
type Poller struct {
	cfg    Config
	engine *runner.Engine
	hooks  *hooks.Set

	begun    atomic.Bool     // Run was called
	stopping context.Context // ends with the first Shutdown or with Run's context
	stop     context.CancelFunc
	forced   context.Context // ends when a drain must not wait any longer
	force    context.CancelFunc
	started  chan struct{} // closed when SQS has answered the first receive
	over     chan struct{} // closed when Run has returned
	changed  chan struct{} // has a value when a worker has news, or the poller has stopped
	outcomes hooks.Queue   // notifications of BatchSettled
	notices  hooks.Queue   // notifications of the other hooks that workers do not call

	// mu guards all fields from here on, the runner and the settler. Those with news take it:
	// workers that have finished a record, and goroutines with SQS's answers (see do). The loop
	// of Run then takes it for each step. Nobody waits for SQS, handlers or hooks with it. The
	// following fields are set before the poller polls; from then on they are read without it.
	mu       sync.Mutex
	queue    queue
	policy   *settle.Policy
	runner   *runner.Runner
	settler  *settle.Settler // nil before it polls
	base     context.Context // context of handlers and calls; ends when Run does
	endBase  context.CancelFunc
	beat     context.Context // context of extensions; ends when no handler runs any more
	endBeat  context.CancelFunc
	flushing context.Context // context of the settler's calls; ends before the end of a stop
	endFlush context.CancelFunc

	phase     phase
	phaseEnds time.Time   // when the next phase of a stop begins; zero before the stop
	fatal     error       // the error that ends Run
	callsOpen int         // calls that are open, see call
	most      int         // records, or FIFO groups, at the same time
	paused    bool        // set by Pause and Resume
	pausing   bool        // the pause is in effect, see heedPause
	timer     *time.Timer // wakes the loop when something is due
	sweepAt   time.Time   // when sweep is due

	releases  []*runner.Delivery // to be given to the settler, see settleReleases
	undeleted int                // messages handled but not deleted
	intake    intake
	load      load
	aborts    aborts
	trouble   trouble
	counts    batch.Counts
}

// New returns a Poller that passes each record to h. It makes no call to
// SQS; Run does.
func New(h batch.Handler, cfg Config) *Poller {
	cfg = cfg.WithDefaults(h)
	p := &Poller{cfg: cfg, hooks: hooks.New(cfg.Hooks), started: make(chan struct{}), over: make(chan struct{}), changed: make(chan struct{}, 1),
		most: cfg.Engine.Concurrency, load: load{byID: map[string]*runner.Delivery{}}}
	p.stopping, p.stop = context.WithCancel(context.Background())
	p.forced, p.force = context.WithCancel(context.Background())
	p.engine = runner.New(h, cfg.Engine, p.hooks)
	p.engine.Slots, p.engine.Priority = cfg.Slots, cfg.Priority
	p.policy = settle.New(settle.Config{Config: cfg.Failures, Client: func(context.Context) (*sqs.Client, error) { return cfg.SQS, nil }})
	return p
}

// Run polls until ctx ends or [Poller.Shutdown] is called. Then it drains: it stops
// receiving, waits up to Config.DrainLimit for running handlers, releases records that were
// not started, deletes handled records, and returns nil. A drain takes at most DrainLimit,
// Engine.Grace and 4.1 s, whatever SQS, handlers and hooks do.
//
// Run returns an error in three cases: the queue does not exist or SQS denies access to it
// ([ConfigError]); too many handlers were abandoned ([ErrAbandoned]); Run was called before
// ([ErrRunTwice]). In the first two cases it drains before it returns.
func (p *Poller) Run(ctx context.Context) error {
	if p.begun.Swap(true) {
		return ErrRunTwice
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	defer close(p.over)
	if p.stopping.Err() != nil || ctx.Err() != nil {
		p.phase = stopped
		return nil
	}
	defer context.AfterFunc(ctx, p.stop)()
	base := context.WithValue(context.WithoutCancel(ctx), ctxkey.Client{}, p.policy)
	base = context.WithValue(base, ctxkey.Stopping{}, p.stopping.Done())
	p.base, p.endBase = context.WithCancel(base)
	p.beat, p.endBeat = context.WithCancel(p.base)
	p.flushing, p.endFlush = context.WithCancel(p.base)
	p.runner = p.engine.NewRunner(p.base, runner.Options{
		Lock: &p.mu, Wake: p.changed, Single: true, Finished: p.finished, Decide: p.decide,
		LastAttempt: p.policy.LastAttempt,
	})
	p.intake.open(p.base)
	p.timer = time.NewTimer(0)
	p.phase = starting
	go p.startPolling(p.base)
	p.loop()
	p.countAbandoned() // the last step may have given up some
	p.end()
	return p.fatal
}

// loop makes a step whenever something has changed or is due, until the poller has stopped.
func (p *Poller) loop() {
	stop, force := p.stopping.Done(), p.forced.Done()
	defer p.timer.Stop()
	for !p.step() {
		p.mu.Unlock()
		select {
		case <-p.changed:
		case <-p.timer.C:
		case <-stop: // step begins it
			stop = nil
		case <-force:
			force = nil
		}
		p.mu.Lock()
	}
}

// step does everything that is due, and reports whether the poller has stopped.
func (p *Poller) step() (over bool) {
	now := time.Now()
	if p.phase == stopped {
		return true
	}
	p.countAbandoned()
	if p.fatal != nil || p.stopping.Err() != nil {
		p.beginStop()
	}
	p.heedPause(now)
	p.sweep(now)
	p.intake.abandonLate(now)
	p.receiveMore()
	p.startOrPause(now)
	p.releaseWaiting(now)
	p.drain(now)
	p.flush(now)
	p.timer.Reset(time.Until(p.due(now)))
	return p.phase == stopped || p.phase == settling && p.settledAll(now)
}

// countAbandoned ends Run with ErrAbandoned if too many abandoned handlers still run.
func (p *Poller) countAbandoned() {
	if n := p.runner.Count().Abandoned; n > p.cfg.MaxAbandoned {
		p.fail(fmt.Errorf("%w: %d abandoned handlers still run, more than MaxAbandoned allows (%d; with package handler: SQSBATCH_MAX_ABANDONED). The process ends, so that the platform starts a new one",
			ErrAbandoned, n, p.cfg.MaxAbandoned))
	}
}

// due returns the earliest time after now at which something is due, or an hour from now.
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

// SetConcurrency changes how many records, or FIFO groups, are handled at the same time
// (Config.Engine.Concurrency). If more are running, they go on. Prefetch and MaxAbandoned stay
// as they are, even if their defaults were derived from it.
func (p *Poller) SetConcurrency(n int) { p.do(func() { p.most = n }) }

// end ends everything that belongs to Run.
func (p *Poller) end() {
	p.phase = stopped
	p.runner.Pause()
	p.runner.Leave()
	p.endBase()
	late := time.Now()
	if p.phaseEnds.After(late) {
		late = p.phaseEnds
	}
	p.await(late.Add(lastWords), p.noCalls) // calls that end with the contexts
	p.releaseWaiting(time.Now())
	p.reportLeft()
	for _, queue := range []*hooks.Queue{&p.outcomes, &p.notices} {
		called := false
		queue.Notify(func() { p.do(func() { called = true }) })
		p.await(late.Add(2*lastWords), func() bool { return called })
	}
}

// noCalls reports whether no call to SQS is open.
func (p *Poller) noCalls() bool {
	return p.callsOpen == 0 && (p.settler == nil || p.settler.Calls() == 0)
}

// await lets others have the lock until over returns true. It ends at late, or a moment after the
// stop was forced.
func (p *Poller) await(late time.Time, over func() bool) {
	for force := p.forced.Done(); !over() && time.Now().Before(late); {
		p.mu.Unlock()
		select {
		case <-p.changed:
		case <-force:
			force = nil
			late = late.Add(min(0, lastWords-time.Until(late)))
		case <-time.After(time.Until(late)):
		}
		p.mu.Lock()
	}
}

// Started returns a channel that is closed when SQS has answered the first receive: the
// queue can be used. If Run ends before that, the channel is never closed.
func (p *Poller) Started() <-chan struct{} { return p.started }

// Shutdown stops the Poller and waits until [Poller.Run] has returned. If ctx ends first,
// Shutdown cuts the drain short: running handlers are cancelled, other records are
// released, and ctx's error is returned. It may be called several times. If it is called
// before Run, Run returns at once.
func (p *Poller) Shutdown(ctx context.Context) error {
	p.stop()
	if !p.begun.Load() {
		return nil
	}
	if sleep.Closed(ctx, p.over) {
		return nil
	}
	p.force()
	<-p.over
	return ctx.Err()
}

// Pause stops receiving until [Poller.Resume]. Use it while a dependency of the handler is
// down. Running handlers go on. Records that were not started are released as soon as no
// open receive could take them again: after 0.2 s at most, or 2 s if a receive may be about
// to return messages. Pause has no effect while the Poller stops.
func (p *Poller) Pause() { p.do(func() { p.paused = true }) }

// Resume starts receiving again after [Poller.Pause].
func (p *Poller) Resume() { p.do(func() { p.paused = false }) }

// heedPause applies the latest Pause or Resume.
func (p *Poller) heedPause(now time.Time) {
	if p.paused == p.pausing || !p.paused && p.intake.ctx.Err() != nil && p.intake.ending(now) {
		return // or SQS may not have noticed yet that receives were abandoned
	}
	p.pausing = p.paused
	switch {
	case p.phase != polling:
	case p.pausing: // also if no record waits: an open receive must not return messages now
		p.intake.endSoon(now)
	default:
		p.intake.open(p.base)
	}
}

// StopTakes returns the longest time that [Poller.Run] takes to return after a stop began:
// DrainLimit, the time that handlers may take after the end of their contexts, and 4 s for
// settling.
func (p *Poller) StopTakes() time.Duration { return p.cfg.StopTakes() }
