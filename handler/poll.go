package handler

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/sqsbatch/sqsbatch/batch"
	"github.com/sqsbatch/sqsbatch/internal/endpoint"
	"github.com/sqsbatch/sqsbatch/internal/hooks"
	"github.com/sqsbatch/sqsbatch/internal/longpoll"
	"github.com/sqsbatch/sqsbatch/internal/runner"
	"github.com/sqsbatch/sqsbatch/internal/settings"
	"github.com/sqsbatch/sqsbatch/internal/sleep"
)

// ErrTooManyAbandoned is returned by [Poller.Run] when more than PollConfig.MaxAbandoned
// handlers were abandoned and still run. The process should end, so that the platform starts a
// new one.
var ErrTooManyAbandoned = longpoll.ErrAbandoned

// Poller polls queues in a program with its own life cycle, such as an HTTP server or a
// component of a framework. Make one with [NewPoller]. Its methods are safe for concurrent use,
// also before Run.
type Poller struct {
	cfg      Config
	queues   []*longpoll.Poller
	warnings []string
	hooks    *hooks.Set
	started  chan struct{}
	begun    atomic.Bool   // Run was called
	over     chan struct{} // closed when Run has returned
	stopping context.Context
	stop     context.CancelFunc
}

// NewPoller returns a Poller of the configured queues. h handles their records. Like [Run]
// it reads the environment. It makes no call to AWS. It returns an error that names every
// value that is out of its bounds.
//
// [Config.Reserve], MinRemaining, ErrorIfAllFail and NoReportBatchItemFailures are for
// invocations and have no effect here.
func NewPoller(h batch.Handler, cfg Config) (*Poller, error) {
	_, named := h.(Queues)
	named = named && len(cfg.Poll.Queues) == 0
	lines, warnings, wrong := cfg.setUp(containerLogger, time.Minute)
	if named && len(cfg.Poll.Queues) > 0 { // a platform may set it for every program
		cfg.Poll.Queues = nil
		warnings = append(warnings, settings.QueueURL.Name+" has no effect: handler.Queues names the queues")
	}
	// The log comes last: if writing it blocks, the metrics are still recorded.
	cfg.Hooks = batch.JoinHooks(cfg.Hooks, lines)
	pollers, err := cfg.pollers(h)
	wrong.add(err)
	if err := errors.Join(wrong...); err != nil {
		return nil, err
	}
	p := &Poller{cfg: cfg, queues: pollers, warnings: append(warnings, cfg.Poll.healthWarnings()...),
		hooks: hooks.New(cfg.Hooks), started: make(chan struct{}), over: make(chan struct{})}
	p.stopping, p.stop = context.WithCancel(context.Background())
	return p, nil
}

// Poll runs a new [Poller]: it calls [NewPoller] and [Poller.Run].
func Poll(ctx context.Context, h batch.Handler, cfg Config) error {
	p, err := NewPoller(h, cfg)
	if err != nil {
		return err
	}
	return p.Run(ctx)
}

// Run polls until ctx ends or [Poller.Shutdown] is called. Then it drains: it stops receiving,
// waits up to PollConfig.DrainLimit for running handlers, cancels those that still run,
// releases records that were not started, and deletes handled ones. A drain takes
// [Poller.StopTakes] at most, whatever SQS, handlers and hooks do. Run may be called once.
//
// Run returns an error if a queue cannot be used, if the health address is in use, or if
// too many handlers were abandoned ([ErrTooManyAbandoned]). All queues are drained before it
// returns.
func (p *Poller) Run(ctx context.Context) error {
	if p.begun.Swap(true) {
		return longpoll.ErrRunTwice
	}
	defer close(p.over)
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	defer context.AfterFunc(p.stopping, stop)()
	stopHealth, err := p.serveHealth()
	if err != nil {
		return err
	}
	names := make([]string, len(p.queues))
	for i, q := range p.queues {
		names[i] = q.Status().Queue
	}
	writeLine(func() {
		p.cfg.warn(ctx, p.warnings)
		p.cfg.Logger.InfoContext(ctx, "polling", "logger", "sqsbatch", "queues", names)
	})
	stopped, err := p.runAll(ctx)
	stopHealth()
	left := time.Until(stopped.Add(p.StopTakes()))
	flushHooks(ctx, p.hooks, min(stopFlush, max(leastFlush, left)), timeoutNotice) // before the last line
	writeLine(func() { p.cfg.Logger.InfoContext(ctx, "stopped", "logger", "sqsbatch") })
	return err
}

