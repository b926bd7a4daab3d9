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
	ErrLost = runner.ErrLeaseExpired
)

// Poller handles the records of one queue. Make it with [New]. Its methods are
// safe for concurrent use.
//
// One goroutine, the loop of Run, owns what is below. Calls to SQS are made by
// goroutines of their own, which hand it what SQS answered (see do); the runner wakes
// it when records have finished. It never waits for SQS, handlers or hooks.
type Poller struct {
	cfg    Config
	engine *runner.Engine
	hooks  *hooks.Set
	policy *settle.Policy

	begun   atomic.Bool   // Run was called
	stop    chan struct{} // closed by the first Shutdown
	force   chan struct{} // closed when a drain shall not wait any longer
	running chan struct{} // closed when the loop has begun
	over    chan struct{} // closed when Run has returned
	closing sync.Mutex    // of these
	paused  atomic.Bool
	events  chan func()  // for the loop
	calls   notify.Queue // of hooks, about calls to SQS
	notices notify.Queue // about all else

	// Of the loop.
	queue     queue
	runner    *runner.Runner
	settler   *settle.Settler // nil before it polls
	base      context.Context // of handlers and calls; ends when Run does
	endBase   context.CancelFunc
	beat      context.Context // of extensions; ends when nothing runs any more
	endBeat   context.CancelFunc
	flushing  context.Context // of the settler's calls; ends in time before the end of a stop
	endFlush  context.CancelFunc
	flushEnds *time.Timer // nil unless it drains
	phase     phase
	fatal     error // ends Run
	calling   int   // calls under way, see call
	long      bool  // the stop may take longer than platforms give it, because of the grace
	pausing   bool  // what Pause asks for is done
	started   bool  // the runner starts what waits, as far as it has slots
	slots     int   // how many it uses
	timer     *time.Timer
	sweepAt   time.Time // when to look through what is held; zero for never

	list     []*runner.Delivery // that have finished
	intake   intake
	load     load
	aborts   aborts
	settling settling
	drain    drain
	trouble  trouble
	counts   Counts
}

// phase is where a Poller stands in its life.
type phase int

const (
	created phase = iota
	starting
	polling
	draining
	stopped
)

