// Command queues handles several queues, each with its own function, in one process.
// docs/several-queues.md explains it.
package main

import (
	"context"
	"os"
	"time"

	"github.com/sqsbatch/sqsbatch/batch"
	"github.com/sqsbatch/sqsbatch/handler"
)

func main() {
	handler.RunWith(handler.Queues{
		{URL: os.Getenv("ORDERS_URL"), Handler: batch.JSON(ship), Weight: 3},
		{URL: os.Getenv("REFUNDS_URL"), Handler: batch.JSON(refund), Weight: 3},
		{URL: os.Getenv("MAILS_URL"), Handler: batch.JSON(mail)},
		{URL: os.Getenv("REPORTS_URL"), Handler: batch.JSON(report), Set: func(c *handler.Config) {
			c.Concurrency, c.RecordTimeout = 2, time.Hour
		}},
	}, handler.Config{MaxHandlers: 40})
}

// Message is what all four queues have, to keep the example short.
type Message struct {
	ID string `json:"id"`
}

func ship(_ context.Context, m Message) error   { return nil }
func refund(_ context.Context, m Message) error { return nil }
func mail(_ context.Context, m Message) error   { return nil }
func report(_ context.Context, m Message) error { return nil }
