// Command protobuf shows the result of moving a function that decodes Protocol Buffers by
// hand to sqsbatch.
package main

import (
	"context"
	"log/slog"

	"github.com/sqsbatch/sqsbatch/examples/migrating/protobuf/orderpb"
	"github.com/sqsbatch/sqsbatch/handler"
	"github.com/sqsbatch/sqsbatch/payload/protobuf"
)

var consumer = protobuf.Handler(shipOrder)

func main() { handler.Run(consumer) }

func shipOrder(ctx context.Context, o *orderpb.Order) error {
	slog.InfoContext(ctx, "shipped", "order", o.GetId(), "quantity", o.GetQuantity())
	return nil
}