// New returns a Poller that passes each record to h. It returns an error that
// names every field whose value is out of its bounds. No call is made before Run.
func New(h batch.Handler, cfg Config) (*Poller, error) {
	ownGrace := cfg.Engine.Grace != 0
	cfg.setDefaults(h)
	p := &Poller{
		stop: make(chan struct{}), force: make(chan struct{}), running: make(chan struct{}), over: make(chan struct{}), events: make(chan func()),
	}
	p.load.byID = make(map[string]*message)
	engine, err := runner.New(h, cfg.Engine)
	p.cfg, p.engine = cfg, engine
	p.long = ownGrace && cfg.DrainLimit+cfg.Engine.Grace > drainAndGrace
	if err == nil {
		p.hooks = engine.Hooks()
	}
	// All that is wrong is told at once, the settler's part too.
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

// ask calls f when nothing changes what the loop owns, also after its end, and
// reports whether it did: not before Run.
func (p *Poller) ask(f func()) bool {
	select {
	case <-p.running:
	default:
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
	select {
	case <-p.stop:
		p.phase = stopped
		close(p.running)
		return nil
	default:
	}
	p.base, p.endBase = context.WithCancel(context.WithoutCancel(ctx))
	p.beat, p.endBeat = context.WithCancel(p.base)
	p.flushing, p.endFlush = context.WithCancel(p.base)
	p.runner = p.engine.NewRunner(p.base, runner.Options{Decides: true})
	p.intake.open(p.base)
	p.phase = starting
	p.timer = time.NewTimer(time.Hour)
	defer p.timer.Stop()
	close(p.running)
	p.warnLong()
	stopping, ready := context.WithCancel(ctx)
	defer ready()
	go p.begin(stopping)
	p.loop(ctx)
	ready()
	p.end()
	return p.fatal
}

func (p *Poller) warnLong() {
	if p.long {
		p.warn(batch.Warning{Message: fmt.Sprintf("queue %s: a stop takes up to %v: DrainLimit is %v, Engine.Grace %v (with package handler: SQSBATCH_DRAIN_LIMIT, SQSBATCH_GRACE). "+
			"The platform must not kill before that (stopTimeout of Amazon ECS, terminationGracePeriodSeconds of Kubernetes; 30 s by default)",
			p.cfg.Queue, p.cfg.stopTime(), p.cfg.DrainLimit, p.cfg.Engine.Grace)})
	}
}

// loop handles what happens until the poller has stopped.
func (p *Poller) loop(ctx context.Context) {
	stop, force, ended := p.stop, p.force, ctx.Done()
	for now := time.Now(); ; {
		p.arm(now)
		select {
		case f := <-p.events:
			f()
		case <-p.runner.Wake():
		case <-p.timer.C:
		case <-stop:
			stop, ended = nil, nil
			p.beginStop()
		case <-ended:
			stop, ended = nil, nil
			p.beginStop()
		case <-force:
			force = nil
			p.drain.forced = true
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
	p.heedPause()
	p.sweep(now)
	p.checkHold(now)
	p.afterAbort(now)
	p.receiveMore()
	p.startOrHold(now)
	p.giveBackWaiting(now)
	if p.fatal != nil && p.phase < draining {
		p.beginStop()
	}
	p.flush(now)
	return p.phase == stopped || p.phase == draining && p.drained(now)
}

// arm sets the timer for the earliest moment after now at which something is due.
func (p *Poller) arm(now time.Time) {
	next := time.Time{}
	for _, at := range []time.Time{
		p.sweepAt, p.settling.holdUntil, p.aborts.next(now), p.intake.notBefore, p.drain.next(p),
	} {
		if at.After(now) && (next.IsZero() || at.Before(next)) {
			next = at
		}
	}
	if next.IsZero() {
		p.timer.Stop()
		return
	}
	p.timer.Reset(time.Until(next))
}

// startOrHold has the runner start what waits, unless nothing is to be started.
func (p *Poller) startOrHold(now time.Time) {
	may, slots := p.mayStart(now), p.slotsNow(now)
	if may == p.started && slots == p.slots {
		return
	}
	p.started, p.slots = may, slots
	if may {
		p.runner.Resume(slots)
	} else {
		p.runner.Pause()
	}
}

func (p *Poller) mayStart(now time.Time) bool {
	return p.phase == polling && p.fatal == nil && !p.pausing && !p.aborts.on(now) && !p.deletesHold(now)
}

// fail ends Run with an error.
func (p *Poller) fail(err error) {
	if p.fatal == nil {
		p.fatal = err
	}
}

// end ends all that belongs to Run.
func (p *Poller) end() {
	p.phase = stopped
	p.runner.Pause()
	if p.settler != nil {
		p.settler.Stop()
	}
	if p.flushEnds != nil {
		p.flushEnds.Stop()
	}
	p.endBeat()
	p.endFlush()
	p.endBase()
	late := p.drain.endBy
	if now := time.Now(); late.Before(now) {
		late = now
	}
	p.serveCalls(late.Add(lastWords)) // what ends with the contexts
	p.collect()
	p.tellLeft()
	p.serveCalls(late.Add(2 * lastWords))
	for _, n := range []*notify.Queue{&p.calls, &p.notices} {
		p.serveHooks(n.Last(), late.Add(2*lastWords))
	}
}

// serveCalls does what the loop is asked for until no call is under way, at most until
// late.
func (p *Poller) serveCalls(late time.Time) {
	timer := time.NewTimer(time.Until(late))
	defer timer.Stop()
	for p.calling > 0 || p.settler != nil && p.settler.Calls() > 0 {
		select {
		case f := <-p.events:
			f()
		case <-timer.C:
			return
		}
	}
}

// serveHooks does what the loop is asked for until hooks have been told, at most until
// late, or a moment after the stop was told not to wait any longer.
func (p *Poller) serveHooks(told <-chan struct{}, late time.Time) {
	timer := time.NewTimer(time.Until(late))
	defer timer.Stop()
	for force := p.force; ; {
		select {
		case f := <-p.events:
			f()
		case <-told:
			return
		case <-force:
			force = nil
			timer.Reset(lastWords)
		case <-timer.C:
			return
		}
	}
}

// Shutdown stops the Poller and waits until [Poller.Run] has returned. When ctx
// ends before, the drain is cut short: what runs is cancelled, what is left is
// released, and ctx's error is returned. It may be called often, and before
// Run, which then returns at once.
func (p *Poller) Shutdown(ctx context.Context) error {
	p.close(p.stop)
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
	p.close(p.force)
	<-p.over
	return ctx.Err()
}

// close closes c unless it is closed.
func (p *Poller) close(c chan struct{}) {
	p.closing.Lock()
	defer p.closing.Unlock()
	select {
	case <-c:
	default:
		close(c)
	}
}

// Pause stops receiving until [Poller.Resume], for when what the handler needs
// is down: what runs goes on, and what has not been started is made visible as soon as
// no receive is open that would take it again, after 0.2 s at most, or 2 s where
// one may be on its way with messages. It has no effect while the Poller stops.
func (p *Poller) Pause() {
	p.paused.Store(true)
	p.ask(func() {})
}

// Resume begins receiving again after [Poller.Pause].
func (p *Poller) Resume() {
	p.paused.Store(false)
	p.ask(func() {})
}

// heedPause does what Pause and Resume ask for.
func (p *Poller) heedPause() {
	paused := p.paused.Load()
	if paused == p.pausing {
		return
	}
	p.pausing = paused
	if p.phase != polling {
		return
	}
	if !paused {
		p.intake.open(p.base)
		return
	}
	p.holdBack() // also where nothing waits: a receive must not bring anything now
}

// StopTakes is the longest that [Poller.Run] takes to return when it was told
// to stop: DrainLimit, what handlers may take after the end of their contexts,
// and 4 s for settling.
func (p *Poller) StopTakes() time.Duration {
	return p.cfg.DrainLimit + p.cfg.Engine.Grace + flushTimeout
}

// notify has f called, which calls hooks.
func (p *Poller) notify(f func()) { p.notices.Notify(f) }

// warn tells the hooks of a warning.
func (p *Poller) warn(w batch.Warning) {
	w.Queue = batch.QueueName(p.cfg.Queue)
	p.notify(func() { p.hooks.Warn(context.WithoutCancel(p.base), w) })
}

// called tells the hooks of a call.
func (p *Poller) called(c batch.Call) {
	if p.hooks.WantsCalls() {
		p.calls.Notify(func() { p.hooks.Called(context.WithoutCancel(p.base), c) })
	}
}
