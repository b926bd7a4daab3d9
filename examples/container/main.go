// Command container is a function that runs on Lambda and in a container, with
// some of its settings in code. docs/containers.md explains it.
package main

import (
	"context"
	"errors"
	"time"

	"github.com/sqsbatch/sqsbatch/batch"
	"github.com/sqsbatch/sqsbatch/handler"
)

// Report is a message: a report to be made.
type Report struct {
	ID    string `json:"id"`
	Pages int    `json:"pages"`
}

func main() {
	handler.RunWith(batch.JSON(makeReport), handler.Config{
		Concurrency:   4,                // SQSBATCH_CONCURRENCY, if this were left out
		RecordTimeout: 30 * time.Minute, // longer than Lambda could
		Poll: handler.PollConfig{ // only used in a container, where it polls
			Visibility: 2 * time.Minute,
			HealthAddr: ":8080",
		},
	})
}

func makeReport(ctx context.Context, r Report) error {
	if r.Pages < 1 {
		return batch.Permanent(errors.New("a report has at least one page"))
	}
	for range r.Pages {
		select {
		case <-time.After(time.Minute): // a page takes a minute
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	return nil
}
