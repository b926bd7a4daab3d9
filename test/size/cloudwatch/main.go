// Command cloudwatch is plain with telemetry/cloudwatch.
package main

import (
	"context"

	"github.com/sqsbatch/sqsbatch/batch"
	"github.com/sqsbatch/sqsbatch/handler"
	"github.com/sqsbatch/sqsbatch/telemetry/cloudwatch"
)

func main() {
	h := batch.HandlerFunc(func(context.Context, batch.Record) error { return nil })
	handler.RunWith(h, handler.Config{Hooks: []any{cloudwatch.New(cloudwatch.Options{})}})
}
