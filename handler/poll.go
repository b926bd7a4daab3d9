package handler

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/sqsbatch/sqsbatch/batch"
	"github.com/sqsbatch/sqsbatch/longpoll"
	"github.com/sqsbatch/sqsbatch/telemetry/log"
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
	// A health check by command (deploy/livez, on Amazon ECS) knows only the
	// variable: where this is set, give it the same address as its argument.
	HealthAddr string

	// Handlers are served at HealthAddr, too, by their paths, such as "/metrics"
	// (telemetry/prometheus), until everything was drained. They have 5 s for an
	// answer. Of several calls of Poll with the same path and HealthAddr, the one
	// that began first serves it. Defaults to none.
	Handlers map[string]http.Handler
}

func (c *PollConfig) fromEnvironment(set setter) {
	set("SQSBATCH_QUEUE_URL", len(c.Queues) == 0, func(s string) (err error) {
		items := strings.Split(s, ",")
		for i, q := range items {
			if q = strings.TrimSpace(q); q != "" {
				c.Queues = append(c.Queues, q)
				continue
			}
			err = fmt.Errorf("must be queues' URLs, ARNs or names, separated by commas: item %d of %d is empty", i+1, len(items))
		}
		return err
	})
	set("SQSBATCH_WAIT", c.Wait == 0, seconds(&c.Wait, time.Second, 20*time.Second))
	set("SQSBATCH_PREFETCH", c.Prefetch == 0, func(s string) error {
		var n int
		if err := number(&n, 0, 10_000)(s); err != nil {
			return err
		}
		c.Prefetch = cmp.Or(n, -1)
		return nil
	})
	set("SQSBATCH_VISIBILITY", c.Visibility == 0, seconds(&c.Visibility, 3*time.Second, longest))
	heartbeat := true
	set("SQSBATCH_HEARTBEAT", !c.NoHeartbeat, boolean(&heartbeat))
	c.NoHeartbeat = c.NoHeartbeat || !heartbeat
	set("SQSBATCH_DRAIN_LIMIT", c.DrainLimit == 0, duration(&c.DrainLimit, longest))
	set("SQSBATCH_MAX_ABANDONED", c.MaxAbandoned == 0, number(&c.MaxAbandoned, 1, 10_000))
	set("SQSBATCH_HEALTH_ADDR", c.HealthAddr == "", text(&c.HealthAddr))
}

// Poll handles the records of the configured queues by h until ctx ends, then
// stops as [longpoll.Poller.Run] says. It returns an error that names every
// value that is out of its bounds, and when a queue cannot be used, the health
// address is taken, or too many handlers were abandoned: all queues are drained
// before. [Config.Reserve], Deadline, MinRemaining, ErrorIfAllFail and
// DeleteSucceeded are about invocations and have no effect.
func Poll(ctx context.Context, h batch.Handler, cfg Config) error {
	badVariables, odd := cfg.fromEnvironment(), cfg.odd()
	odd = append(append(odd, cfg.twoHealthAddrs()...), cfg.Poll.unserved()...)
	if cfg.Logger == nil {
		cfg.Logger = containerLogger(os.Getenv(levelVariable))
	}
	options := cfg.lines()
	options.Every = time.Minute
	lines := log.New(cfg.Logger, options)
	pollers, err := cfg.pollers(ctx, h, lines)
	if err := errors.Join(badVariables, cfg.badLines(), err); err != nil {
		return err
	}
	hooks, err := batch.NewHooks(append(slices.Clone(cfg.Hooks), lines)...)
	if err != nil {
		return err
	}
	flush := flushAtStop(ctx, hooks, pollers[0].StopTakes())
	stopHealth, shared, err := cfg.Poll.serveHealth(pollers)
	if err != nil {
		return err
	}
	soon(func() {
		cfg.tell(ctx, append(odd, shared...))
		cfg.Logger.InfoContext(ctx, "polling", "logger", "sqsbatch", "queues", cfg.Poll.Queues)
	})
	err = runAll(ctx, pollers)
	stopHealth()
	flush() // before the last line
	soon(func() { cfg.Logger.InfoContext(ctx, "stopped", "logger", "sqsbatch") })
	return err
}

// soon runs f, which writes a line, and goes on after a moment if nobody reads
// the log: no stop shall wait for it.
func soon(f func()) { waitFor(200*time.Millisecond, f) }

// waitFor runs f, which may block, and waits for it at most for limit. It
// reports whether f has returned.
func waitFor(limit time.Duration, f func()) bool {
	done := make(chan struct{})
	go func() {
		defer close(done)
		f()
	}()
	late := time.NewTimer(limit)
	defer late.Stop()
	select {
	case <-done:
		return true
	case <-late.C:
		return false
	}
}

// runAll runs the pollers until ctx ends or one of them fails.
func runAll(ctx context.Context, pollers []*longpoll.Poller) error {
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	errs := make([]error, len(pollers))
	var all sync.WaitGroup
	for i, p := range pollers {
		all.Go(func() {
			defer stop()
			errs[i] = p.Run(ctx)
		})
	}
	all.Wait()
	return errors.Join(errs...)
}
