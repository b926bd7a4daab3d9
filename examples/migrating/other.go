package main

import (
	"context"
	"fmt"
	"log/slog"
	"time"

	"github.com/aws/aws-lambda-go/events"
	"github.com/aws/aws-lambda-go/lambda"

	"github.com/sqsbatch/sqsbatch/handler"
)

// withSchedule is for a function that is also invoked by a schedule, or directly:
// handler.RunWith(loop, withSchedule).
var withSchedule = handler.Config{Other: lambda.NewHandler(nightly)}

// nightly gets every invocation that is not an event of SQS. What it returns is
// the result of the invocation.
func nightly(ctx context.Context, e events.EventBridgeEvent) error {
	if e.DetailType != "Scheduled Event" {
		return fmt.Errorf("an invocation of type %q", e.DetailType)
	}
	slog.InfoContext(ctx, "archived", "until", e.Time.Format(time.DateOnly))
	return nil
}