// writeLine writes a line of the log. It waits only a moment: a log that blocks must not delay
// the stop.
func writeLine(write func()) { hooks.Within(time.After(200*time.Millisecond), write) }

// runAll runs the pollers until ctx ends, one of them fails, or all have emptied their queues
// (Poll.UntilEmpty). stopped is the time at which the stop began.
func (p *Poller) runAll(ctx context.Context) (stopped time.Time, err error) {
	ctx, stop := context.WithCancel(ctx)
	errs := make([]error, len(p.queues))
	var running, watching sync.WaitGroup
	for i, q := range p.queues {
		running.Go(func() {
			if errs[i] = q.Run(ctx); errs[i] != nil {
				stop()
			}
		})
	}
	watching.Go(func() {
		if !slices.ContainsFunc(p.queues, func(q *longpoll.Poller) bool { return !sleep.Closed(ctx, q.Started()) }) {
			close(p.started)
		}
		<-ctx.Done()
		stopped = time.Now()
	})
	running.Wait()
	stop()
	watching.Wait()
	return stopped, errors.Join(errs...)
}

// Started returns a channel that is closed when SQS has answered the first receive of every
// queue: the queues exist, and this process may receive from them. If Run ends before that,
// the channel is never closed.
func (p *Poller) Started() <-chan struct{} {
	if len(p.queues) == 1 {
		return p.queues[0].Started()
	}
	return p.started
}

// Shutdown stops the Poller and waits until [Poller.Run] has returned. If ctx ends first,
// Shutdown cuts the drain short: running handlers are cancelled, other records are
// released, and ctx's error is returned. It may be called several times. If it is called
// before Run, Run returns at once.
func (p *Poller) Shutdown(ctx context.Context) error {
	p.stop()
	var all sync.WaitGroup
	errs := make([]error, len(p.queues))
	for i, q := range p.queues {
		all.Go(func() { errs[i] = q.Shutdown(ctx) })
	}
	all.Wait()
	if p.begun.Load() && !sleep.Closed(ctx, p.over) {
		return ctx.Err()
	}
	return cmp.Or(errs...)
}

// StopTakes returns the longest time that [Poller.Run] takes to return after a stop began,
// not counting up to 0.6 s for hooks that hang. Give the process at least this time before
// you kill it.
func (p *Poller) StopTakes() (most time.Duration) {
	for _, q := range p.queues {
		most = max(most, q.StopTakes())
	}
	return most
}

// Pause stops receiving until [Poller.Resume]. Use it while a dependency of the handler is
// down. Running handlers go on. Records that were not started are released as soon as no open
// receive could take them again: after 0.2 s at most, or 2 s if a receive may be about to
// return messages. It may be called before Run, and has no effect while the Poller stops.
func (p *Poller) Pause() {
	for _, q := range p.queues {
		q.Pause()
	}
}

// Resume starts receiving again after [Poller.Pause].
func (p *Poller) Resume() {
	for _, q := range p.queues {
		q.Resume()
	}
}

// SetConcurrency sets the largest number of records, or FIFO groups, of a queue that are handled
// at the same time, 1 to 10,000. Running handlers continue. Prefetch and MaxAbandoned stay the
// same. It returns an error if n is out of bounds, or if the Poller has several queues: use
// [Poller.Queue], whose Poller is still limited to its part of [Config.Concurrency].
func (p *Poller) SetConcurrency(n int) error {
	if err := settings.Concurrency.Check(n); err != nil {
		return fmt.Errorf("handler: the concurrency is %d, %w", n, err)
	}
	if len(p.queues) != 1 {
		return fmt.Errorf("handler: SetConcurrency is for one queue, see Poller.Queue: this Poller has %d", len(p.queues))
	}
	p.queues[0].SetConcurrency(n)
	return nil
}

// Status returns the state of each queue, in the order of the configuration. Its cost grows with
// the number of running records.
func (p *Poller) Status() (list []batch.Status) {
	for _, q := range p.queues {
		list = append(list, q.Status())
	}
	return list
}

// Health returns an HTTP handler for the health checks of orchestrators, for an HTTP server of
// your own; PollConfig.HealthAddr serves the same:
//
//   - /livez answers 503 if the process should be replaced: receives are not answered in time,
//     a hook takes more than 30 s, or polling stopped with an error. Otherwise it answers 200,
//     also while SQS is down.
//   - /readyz answers 200 while every queue is received from, and 503 while one starts, drains,
//     or fails to receive or to delete. A queue that is paused or aborted (batch.Abort) counts
//     as ready, since a new process would not do better.
//   - /statusz answers with a JSON list of [batch.Status].
//
// The first two answer with a line for each queue, such as "ok QUEUE: polling" or "not ok
// QUEUE: failing".
func (p *Poller) Health() http.Handler { return longpoll.Health(p.queues...) }

