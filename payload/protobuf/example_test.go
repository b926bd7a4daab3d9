package protobuf_test

import (
	"context"
	"fmt"

	"github.com/sqsbatch/sqsbatch/batch"
	"github.com/sqsbatch/sqsbatch/payload/protobuf"
	"google.golang.org/protobuf/types/known/wrapperspb"
)

// The message would be one of yours, such as *shop.Order.
func Example() {
	h := protobuf.Handler(func(_ context.Context, sku *wrapperspb.StringValue) error {
		fmt.Println("shipping", sku.Value)
		return nil
	}) // for handler.Run

	for _, body := range []string{"CgVoYXQtMQ==", "CgVoYXQ", "{}"} {
		if err := h.Handle(context.Background(), batch.Record{Body: body}); err != nil {
			fmt.Println(err)
		}
	}
	// Output:
	// shipping hat-1
	// malformed body: field "value" is damaged or cut at offset 0
	// malformed body: not valid base64 at offset 0
}
