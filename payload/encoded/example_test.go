package encoded_test

import (
	"context"
	"fmt"
	"strings"

	awssqs "github.com/aws/aws-sdk-go-v2/service/sqs"
	"github.com/sqsbatch/sqsbatch/batch"
	"github.com/sqsbatch/sqsbatch/emulator/sqs"
	"github.com/sqsbatch/sqsbatch/payload/encoded"
	"github.com/sqsbatch/sqsbatch/sender"
)

type Order struct{ SKU string }

func Example() {
	h := encoded.Unwrap(batch.JSON(func(_ context.Context, o Order) error {
		fmt.Println("shipping", o.SKU)
		return nil
	})) // for handler.Run

	r := batch.Record{
		Body:              "H4sIAAAAAAACA6tWCvYOVbJSykgs0TVUqgUA+i2ZHQ8AAAA=",
		MessageAttributes: map[string]batch.MessageAttribute{"Content-Encoding": {DataType: "String", StringValue: "gzip"}},
	}
	if err := h.Handle(context.Background(), r); err != nil {
		fmt.Println(err)
	}
	// Output: shipping hat-1
}

// A batching sender whose messages are compressed. A call has up to 1 MiB of compressed
// messages.
func ExamplePrepare() {
	server := sqs.New(sqs.Config{}) // in a program: SQS
	defer server.Close()
	client, name := server.Client(), "orders"
	if _, err := client.CreateQueue(context.Background(), &awssqs.CreateQueueInput{QueueName: &name}); err != nil {
		panic(err)
	}
	large := encoded.Config{MaxBytes: 4 << 20} // also for the receiver: large.Unwrap
	s, err := sender.New(client, sender.Config{Queue: name, Prepare: large.Prepare})
	if err != nil {
		panic(err)
	}
	err = s.Send(context.Background(), sender.Text(strings.Repeat("many words ", 200_000))) // 2.2 MB
	sent := server.Snapshot()[0].Messages[0]
	fmt.Println(err, len(sent.Body) < 20_000, sent.Attributes["Content-Encoding"].String)
	// Output:
	// <nil> true gzip
}