// Queue returns a Poller for one of the queues. Its Pause, Resume, SetConcurrency, Status,
// Health and Shutdown are for this queue only, and its Run returns an error. name is the
// queue's name, or its ARN or URL as in the configuration. If several queues have that name,
// Queue returns the first. It returns nil if no queue has it.
func (p *Poller) Queue(name string) *Poller {
	for _, q := range p.queues {
		if s := q.Status().Queue; s == name || batch.QueueName(s) == name {
			one := &Poller{queues: []*longpoll.Poller{q}, over: closed, stop: func() {}}
			one.begun.Store(true)
			return one
		}
	}
	return nil
}

// closed is a closed channel.
var closed = func() chan struct{} { c := make(chan struct{}); close(c); return c }()

// pollers returns a poller for each queue. Its error names everything that is wrong with the
// configuration, each problem once.
func (c *Config) pollers(h batch.Handler) ([]*longpoll.Poller, error) {
	wrong := c.Poll.checkHealth()
	queues, err := c.split(h, c.Poll.Queues)
	wrong.add(err)
	if _, named := h.(Queues); !named && len(queues) == 0 && os.Getenv(settings.QueueURL.Name) == "" {
		wrong.add(errors.New("handler: Poll.Queues is empty, must name at least one queue (SQSBATCH_QUEUE_URL)"))
		wrong.add(unknownVariables())
	}
	wrong = append(wrong, queues.namedTwice()...)
	var slots *runner.Slots
	if len(queues) > 1 && c.Concurrency > 0 {
		slots = runner.NewSlots(c.Concurrency)
	}
	list := make([]*longpoll.Poller, len(queues))
	for i, q := range queues {
		own, badSet := c.of(q)
		wrong.add(badSet)
		if err == nil && badSet == nil {
			list[i], badSet = own.poller(q, slots)
			wrong.add(badSet)
		}
	}
	return list, errors.Join(wrong...)
}

// poller returns the poller of a queue. c is the queue's own configuration.
func (c *Config) poller(q Queue, slots *runner.Slots) (*longpoll.Poller, error) {
	client, err := c.pollClient(context.Background(), q.URL)
	if err != nil {
		return nil, err
	}
	if arn, err := endpoint.ParseARN(q.URL); err == nil && client.Options().BaseEndpoint == nil && client.Options().Region != arn.Region {
		return nil, fmt.Errorf("handler: queue %s must be of the region of the client SQS, which is %s", q.URL, client.Options().Region)
	}
	engine := c.engine(q)
	engine.Reserve, engine.MinRemaining = 0, 0
	return longpoll.New(q.Handler, longpoll.Config{
		Queue: q.URL, SQS: client, Engine: engine, Slots: slots, Priority: q.Priority, Hooks: c.Hooks, Failures: c.failures(),
		Wait: c.Poll.Wait, Prefetch: c.Poll.Prefetch, Visibility: c.Poll.Visibility,
		DrainLimit: c.Poll.DrainLimit, MaxAbandoned: c.Poll.MaxAbandoned, UntilEmpty: c.Poll.UntilEmpty,
	}), nil
}

// namedTwice returns an error for each queue that is named twice.
func (q Queues) namedTwice() (wrong mistakes) {
	seen := map[string]string{}
	for _, queue := range q {
		key := queueKey(queue.URL)
		if earlier, twice := seen[key]; twice && key != "" {
			wrong.add(fmt.Errorf("handler: Poll.Queues names a queue twice (SQSBATCH_QUEUE_URL), as %s and as %s: to handle more of it at a time raise Concurrency", earlier, queue.URL))
		}
		seen[key] = queue.URL
	}
	return wrong
}

// mistakes are errors without duplicates: several queues often have the same one.
type mistakes []error

func (m *mistakes) add(err error) {
	if list, ok := err.(interface{ Unwrap() []error }); ok { // made by errors.Join
		for _, err := range list.Unwrap() {
			m.add(err)
		}
		return
	}
	if err != nil && !slices.ContainsFunc(*m, func(e error) bool { return e.Error() == err.Error() }) {
		*m = append(*m, err)
	}
}
