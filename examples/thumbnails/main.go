// Command thumbnails makes small images of large ones. docs/getting-started.md explains
// it.
package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/sqsbatch/sqsbatch/batch"
	"github.com/sqsbatch/sqsbatch/handler"
)

// Request is a message: the thumbnail to make.
type Request struct {
	Key   string `json:"key"`
	Width int    `json:"width"`
}

// Validate is called first. A request that it refuses becomes a dead letter.
func (r Request) Validate() error {
	if r.Width < 16 || r.Width > 2048 {
		return fmt.Errorf("width is %d, must be 16 to 2048", r.Width)
	}
	return nil
}

func main() {
	handler.Run(batch.JSON(makeThumbnail))
}

var (
	errNotAnImage = errors.New("not an image")
	errBusy       = errors.New("the image store is busy")
)

func makeThumbnail(ctx context.Context, r Request) error {
	switch err := render(ctx, r); {
	case errors.Is(err, errNotAnImage):
		return batch.Permanent(err) // to the dead-letter queue now
	case errors.Is(err, errBusy):
		return batch.RetryAfter(3*time.Second, err)
	default:
		return err // nil: done. Anything else: retried with backoff
	}
}

// render stands in for your code: the key says how it ends.
func render(ctx context.Context, r Request) error {
	record, _ := batch.RecordFrom(ctx) // the message, with its attempt, id and attributes
	switch {
	case r.Key == "notes.txt":
		return errNotAnImage
	case r.Key == "busy.jpg" && record.Attempt == 1:
		return errBusy
	}
	return nil
}
