package main

import (
	"context"
	"database/sql"
	"log"
	"os"
	"time"

	_ "github.com/jackc/pgx/v5/stdlib"
	"github.com/sqsbatch/sqsbatch/batch"
	"github.com/sqsbatch/sqsbatch/handler"
	"github.com/sqsbatch/sqsbatch/idempotency"
	"github.com/sqsbatch/sqsbatch/idempotency/sqlstore"
)

type Order struct {
	ID string `json:"id"`
}

// deleteExpired deletes completions that are too old to count. Several processes may do so.
func deleteExpired(store *sqlstore.Store) {
	for range time.Tick(time.Minute) {
		if _, err := store.DeleteExpired(context.Background(), 10_000); err != nil {
			log.Print(err)
		}
	}
}

func main() {
	db, err := sql.Open("pgx", os.Getenv("DATABASE_URL"))
	if err != nil {
		log.Fatal(err)
	}
	store := sqlstore.New(db, sqlstore.PostgreSQL, "idempotency")
	if err := store.Migrate(context.Background()); err != nil {
		log.Fatal(err)
	}
	go deleteExpired(store)
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
