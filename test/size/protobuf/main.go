// Command protobuf is plain with payload/protobuf and a message.
package main

import (
	"context"

	"github.com/sqsbatch/sqsbatch/handler"
	"github.com/sqsbatch/sqsbatch/payload/protobuf"
	"google.golang.org/protobuf/types/known/wrapperspb"
)

func main() {
	handler.Run(protobuf.Handler(func(context.Context, *wrapperspb.StringValue) error { return nil }))
}
