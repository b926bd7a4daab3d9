package main

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"strings"
	"sync"

	"github.com/sqsbatch/sqsbatch/batch"
	"github.com/sqsbatch/sqsbatch/bulk"
)

// intoDatabase is the function: handler.Run(intoDatabase).
var intoDatabase = bulk.JSON(insertOrders, bulk.Config{MaxItems: 100}) // rows of a statement, at most

// open opens the database once, when it is first needed.
var open = sync.OnceValues(func() (*sql.DB, error) { return sql.Open("pgx", os.Getenv("DATABASE_URL")) })

// insertOrders inserts the orders in one statement. What it returns is for all
// that were not failed by themselves.
func insertOrders(ctx context.Context, items []bulk.Item[Order]) error {
	db, err := open()
	if err != nil {
		return err
	}
	var rows []string
	var args []any
	for i := range items {
		o := items[i].Value
		if o.Quantity < 1 {
			items[i].Fail(batch.Permanent(errors.New("an order of nothing")))
			continue
		}
		rows = append(rows, fmt.Sprintf("($%d, $%d, $%d)", len(args)+1, len(args)+2, len(args)+3))
		args = append(args, o.ID, o.SKU, o.Quantity)
	}
	if len(rows) == 0 {
		return nil
	}
	// An order that comes again changes nothing.
	_, err = db.ExecContext(ctx, "INSERT INTO orders (id, sku, quantity) VALUES "+strings.Join(rows, ", ")+" ON CONFLICT (id) DO NOTHING", args...)
	if err == nil {
		slog.InfoContext(ctx, "inserted", "orders", len(rows))
	}
	return err
}
