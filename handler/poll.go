package handler

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/sqsbatch/sqsbatch/batch"
	"github.com/sqsbatch/sqsbatch/internal/endpoint"
	"github.com/sqsbatch/sqsbatch/internal/hooks"
	"github.com/sqsbatch/sqsbatch/internal/notify"
	"github.com/sqsbatch/sqsbatch/internal/settings"
	"github.com/sqsbatch/sqsbatch/longpoll"
)

// PollConfig is the part of the configuration that only counts in a container.
// The zero value is good, but for Queues. See [longpoll.Config] for what each means.
type PollConfig struct {
	// Queues are the URLs, ARNs or names of the queues to poll, side by side, each
	// with slots of its own and none of them twice. SQSBATCH_QUEUE_URL, separated by commas.
	Queues []string

	// Wait is how long a receive waits for messages, 1 s to 20 s.
	// SQSBATCH_WAIT. Defaults to 20 s.
	Wait time.Duration

	// Prefetch bounds the records of a queue that wait for a slot; -1 means
	// none. SQSBATCH_PREFETCH. Defaults to 4 x Concurrency, at most 320 or
	// Concurrency, or on FIFO queues to Concurrency; see [longpoll.Config].
	Prefetch int

	// Visibility is for how long a record is hidden from others, at a time: what
	// a crash costs. SQSBATCH_VISIBILITY. Defaults to 1 min, or without
	// heartbeats to the queue's own visibility timeout.
	Visibility time.Duration

	// NoHeartbeat extends no visibility. SQSBATCH_HEARTBEAT=false. Defaults to false.
	NoHeartbeat bool

	// DrainLimit is how long a stop waits for what runs. SQSBATCH_DRAIN_LIMIT.
	// Defaults to 25 s less Grace, and at least 1 s: ending what still runs takes
	// the grace and settling 4 s, and Amazon ECS and Kubernetes kill after 30 s.
	DrainLimit time.Duration

	// MaxAbandoned is how many handlers may be running that were given up before
	// the process ends. SQSBATCH_MAX_ABANDONED. Defaults to Concurrency.
	MaxAbandoned int

	// HealthAddr is where to serve /livez, /readyz and /statusz, such as
	// "127.0.0.1:8080", or ":8080" in a pod. SQSBATCH_HEALTH_ADDR. Defaults to nowhere.
	// All calls of Poll in a process that name the same address share one listener,
	// and are healthy when all their queues are, until each has returned.
	// A health check by command (cmd/livez, on Amazon ECS) knows only the
	// variable: where this is set, give it the same address as its argument.
	HealthAddr string

	// Handlers are served at HealthAddr, too, by their paths, such as "/metrics"
	// (telemetry/prometheus), until everything was drained. They have 5 s for an
	// answer. Of several calls of Poll with the same path and HealthAddr, the one
	// that began first serves it. Defaults to none.
	Handlers map[string]http.Handler
}

// Poll handles the records of the configured queues by h until ctx ends, then
// stops as [longpoll.Poller.Run] says. It returns an error that names every
// value that is out of its bounds, and when a queue cannot be used, the health
// address is taken, or too many handlers were abandoned: all queues are drained
// before. [Config.Reserve], Deadline, MinRemaining, ErrorIfAllFail and
// DeleteSucceeded are about invocations and have no effect.
func Poll(ctx context.Context, h batch.Handler, cfg Config) error {
	lines, warnings, badConfig := cfg.setUp(containerLogger, time.Minute)
	// The log comes last: one that nobody reads keeps the metrics from nobody.
	cfg.Hooks = append(slices.Clone(cfg.Hooks), lines)
	pollers, err := cfg.pollers(ctx, h)
	if err := errors.Join(badConfig, err); err != nil {
		return err
	}
	set, _ := hooks.New(cfg.Hooks...) // the pollers took each
	stopHealth, err := cfg.Poll.serveHealth(pollers)
	if err != nil {
		return err
	}
	writeLine(func() {
		cfg.warn(ctx, append(warnings, cfg.Poll.healthWarnings()...))
		cfg.Logger.InfoContext(ctx, "polling", "logger", "sqsbatch", "queues", cfg.Poll.Queues)
	})
	stopped, err := runAll(ctx, pollers)
	stopHealth()
	left := time.Until(stopped.Add(pollers[0].StopTakes()))
	flushHooks(ctx, set, min(stopFlush, max(leastFlush, left)), timeoutNotice) // before the last line
	writeLine(func() { cfg.Logger.InfoContext(ctx, "stopped", "logger", "sqsbatch") })
	return err
}

