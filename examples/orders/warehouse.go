package main

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/sqsbatch/sqsbatch/batch"
)

// Warehouse ships orders.
type Warehouse interface {
	// Ship ships o, or returns an error: [ErrUnknownSKU] when there is no such
	// article, a [*BusyError] when the warehouse asks for a pause, any other
	// when it is worth another try. Ship must give up when ctx ends.
	//
	// SQS delivers a message at least once, so Ship must do nothing for an
	// order that it has already shipped.
	Ship(ctx context.Context, o Order) error
}

// ErrUnknownSKU is returned when the warehouse has no such article.
var ErrUnknownSKU = errors.New("unknown sku")

var errDown = errors.New("warehouse is down")

// BusyError is returned when the warehouse asks to be left alone for a while.
type BusyError struct{ For time.Duration }

func (e *BusyError) Error() string { return fmt.Sprintf("warehouse is busy for %s", e.For) }

// memoryWarehouse is a [Warehouse] without stock. It does what the order's sku
// says, so that each outcome can be shown:
//
//	ok               ships
//	unknown          fails with ErrUnknownSKU
//	busy:<duration>  fails with a BusyError of that duration
//	down             fails with a plain error
//	slow:<duration>  takes that long, unless ctx ends first
//	hang:<duration>  takes that long, whatever ctx says
//	panic            panics
//	flaky:<n>        fails until the message's attempt n
//
// Any other sku, and a duration or n that cannot be read, is an unknown sku.
type memoryWarehouse struct{}

// Ship implements [Warehouse].
func (memoryWarehouse) Ship(ctx context.Context, o Order) error {
	verb, value, _ := strings.Cut(o.SKU, ":")
	switch verb {
	case "busy", "slow", "hang":
		d, err := time.ParseDuration(value)
		if err != nil || d < 0 {
			return fmt.Errorf("%w %q: want a duration from 0 up, as in %s:2s", ErrUnknownSKU, o.SKU, verb)
		}
		return take(ctx, verb, d)
	case "flaky":
		n, err := strconv.Atoi(value)
		if err != nil || n < 1 {
			return fmt.Errorf("%w %q: want an attempt from 1 up, as in flaky:2", ErrUnknownSKU, o.SKU)
		}
		return flaky(ctx, n)
	}

	switch o.SKU {
	case "ok":
		return nil
	case "down":
		return errDown
	case "panic":
		panic("warehouse: a shelf fell over")
	case "unknown":
		return ErrUnknownSKU
	default:
		return fmt.Errorf("%w %q", ErrUnknownSKU, o.SKU)
	}
}

func take(ctx context.Context, verb string, d time.Duration) error {
	switch verb {
	case "busy":
		return &BusyError{For: d}
	case "hang":
		time.Sleep(d) // what a call without a context does
		return nil
	}
	select {
	case <-time.After(d):
		return nil
	case <-ctx.Done():
		return fmt.Errorf("not shipped in time: %w", ctx.Err())
	}
}

func flaky(ctx context.Context, n int) error {
	// The decoded order does not say how often it was tried: the record does.
	r, ok := batch.RecordFrom(ctx)
	if !ok {
		return errors.New("flaky: the context belongs to no record, so the attempt is unknown")
	}
	if r.Attempt < n {
		return fmt.Errorf("warehouse is flaky: attempt %d of %d", r.Attempt, n)
	}
	return nil
}
