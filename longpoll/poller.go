package longpoll

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/sqsbatch/sqsbatch/batch"
	"github.com/sqsbatch/sqsbatch/partialfailure"
)

// Errors of [Poller.Run].
var (
	// ErrAbandoned is returned when more than Config.MaxAbandoned handlers were
	// still running that had been given up. The process should end: what they
	// hold cannot be freed.
	ErrAbandoned = errors.New("longpoll: too many handlers ignore the end of their context")
	// ErrRunTwice is returned when Run was called before on the same Poller.
	ErrRunTwice = errors.New("longpoll: Run was called before: make a new Poller")
)

// Poller handles the records of one queue. Make it with [New]. Its methods are
// safe for concurrent use.
type Poller struct {
	cfg     Config
	engine  *batch.Engine
	settler *partialfailure.Settler
	hooks   *batch.Hooks
	queue   queue // set by Run before it polls

	stop    chan struct{} // closed by the first Shutdown
	force   chan struct{} // closed when a drain shall not wait any longer
	over    chan struct{} // closed when Run has returned
	changed chan struct{} // has a value after something that a drain waits for
	unable  chan struct{} // closed by fail

	base     context.Context // of handlers and calls; ends when Run does
	endBase  context.CancelFunc
	beat     context.Context // of extensions; ends when nothing runs any more
	endBeat  context.CancelFunc
	flushing context.Context // of settlements; ends in time before the end of a stop
	endFlush context.CancelFunc
	routines routines // goroutines of calls and hooks

	mu     sync.Mutex
	phase  phase
	paused bool
	// Until when nothing is received or started, see abort.
	abortedUntil time.Time
	probeUntil   time.Time // and then one at a time, see probing
	abortTimer   *time.Timer
	fatal        error     // ends Run
	endBy        time.Time // when a stop waits for nothing any more
	long         bool      // the stop may take longer than platforms give it, because of the grace

	intake   intake
	load     load
	settling settling
	trouble  trouble
	counts   Counts
	sweep    *time.Timer // runs while something is held
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
		stop: make(chan struct{}), force: make(chan struct{}), over: make(chan struct{}), changed: make(chan struct{}, 1), unable: make(chan struct{}),
	}
	p.load.byID = make(map[string]*message)
	p.load.groups = make(map[string][]*chain)
	p.load.begun = make(map[*chain]struct{})
	engine, err := batch.New(h, cfg.Engine)
	p.cfg, p.engine = cfg, engine
	p.long = ownGrace && cfg.DrainLimit+cfg.Engine.Grace > drainAndGrace
	if err == nil {
		p.hooks, err = settlersHooks(engine.Hooks(), p.warn)
	}
	// All that is wrong is told at once, the settler's part too.
	if err := errors.Join(cfg.validate(), err, p.newSettler("")); err != nil {
		return nil, err
	}
	return p, nil
}

// newSettler makes the settler for the queue, once its URL is known.
func (p *Poller) newSettler(queueURL string) (err error) {
	s := p.cfg.Settler
	s.Client = p.client
	s.Delete = partialfailure.DeleteAlways
	s.QueueURL = queueURL
	s.HiddenUntil = p.hiddenUntil
	s.Hooks = p.hooks
	p.settler, err = partialfailure.New(s)
	return err
}

// hiddenUntil is when SQS shows a record that is held to others.
func (p *Poller) hiddenUntil(r *batch.Record) time.Time {
	p.mu.Lock()
	defer p.mu.Unlock()
	if m := p.load.byID[r.MessageID]; m != nil {
		return m.visibleAt
	}
	return time.Time{}
}

