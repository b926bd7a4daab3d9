// Command other shows the result of moving a function that is invoked for its queue, by a
// schedule and directly to sqsbatch.
package main

import (
	"context"
	"fmt"
	"log/slog"
	"time"

	"github.com/aws/aws-lambda-go/events"
	"github.com/aws/aws-lambda-go/lambda"

	"github.com/sqsbatch/sqsbatch/batch"
	"github.com/sqsbatch/sqsbatch/handler"
)

var (
	consumer = batch.JSON(shipOrder)
	config   = handler.Config{Other: lambda.NewHandler(nightly)}
)

func main() { handler.RunWith(consumer, config) }

// Order is a message.
type Order struct {
	ID string `json:"id"`
}

func shipOrder(ctx context.Context, o Order) error {
	slog.InfoContext(ctx, "shipped", "order", o.ID)
	return nil
}

// nightly gets every invocation that is not an event of SQS. What it returns is
// the result of the invocation.
func nightly(ctx context.Context, e events.EventBridgeEvent) error {
	if e.DetailType != "Scheduled Event" {
		return fmt.Errorf("an invocation of type %q", e.DetailType)
	}
	slog.InfoContext(ctx, "archived", "until", e.Time.Format(time.DateOnly))
	return nil
}
