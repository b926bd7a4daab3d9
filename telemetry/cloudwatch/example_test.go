package cloudwatch_test

import (
	"context"
	"time"

	"github.com/sqsbatch/sqsbatch/batch"
	"github.com/sqsbatch/sqsbatch/handler"
	"github.com/sqsbatch/sqsbatch/telemetry/cloudwatch"
)

type Order struct{ ID string }

func shipOrder(context.Context, Order) error { return nil }

// Metrics once a minute, with a dimension of one's own.
func ExampleNew() {
	handler.RunWith(batch.JSON(shipOrder), handler.Config{
		Hooks: cloudwatch.New(cloudwatch.Config{
			Service:    "orders",
			Dimensions: map[string]string{"Environment": "production"},
		}).Hooks(),
	})
}

// For alarms that cannot wait a minute: ten seconds, stored by the second.
func ExampleNew_highResolution() {
	handler.RunWith(batch.JSON(shipOrder), handler.Config{
		Hooks: cloudwatch.New(cloudwatch.Config{Service: "orders", Interval: 10 * time.Second, HighResolution: true}).Hooks(),
	})
}
