package main

import (
	"context"
	"time"

	"github.com/sqsbatch/sqsbatch/batch"
	"github.com/sqsbatch/sqsbatch/handler"
)

// Consumer is a component with Start and Stop, as most frameworks and service managers have them.
type Consumer struct {
	poller *handler.Poller
	ended  chan error
}

// NewConsumer returns a Consumer, or an error that names everything wrong with its configuration.
func NewConsumer(cfg handler.Config) (*Consumer, error) {
	poller, err := handler.NewPoller(batch.JSON(ship), cfg)
	if err != nil {
		return nil, err
	}
	return &Consumer{poller, make(chan error, 1)}, nil
}

// Start polls until Stop. It returns when SQS has answered for every queue, or ctx's error if
// ctx ends before that. ctx limits only the start.
func (c *Consumer) Start(ctx context.Context) error {
	go func() { c.ended <- c.poller.Run(context.WithoutCancel(ctx)) }()
	select {
	case <-c.poller.Started():
		return nil
	case err := <-c.ended: // there is no such queue, or no permission
		return err
	case <-ctx.Done(): // SQS does not answer
		_ = c.Stop(ctx) // nothing runs yet
		return ctx.Err()
	}
}

// Stop drains. If ctx ends before the drain is over, running records are cancelled and
// released, and ctx's error is returned.
func (c *Consumer) Stop(ctx context.Context) error { return c.poller.Shutdown(ctx) }

// StopTakes returns the longest time that Stop needs.
func (c *Consumer) StopTakes() time.Duration { return c.poller.StopTakes() + time.Second }

// Ended returns a channel that gets the error with which polling has ended, nil after Stop.
func (c *Consumer) Ended() <-chan error { return c.ended }

// runComponent is what a framework does with a component.
func runComponent(ctx context.Context, cfg handler.Config) error {
	c, err := NewConsumer(cfg)
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
