// Command component polls a queue in a component with Start and Stop, as most frameworks
// and service managers have them.
package main

import (
	"context"
	"log/slog"
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/sqsbatch/sqsbatch/batch"
	"github.com/sqsbatch/sqsbatch/examples/lifecycle/orders"
	"github.com/sqsbatch/sqsbatch/handler"
)

// Consumer is the component.
type Consumer struct {
	poller *handler.Poller
	ended  chan error
}

// New returns a Consumer, or an error that names everything wrong with its configuration.
func New(cfg handler.Config) (*Consumer, error) {
	poller, err := handler.NewPoller(batch.JSON(orders.Ship), cfg)
	return &Consumer{poller, make(chan error, 1)}, err
}

// Start returns when SQS has answered for every queue. ctx is only for the start.
func (c *Consumer) Start(ctx context.Context) error {
	go func() { c.ended <- c.poller.Run(context.WithoutCancel(ctx)) }()
	select {
	case <-c.poller.Started():
		return nil
	case err := <-c.ended: // there is no such queue, or no permission
		return err
	case <-ctx.Done(): // SQS does not answer
		return c.Stop(ctx)
	}
}

// Stop drains. When ctx ends before, it cancels what runs and returns ctx's error.
func (c *Consumer) Stop(ctx context.Context) error { return c.poller.Shutdown(ctx) }

// StopTakes is how long Stop's context must last.
func (c *Consumer) StopTakes() time.Duration { return c.poller.StopTakes() + time.Second }

// Ended receives the error of a Consumer that has ended, nil after Stop.
func (c *Consumer) Ended() <-chan error { return c.ended }

// main is what a framework does.
func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	context.AfterFunc(ctx, stop) // a second signal ends the process at once
	if err := run(ctx, handler.Config{}); err != nil {
		slog.Error("ended", "reason", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, cfg handler.Config) error {
	c, err := New(cfg)
	if err != nil {
		return err
	}
	starting, cancel := context.WithTimeout(ctx, 15*time.Second)
	defer cancel()
	if err := c.Start(starting); err != nil {
		return err
	}
	select {
	case err := <-c.Ended():
		return err
	case <-ctx.Done():
	}
	stopping, cancel := context.WithTimeout(context.Background(), c.StopTakes())
	defer cancel()
	return c.Stop(stopping)
}
