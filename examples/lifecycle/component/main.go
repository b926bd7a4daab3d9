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

	"github.com/sqsbatch/sqsbatch/handler"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	context.AfterFunc(ctx, stop) // a second signal ends the process at once
	if err := run(ctx, handler.Config{}); err != nil {
		slog.Error("ended", "reason", err)
		os.Exit(1)
	}
}

// run is what a framework does with a component.
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
