package handler

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
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
	// Defaults to 24 s: Amazon ECS and Kubernetes kill after 30 s.
	DrainLimit time.Duration

	// MaxAbandoned is how many handlers may be running that were given up before
	// the process ends. SQSBATCH_MAX_ABANDONED. Defaults to Concurrency.
	MaxAbandoned int

	// HealthAddr is where to serve /livez, /readyz and /statusz, such as
	// "127.0.0.1:8080", or ":8080" in a pod. SQSBATCH_HEALTH_ADDR. Defaults to nowhere.
	HealthAddr string
}

func (c *PollConfig) fromEnvironment(set func(name string, unset bool, parse func(string) error)) {
	set("SQSBATCH_QUEUE_URL", len(c.Queues) == 0, func(s string) error {
		for q := range strings.SplitSeq(s, ",") {
			if q = strings.TrimSpace(q); q == "" {
				return errors.New("must be queues' URLs or names, separated by commas")
			} else {
				c.Queues = append(c.Queues, q)
			}
		}
		return nil
	})
	set("SQSBATCH_WAIT", c.Wait == 0, duration(&c.Wait))
	set("SQSBATCH_PREFETCH", c.Prefetch == 0, func(s string) error {
		if s == "0" {
			s = "-1"
		}
		return number(&c.Prefetch, -1, 10_000)(s)
	})
	set("SQSBATCH_VISIBILITY", c.Visibility == 0, duration(&c.Visibility))
	heartbeat := true
	set("SQSBATCH_HEARTBEAT", !c.NoHeartbeat, boolean(&heartbeat))
	c.NoHeartbeat = c.NoHeartbeat || !heartbeat
	set("SQSBATCH_DRAIN_LIMIT", c.DrainLimit == 0, duration(&c.DrainLimit))
	set("SQSBATCH_MAX_ABANDONED", c.MaxAbandoned == 0, number(&c.MaxAbandoned, 1, 10_000))
	set("SQSBATCH_HEALTH_ADDR", c.HealthAddr == "", func(s string) error {
		c.HealthAddr = s
		return nil
	})
}

// Poll handles the records of the configured queues by h until ctx ends, then
// stops as [longpoll.Poller.Run] says. It returns an error that names every
// value that is out of its bounds, and when a queue cannot be used, the health
// address is taken, or too many handlers were abandoned: all queues are drained
// before. [Config.Reserve], Deadline, MinRemaining, ErrorIfAllFail and
// DeleteSucceeded are about invocations and have no effect.
func Poll(ctx context.Context, h batch.Handler, cfg Config) error {
	if err := cfg.fromEnvironment(); err != nil {
		return err
	}
	if cfg.Logger == nil {
		cfg.Logger = containerLogger()
	}
	lines := log.New(cfg.Logger, log.Options{Succeeded: cfg.LogSucceeded, Every: time.Minute})
	pollers, err := cfg.pollers(ctx, h, lines)
	if err != nil {
		return err
	}
	hooks, err := batch.NewHooks(append(slices.Clone(cfg.Hooks), lines)...)
	if err != nil {
		return err
	}
	defer flushAtStop(ctx, hooks, pollers[0].StopTakes())()
	stopHealth, err := serveHealth(cfg.Poll.HealthAddr, pollers)
	if err != nil {
		return err
	}
	defer stopHealth()
	cfg.Logger.InfoContext(ctx, "polling", "logger", "sqsbatch", "queues", cfg.Poll.Queues)
	defer cfg.Logger.InfoContext(ctx, "stopped", "logger", "sqsbatch")
	return runAll(ctx, pollers)
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

func (c *Config) pollers(ctx context.Context, h batch.Handler, hook any) ([]*longpoll.Poller, error) {
	if len(c.Poll.Queues) == 0 {
		return nil, errors.New("handler: Poll.Queues is empty, must name at least one queue (SQSBATCH_QUEUE_URL)")
	}
	if f, ok := h.(MessageFunc); ok && f == nil {
		h = nil
	}
	engine := c.engine(hook)
	settler := c.settler(nil)
	settler.DryRun = false
	engine.Reserve, engine.Deadline, engine.MinRemaining = 0, nil, 0
	list := make([]*longpoll.Poller, len(c.Poll.Queues))
	for i, queue := range c.Poll.Queues {
		client, err := c.pollClient(ctx, queue)
		if err != nil {
			return nil, err
		}
		list[i], err = longpoll.New(h, longpoll.Config{
			Queue: queue, SQS: client, Engine: engine, Settler: settler,
			Wait: c.Poll.Wait, Prefetch: c.Poll.Prefetch, Visibility: c.Poll.Visibility, NoHeartbeat: c.Poll.NoHeartbeat,
			DrainLimit: c.Poll.DrainLimit, MaxAbandoned: c.Poll.MaxAbandoned,
		})
		if err != nil {
			return nil, err
		}
	}
	return list, nil
}

// serveHealth answers orchestrators, if an address is configured.
func serveHealth(addr string, pollers []*longpoll.Poller) (stop func(), err error) {
	if addr == "" {
		return func() {}, nil
	}
	listener, err := net.Listen("tcp", addr)
	if err != nil {
		return nil, fmt.Errorf("handler: HealthAddr is %q (SQSBATCH_HEALTH_ADDR): %w", addr, err)
	}
	server := &http.Server{Handler: longpoll.Health(pollers...), ReadTimeout: 5 * time.Second, WriteTimeout: 5 * time.Second}
	served := make(chan struct{})
	go func() {
		defer close(served)
		_ = server.Serve(listener) // until Close
	}()
	return func() {
		_ = server.Close()
		<-served
	}, nil
}
