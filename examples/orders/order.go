package main

import (
	"context"
	"errors"
	"fmt"

	"github.com/sqsbatch/sqsbatch/batch"
)

// Order is what a message's body holds. `sqsbatch local` sends those of
// samples.json when it is given nothing else.
//
//sqsbatch:samples samples.json
type Order struct {
	ID       string `json:"id"`
	SKU      string `json:"sku"`
	Quantity int    `json:"quantity"`
}

// validate finds mistakes that no retry can fix.
func (o Order) validate() error {
	switch {
	case o.ID == "":
		return errors.New("order has no id")
	case o.Quantity < 1:
		return fmt.Errorf("order %s: quantity is %d, must be at least 1", o.ID, o.Quantity)
	}
	return nil
}

// shipFrom returns the function that handles one order: it has w ship it, and
// says in sqsbatch's words what a failure means for the message.
func shipFrom(w Warehouse) func(context.Context, Order) error {
	return func(ctx context.Context, o Order) error {
		if err := o.validate(); err != nil {
			return batch.Permanent(err) // to the dead-letter queue: it will never be valid
		}

		err := w.Ship(ctx, o)
		var busy *BusyError
		switch {
		case err == nil:
			return nil // done: the message is deleted
		case errors.Is(err, ErrUnknownSKU):
			return batch.Permanent(fmt.Errorf("order %s: %w", o.ID, err))
		case errors.As(err, &busy):
			return batch.RetryAfter(busy.For, fmt.Errorf("order %s: %w", o.ID, err))
		default:
			return fmt.Errorf("order %s: %w", o.ID, err) // retried, with backoff
		}
	}
}
