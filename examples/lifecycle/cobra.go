package main

import (
	"github.com/spf13/cobra"

	"github.com/sqsbatch/sqsbatch/batch"
	"github.com/sqsbatch/sqsbatch/handler"
)

// command returns a program with a command of github.com/spf13/cobra that polls a queue.
func command(cfg handler.Config) *cobra.Command {
	root := &cobra.Command{Use: "orders", SilenceUsage: true}
	consume := &cobra.Command{Use: "consume", Short: "Ship the orders of a queue", Args: cobra.NoArgs}
	consume.RunE = func(c *cobra.Command, _ []string) error {
		return handler.Poll(c.Context(), batch.JSON(ship), cfg)
	}
	consume.Flags().StringSliceVar(&cfg.Poll.Queues, "queue", nil, "URL of a queue (default $SQSBATCH_QUEUE_URL)")
	consume.Flags().IntVar(&cfg.Concurrency, "concurrency", 0, "orders at a time (default $SQSBATCH_CONCURRENCY, 10)")
	root.AddCommand(consume)
	return root
}
