// Command worker is one of the two that the check starts: a consumer as a user would write it,
// which prints when the work of an order begins and ends, and when that is known to the store.
package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strconv"
	"sync/atomic"
	"time"

	"github.com/aws/aws-sdk-go-v2/config"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/sqsbatch/sqsbatch/batch"
	"github.com/sqsbatch/sqsbatch/handler"
	"github.com/sqsbatch/sqsbatch/idempotency"
	"github.com/sqsbatch/sqsbatch/idempotency/dynamostore"
)

type order struct {
	ID     string
	Millis int
}

func main() {
	cfg, err := config.LoadDefaultConfig(context.Background())
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	store := dynamostore.New(dynamodb.NewFromConfig(cfg), os.Getenv("TABLE"))
	handler.Run(batch.Chain(batch.JSON(ship), completed, idempotency.New(store, idempotency.Config{
		Key: idempotency.Field("ID"), Lease: 3 * time.Second,
	})))
}

// completed is the outermost: it prints when the store knows that the work is done, or knew it.
func completed(next batch.Handler) batch.Handler {
	return batch.HandlerFunc(func(ctx context.Context, r batch.Record) error {
		err := next.Handle(ctx, r)
		if err == nil || errors.Is(err, batch.ErrDuplicate) {
			fmt.Println("completed", r.Body)
		}
		return err
	})
}

// begun counts the orders. Those after STUCK_AFTER do not end.
var begun atomic.Int64

// ship takes as long as the order says.
func ship(ctx context.Context, o order) error {
	takes := time.Duration(o.Millis) * time.Millisecond
	if most, err := strconv.ParseInt(os.Getenv("STUCK_AFTER"), 10, 64); err == nil && begun.Add(1) > most {
		takes = time.Hour
	}
	fmt.Println("begin", o.ID)
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-time.After(takes):
	}
	fmt.Println("end", o.ID)
	return nil
}