// writeLine waits only a moment for a line of the log: no stop shall wait for a log
// that nobody reads.
func writeLine(write func()) { notify.Within(time.After(200*time.Millisecond), write) }

// runAll runs the pollers until ctx ends or one of them fails, and returns when
// that was.
func runAll(ctx context.Context, pollers []*longpoll.Poller) (stopped time.Time, err error) {
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	errs := make([]error, len(pollers))
	var all sync.WaitGroup
	all.Go(func() {
		<-ctx.Done()
		stopped = time.Now()
	})
	for i, p := range pollers {
		all.Go(func() {
			defer stop()
			errs[i] = p.Run(ctx)
		})
	}
	all.Wait()
	return stopped, errors.Join(errs...)
}

// pollers makes a poller for each queue. It returns an error that names all that
// is wrong with the configuration, once.
func (c *Config) pollers(ctx context.Context, h batch.Handler) ([]*longpoll.Poller, error) {
	engine, failures := c.engine(), c.failures()
	engine.Reserve, engine.Deadline, engine.MinRemaining = 0, "", 0
	wrong := c.checkPoll()
	list := make([]*longpoll.Poller, len(c.Poll.Queues))
	for i, queue := range c.Poll.Queues {
		client, err := c.pollClient(ctx, queue)
		if err == nil {
			list[i], err = longpoll.New(h, longpoll.Config{
				Queue: queue, SQS: client, Engine: engine, Failures: failures,
				Wait: c.Poll.Wait, Prefetch: c.Poll.Prefetch, Visibility: c.Poll.Visibility, NoHeartbeat: c.Poll.NoHeartbeat,
				DrainLimit: c.Poll.DrainLimit, MaxAbandoned: c.Poll.MaxAbandoned,
			})
		}
		wrong.add(err)
	}
	return list, errors.Join(wrong...)
}

// mistakes are errors, each once: those of one queue are often all queues'.
type mistakes []error

func (m *mistakes) add(err error) {
	if list, ok := err.(interface{ Unwrap() []error }); ok { // errors.Join's
		for _, err := range list.Unwrap() {
			m.add(err)
		}
		return
	}
	if err != nil && !slices.ContainsFunc(*m, func(e error) bool { return e.Error() == err.Error() }) {
		*m = append(*m, err)
	}
}

// checkPoll is about what only Poll knows.
func (c *Config) checkPoll() (wrong mistakes) {
	if len(c.Poll.Queues) == 0 && os.Getenv(settings.QueueURL.Name) == "" {
		wrong.add(errors.New("handler: Poll.Queues is empty, must name at least one queue (SQSBATCH_QUEUE_URL)"))
		wrong.add(unknownVariables())
	}
	seen := map[string]string{}
	for _, queue := range c.Poll.Queues {
		key := queueKey(queue)
		if earlier, twice := seen[key]; twice {
			wrong.add(fmt.Errorf("handler: Poll.Queues names a queue twice (SQSBATCH_QUEUE_URL), as %s and as %s: to handle more of it at a time raise Concurrency", earlier, queue))
		}
		seen[key] = queue
	}
	return append(wrong, c.Poll.checkHealth()...)
}

// queueKey is the same for a queue's ARN and its URLs.
func queueKey(queue string) string {
	if arn, err := endpoint.ParseARN(queue); err == nil {
		return arn.Region + "/" + arn.Account + "/" + arn.Name
	}
	u, err := url.Parse(queue)
	if err != nil || u.Host == "" {
		return queue
	}
	return cmp.Or(endpoint.Region(u.Hostname()), u.Host) + "/" + strings.Trim(u.Path, "/")
}
