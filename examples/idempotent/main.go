// Command idempotent ships each order once, however often its message is sent and
// delivered: package idempotency remembers the orders that were shipped, by their id.
//
//	go run ./cmd/sqsbatch local ./examples/idempotent
//
// The template's parameter Idempotency makes a table for it and sets IDEMPOTENCY_TABLE.
// Without that variable the orders are remembered in memory, which is enough to try it.
package main

import (
	"context"
	"log"
	"log/slog"
	"os"
	"time"

	"github.com/aws/aws-sdk-go-v2/config"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"github.com/sqsbatch/sqsbatch/batch"
	"github.com/sqsbatch/sqsbatch/handler"
	"github.com/sqsbatch/sqsbatch/idempotency"
	"github.com/sqsbatch/sqsbatch/idempotency/dynamostore"
)

//sqsbatch:samples samples.json

type order struct {
	ID       string `json:"id"`
	Quantity int    `json:"quantity"`
}

func main() {
	store, err := openStore(os.Getenv("IDEMPOTENCY_TABLE"))
	if err != nil {
		log.Fatal(err)
	}
	handler.Run(batch.Chain(batch.JSON(ship), idempotency.New(store, idempotency.Config{
		Key: idempotency.Field("id"),
	})))
}

func openStore(table string) (idempotency.Store, error) {
	if table == "" {
		slog.Warn("IDEMPOTENCY_TABLE is not set: orders are remembered in this process only")
		return idempotency.NewMemory(), nil
	}
	cfg, err := config.LoadDefaultConfig(context.Background())
	if err != nil {
		return nil, err
	}
	return dynamostore.New(dynamodb.NewFromConfig(cfg), table), nil
}

// ship takes a second, so that copies of an order meet each other.
func ship(ctx context.Context, o order) error {
	select {
	case <-time.After(time.Second):
		slog.InfoContext(ctx, "shipped", "order", o.ID)
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
