package sender_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"time"

	awssqs "github.com/aws/aws-sdk-go-v2/service/sqs"

	"github.com/sqsbatch/sqsbatch/batch"
	"github.com/sqsbatch/sqsbatch/emulator/sqs"
	"github.com/sqsbatch/sqsbatch/sender"
)

type Order struct {
	ID string `json:"id"`
}

// newQueue makes a queue. In a program, the client is sqs.NewFromConfig(cfg).
func newQueue(name string) (client *awssqs.Client, server *sqs.Server) {
	server = sqs.New(sqs.Config{})
	client = server.Client()
	in := &awssqs.CreateQueueInput{QueueName: &name}
	if strings.HasSuffix(name, ".fifo") {
		in.Attributes = map[string]string{"FifoQueue": "true"}
	}
	if _, err := client.CreateQueue(context.Background(), in); err != nil {
		panic(err)
	}
	return client, server
}

// newSender makes a sender and the queue that it has by its name.
func newSender(cfg sender.Config) (*sender.Sender, *sqs.Server) {
	client, server := newQueue(cfg.Queue)
	s, err := sender.New(client, cfg)
	if err != nil {
		panic(err)
	}
	return s, server
}

func Example() {
	client, server := newQueue("orders")
	defer server.Close()
	ctx := context.Background()

	s, err := sender.New(client, sender.Config{Queue: "orders"})
	if err != nil {
		panic(err)
	}
	err = s.Send(ctx, sender.JSON(Order{ID: "1"}))
	fmt.Println(err, server.Snapshot()[0].Messages[0].Body)
	left := s.Close(ctx)
	fmt.Println(len(left), "left")
	// Output:
	// <nil> {"id":"1"}
	// 0 left
}

func ExampleSender_Enqueue() {
	s, server := newSender(sender.Config{Queue: "orders", Concurrency: 1, Linger: time.Minute})
	defer server.Close()
	ctx := context.Background()
	var confirmed atomic.Int32 // results of different calls come concurrently
	for i := range 20 {
		err := s.Enqueue(ctx, sender.JSON(Order{ID: fmt.Sprint(i)}), func(r sender.Result) {
			if r.Err != nil {
				fmt.Println(r.Message.Body, r.Err, r.MayHaveBeenSent)
				return
			}
			confirmed.Add(1)
		})
		if err != nil {
			panic(err)
		}
	}
	if err := s.Flush(ctx); err != nil {
		panic(err)
	}
	fmt.Println(confirmed.Load(), "messages in", len(server.Calls("SendMessageBatch")), "calls")
	// Output:
	// 20 messages in 3 calls
}

func ExampleSender_Close() {
	s, server := newSender(sender.Config{Queue: "orders"})
	defer server.Close()
	_ = server.Inject(sqs.Fault{Kind: sqs.Refused}) // SQS is out of reach
	if err := s.Enqueue(context.Background(), sender.Text("hello"), nil); err != nil {
		panic(err)
	}
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Millisecond)
	defer cancel()
	for _, r := range s.Close(ctx) {
		fmt.Println(r.Message.Body, errors.Is(r.Err, sender.ErrClosed), r.MayHaveBeenSent)
	}
	// Output:
	// hello true false
}

func ExampleMessage() {
	s, server := newSender(sender.Config{Queue: "orders.fifo"})
	defer server.Close()
	m := sender.JSON(Order{ID: "1"})
	m.Group = "customer-7"
	m.DeduplicationID = "order-1" // or none: a random one
	m.Attributes = map[string]batch.MessageAttribute{"tenant": {DataType: "String", StringValue: "blue"}}
	for range 2 {
		fmt.Println(s.Send(context.Background(), m))
	}
	sent := server.Snapshot()[0].Messages
	fmt.Println(len(sent), sent[0].MessageGroupID, sent[0].Attributes["tenant"].String)
	// Output:
	// <nil>
	// <nil>
	// 1 customer-7 blue
}

func ExampleMessageError() {
	s, server := newSender(sender.Config{Queue: "orders"})
	defer server.Close()
	err := s.Send(context.Background(), sender.Text(strings.Repeat("x", 2<<20)))
	fmt.Println(err)
	var wrong *sender.MessageError
	fmt.Println(errors.As(err, &wrong), wrong.Field)
	// Output:
	// sender: Body is too large: it has 2097152 bytes, and 2097152 with the attributes. SQS takes 1048576
	// true Body
}

func ExampleConfig_onCall() {
	s, server := newSender(sender.Config{
		Queue: "orders",
		OnCall: func(c sender.Call) {
			fmt.Println(c.Entries, "messages,", c.Bytes, "bytes,", c.Retried, "retried,", c.Failed, "failed, error:", c.Err)
		},
	})
	defer server.Close()
	_ = s.Send(context.Background(), sender.Text("hello"))
	// Output:
	// 1 messages, 5 bytes, 0 retried, 0 failed, error: <nil>
}
