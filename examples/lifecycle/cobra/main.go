// Command cobra polls a queue in a command of github.com/spf13/cobra.
package main

import (
	"context"
	"os"
	"os/signal"
	"syscall"

	"github.com/spf13/cobra"

	"github.com/sqsbatch/sqsbatch/batch"
	"github.com/sqsbatch/sqsbatch/examples/lifecycle/orders"
	"github.com/sqsbatch/sqsbatch/handler"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	context.AfterFunc(ctx, stop)                                          // a second signal ends the process at once
	if err := command(handler.Config{}).ExecuteContext(ctx); err != nil { // cobra has printed it
		os.Exit(1)
	}
}

func command(cfg handler.Config) *cobra.Command {
	root := &cobra.Command{Use: "orders", SilenceUsage: true}
	consume := &cobra.Command{Use: "consume", Short: "Ship the orders of a queue", Args: cobra.NoArgs}
	consume.RunE = func(c *cobra.Command, _ []string) error {
		return handler.Poll(c.Context(), batch.JSON(orders.Ship), cfg)
	}
	consume.Flags().StringSliceVar(&cfg.Poll.Queues, "queue", nil, "URL of a queue (default $SQSBATCH_QUEUE_URL)")
	consume.Flags().IntVar(&cfg.Concurrency, "concurrency", 0, "orders at a time (default $SQSBATCH_CONCURRENCY, 10)")
	root.AddCommand(consume)
	return root
}
