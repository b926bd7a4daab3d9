// Command formats shows the result of moving a function whose queue has bodies of several
// formats that do not say which one they are to sqsbatch.
package main

import (
	"context"
	"errors"
	"log/slog"
	"strconv"
	"strings"

	"github.com/sqsbatch/sqsbatch/batch"
	"github.com/sqsbatch/sqsbatch/handler"
	"github.com/sqsbatch/sqsbatch/router"
)

// The first handler that can read a body gets it.
var consumer = router.First(batch.JSON(shipBasket), batch.JSON(shipOrder), batch.Text(shipLine))

func main() { handler.Run(consumer) }

// Basket is what the shop sends today.
type Basket struct {
	ID    string `json:"id"`
	Lines []struct {
		SKU      string `json:"sku"`
		Quantity int    `json:"quantity"`
	} `json:"lines"`
}

// Validate refuses what is not a basket, such as an order.
func (b Basket) Validate() error {
	if len(b.Lines) == 0 {
		return errors.New("no lines")
	}
	return nil
}

// Order is what the shop sent before: an order of one article.
type Order struct {
	ID       string `json:"id"`
	SKU      string `json:"sku"`
	Quantity int    `json:"quantity"`
}

// Validate refuses what is not an order.
func (o Order) Validate() error {
	if o.SKU == "" {
		return errors.New("no sku")
	}
	return nil
}

func shipBasket(ctx context.Context, b Basket) error {
	slog.InfoContext(ctx, "shipped", "order", b.ID, "lines", len(b.Lines))
	return nil
}

func shipOrder(ctx context.Context, o Order) error {
	slog.InfoContext(ctx, "shipped", "order", o.ID, "quantity", o.Quantity)
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
	return shipOrder(ctx, Order{ID: fields[0], SKU: fields[1], Quantity: quantity})
}