// Run polls until ctx ends or [Poller.Shutdown] is called, and then drains: it
// stops receiving, waits up to Config.DrainLimit for what runs, makes visible
// what was not started, deletes what is done, and returns nil. Whatever SQS,
// handlers and hooks do, it returns by DrainLimit, Engine.Grace and 4.1 s.
//
// It returns an error when the queue cannot be used at all (there is no such
// queue, or no permission, see [ConfigError]), when it was called before
// ([ErrRunTwice]), and when too many handlers had to be abandoned
// ([ErrAbandoned]). Whatever else happens is retried and told to the hooks.
func (p *Poller) Run(ctx context.Context) error {
	p.mu.Lock()
	if p.phase != created {
		p.mu.Unlock()
		return ErrRunTwice
	}
	p.phase = starting
	p.base, p.endBase = context.WithCancel(context.WithoutCancel(ctx))
	p.beat, p.endBeat = context.WithCancel(p.base)
	p.flushing, p.endFlush = context.WithCancel(p.base)
	p.intake.open(p.base)
	p.mu.Unlock()
	defer close(p.over)
	defer p.end()

	select {
	case <-p.stop:
		return nil
	default:
	}
	if p.long {
		p.warn(batch.Warning{Message: fmt.Sprintf("queue %s: a stop takes up to %v: DrainLimit is %v, Engine.Grace %v (with package handler: SQSBATCH_DRAIN_LIMIT, SQSBATCH_GRACE). "+
			"The platform must not kill before that (stopTimeout of Amazon ECS, terminationGracePeriodSeconds of Kubernetes; 30 s by default)",
			p.cfg.Queue, p.cfg.stopTime(), p.cfg.DrainLimit, p.cfg.Engine.Grace)})
	}
	stopping, ready := context.WithCancel(ctx)
	defer ready()
	go func() {
		select {
		case <-p.stop:
			ready()
		case <-stopping.Done():
		}
	}()
	if err := p.lookUp(stopping); err != nil {
		if stopping.Err() != nil {
			return nil // told to stop before it had begun
		}
		return err
	}
	p.announce(stopping)
	select {
	case <-p.stop: // stopping may not have ended yet
		return nil
	case <-stopping.Done():
		return nil
	default:
	}
	p.mu.Lock()
	p.phase = polling
	p.receiveMore()
	p.mu.Unlock()

	select {
	case <-stopping.Done():
	case <-p.unable:
	}
	p.drain()
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.fatal
}

// end ends all that belongs to Run.
func (p *Poller) end() {
	p.mu.Lock()
	p.phase = stopped
	if p.sweep != nil {
		p.sweep.Stop()
	}
	p.settling.stopTimer()
	p.trouble.stopTimer()
	p.stopAbortTimer()
	late := p.endBy
	p.mu.Unlock()
	p.endBeat()
	p.endFlush()
	p.endBase()
	if late.IsZero() { // it had not begun
		late = time.Now().Add(flushTimeout)
	}
	if now := time.Now(); late.Before(now) {
		late = now
	}
	p.routines.wait(late.Add(lastWords)) // for what ends with the contexts
	p.tellLeft()
	p.routines.wait(late.Add(2 * lastWords))
}

// Shutdown stops the Poller and waits until [Poller.Run] has returned. When ctx
// ends before, the drain is cut short: what runs is cancelled, what is left is
// released, and ctx's error is returned. It may be called often, and before
// Run, which then returns at once.
func (p *Poller) Shutdown(ctx context.Context) error {
	p.mu.Lock()
	closeOnce(p.stop)
	begun := p.phase != created
	p.mu.Unlock()
	if !begun {
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
	p.mu.Lock()
	closeOnce(p.force)
	p.mu.Unlock()
	<-p.over
	return ctx.Err()
}

// closeOnce closes c unless it is closed; the caller holds the lock.
func closeOnce(c chan struct{}) {
	select {
	case <-c:
	default:
		close(c)
	}
}

// fail ends Run with an error; the caller holds the lock.
func (p *Poller) fail(err error) {
	if p.fatal == nil {
		p.fatal = err
		closeOnce(p.unable)
	}
}

// signal wakes a drain that waits for something to have changed.
func (p *Poller) signal() {
	select {
	case p.changed <- struct{}{}:
	default:
	}
}
