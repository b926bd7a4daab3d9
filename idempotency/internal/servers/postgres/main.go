package main

import (
	"context"
	"database/sql"
	"log"
	"os"

	_ "github.com/jackc/pgx/v5/stdlib"
	"github.com/sqsbatch/sqsbatch/batch"
	"github.com/sqsbatch/sqsbatch/handler"
	"github.com/sqsbatch/sqsbatch/idempotency"
	"github.com/sqsbatch/sqsbatch/idempotency/sqlstore"
)

type Order struct {
	ID string `json:"id"`
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
