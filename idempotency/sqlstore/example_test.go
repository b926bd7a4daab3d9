package sqlstore_test

import (
	"context"
	"database/sql"
	"log"
	"os"
	"time"

	"github.com/sqsbatch/sqsbatch/batch"
	"github.com/sqsbatch/sqsbatch/handler"
	"github.com/sqsbatch/sqsbatch/idempotency"
	"github.com/sqsbatch/sqsbatch/idempotency/sqlstore"
)

type Order struct {
	ID string `json:"id"`
}

// The work is in the same database, so each order is shipped exactly once, even if the process
// is killed at any point. The program imports a driver, such as
// github.com/jackc/pgx/v5/stdlib.
func Example() {
	db, err := sql.Open("pgx", os.Getenv("DATABASE_URL"))
	if err != nil {
		log.Fatal(err)
	}
	store := sqlstore.New(db, sqlstore.PostgreSQL, "idempotency")

	shipOrder := func(ctx context.Context, o Order) error {
		return store.InTx(ctx, func(tx *sql.Tx) error {
			_, err := tx.ExecContext(ctx, "INSERT INTO shipments (order_id) VALUES ($1)", o.ID)
			return err
		})
	}
	handler.Run(batch.Chain(batch.JSON(shipOrder), idempotency.New(store, idempotency.Config{
		Key: idempotency.Field("id"),
	})))
}

// A container deletes rows that have expired, each hour. On Lambda a function with a schedule
// does the same without the ticker.
func ExampleStore_DeleteExpired() {
	var ctx context.Context
	var store *sqlstore.Store

	deleteExpired := func() error {
		const limit = 1000
		for {
			deleted, err := store.DeleteExpired(ctx, limit)
			if err != nil || deleted < limit {
				return err
			}
		}
	}
	for range time.Tick(time.Hour) {
		if err := deleteExpired(); err != nil {
			log.Print(err)
		}
	}
}
