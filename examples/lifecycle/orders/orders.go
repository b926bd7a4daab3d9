// Package orders is the work that the programs of this module do with a record.
package orders

import (
	"context"
	"time"
)

// Order is a message.
type Order struct {
	ID string `json:"id"`
}

// Ship takes its time, as work does. It respects the end of its context.
func Ship(ctx context.Context, o Order) error {
	select {
	case <-time.After(3 * time.Second):
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
