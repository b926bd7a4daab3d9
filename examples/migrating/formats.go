package main

import (
	"context"
	"errors"
	"log/slog"
	"strconv"
	"strings"

	"github.com/sqsbatch/sqsbatch/batch"
	"github.com/sqsbatch/sqsbatch/router"
)

// byFormat is the consumer for bodies that do not say what they are. The first handler that
// can read a body gets it.
var byFormat = router.First(batch.JSON(shipBasket), batch.JSON(ship), batch.Text(shipLine))

// Basket is what the shop sends today. A Placed is what it sent before.
type Basket struct {
	ID    string   `json:"id"`
	Lines []Placed `json:"lines"`
}

// Validate refuses what is not a basket, such as an order.
func (b Basket) Validate() error {
	if len(b.Lines) == 0 {
		return errors.New("no lines")
	}
	return nil
}

func shipBasket(ctx context.Context, b Basket) error {
	slog.InfoContext(ctx, "shipped", "order", b.ID, "lines", len(b.Lines))
	return nil
}

// shipLine takes what the till sends: "o-3;ok;4".
func shipLine(ctx context.Context, body string) error {
	fields := strings.Split(body, ";")
	if len(fields) != 3 {
		return &batch.MalformedError{Reason: "not three fields with semicolons between them"}
	}
	quantity, err := strconv.Atoi(fields[2])
	if err != nil {
		return &batch.MalformedError{Reason: "the third field is not a number", Err: err}
	}
	return ship(ctx, Placed{ID: fields[0], SKU: fields[1], Quantity: quantity})
}
