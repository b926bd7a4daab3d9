package handler_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"sync"
	"time"

	"github.com/aws/aws-lambda-go/events"
	awssqs "github.com/aws/aws-sdk-go-v2/service/sqs"
	"github.com/aws/aws-sdk-go-v2/service/sqs/types"

	"github.com/sqsbatch/sqsbatch/batch"
	"github.com/sqsbatch/sqsbatch/emulator/sqs"
	"github.com/sqsbatch/sqsbatch/handler"
	"github.com/sqsbatch/sqsbatch/partialfailure"
	"github.com/sqsbatch/sqsbatch/telemetry/emf"
)

type placedOrder struct {
	ID string `json:"id"`
}

func shipExample(_ context.Context, o placedOrder) error {
	if o.ID == "" {
		return errors.New("the order has no id")
	}
	fmt.Println("shipped", o.ID)
	return nil
}

// A program whose whole main function is this runs on Lambda and, where
// SQSBATCH_QUEUE_URL names a queue, in a container.
func ExampleRun() {
	main := func() { handler.Run(batch.JSON(shipExample)) }
	_ = main
}

// Settings in code. Each has a variable as well, see docs/configuration.md.
func ExampleRunWith() {
	main := func() {
		handler.RunWith(batch.JSON(shipExample), handler.Config{
			Concurrency:   50,
			RecordTimeout: 10 * time.Second,
			Failures:      partialfailure.Config{Outage: time.Hour},
		})
	}
	_ = main
}

// A hook of one's own: it counts records by outcome. JoinHooks adds it to those of a package.
func ExampleConfig_hooks() {
	count := map[batch.Outcome]int{}
	var mu sync.Mutex
	hooks := batch.Hooks{
		BatchSettled: func(_ context.Context, b batch.BatchInfo, results []batch.Result) {
			mu.Lock()
			defer mu.Unlock()
			for _, r := range results {
				count[r.Outcome]++
			}
		},
	}
	h, err := handler.New(batch.JSON(shipExample), handler.Config{
		Hooks:  batch.JoinHooks(emf.New(emf.Config{Writer: io.Discard}).Hooks(), hooks),
		Logger: slog.New(slog.DiscardHandler),
	})
	if err != nil {
		panic(err)
	}
	_, err = h.Invoke(context.Background(), []byte(`{"Records":[{"messageId":"m-1","receiptHandle":"r-1","eventSource":"aws:sqs","body":"{\"id\":\"o-1\"}"}]}`))
	fmt.Println(count, err)
	// Output:
	// shipped o-1
	// map[succeeded:1] <nil>
}

// A function that handles messages as aws-lambda-go has them goes on as it is. Its error is
// the record's.
func ExampleMessageFunc() {
	handle := func(_ context.Context, m events.SQSMessage) error {
		fmt.Println(m.MessageId, m.Body)
		return nil
	}
	main := func() { handler.Run(handler.MessageFunc(handle)) }
	_ = main
	fmt.Println(handler.MessageFunc(handle).Handle(context.Background(), batch.Record{MessageID: "m-1", Body: "hat"}))
	// Output:
	// m-1 hat
	// <nil>
}

// So does the body of a loop around ReceiveMessage, without its DeleteMessage.
func ExampleSDKMessageFunc() {
	handle := func(_ context.Context, m types.Message) error {
		fmt.Println(*m.MessageId, *m.Body)
		return nil
	}
	main := func() { handler.Run(handler.SDKMessageFunc(handle)) }
	_ = main
	fmt.Println(handler.SDKMessageFunc(handle).Handle(context.Background(), batch.Record{MessageID: "m-1", Body: "hat"}))
	// Output:
	// m-1 hat
	// <nil>
}

// Inside a main function of your own, the handler is a lambda.Handler of aws-lambda-go. The
// response names the messages that Lambda must keep.
func ExampleNew() {
	h, err := handler.New(batch.JSON(shipExample), handler.Config{Concurrency: 1, Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		panic(err)
	}
	response, err := h.Invoke(context.Background(), []byte(`{"Records":[
		{"messageId":"m-1","receiptHandle":"r-1","eventSource":"aws:sqs","body":"{\"id\":\"o-1\"}"},
		{"messageId":"m-2","receiptHandle":"r-2","eventSource":"aws:sqs","body":"{}"}
	]}`))
	fmt.Println(string(response), err)
	// Output:
	// shipped o-1
	// {"batchItemFailures":[{"itemIdentifier":"m-2"}]} <nil>
}

// Each queue has its own function. At most 40 records are handled at a time; while there are
// orders, they come first.
func ExampleQueues() {
	mail := func(_ context.Context, address string) error {
		fmt.Println("mailed", address)
		return nil
	}
	h, err := handler.New(handler.Queues{
		{URL: "orders", Handler: batch.JSON(shipExample), Priority: 1},
		{URL: "mails", Handler: batch.JSON(mail)},
	}, handler.Config{Concurrency: 40, Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		panic(err)
	}
	response, err := h.Invoke(context.Background(), []byte(`{"Records":[{"messageId":"m-1","receiptHandle":"r-1",
		"eventSource":"aws:sqs","eventSourceARN":"arn:aws:sqs:eu-west-1:123456789012:mails","body":"\"a@example.com\""}]}`))
	fmt.Println(string(response), err)
	// Output:
	// mailed a@example.com
	// {"batchItemFailures":[]} <nil>
}

// A program with a life cycle of its own polls until it is asked to stop. The queue is an
// emulated one here.
func ExampleNewPoller() {
	server := sqs.New(sqs.Config{})
	defer func() { _ = server.Close() }()
	client, name := server.Client(), "orders"
	queue, err := client.CreateQueue(context.Background(), &awssqs.CreateQueueInput{QueueName: &name})
	if err != nil {
		panic(err)
	}
	body := `{"id":"o-1"}`
	if _, err := client.SendMessage(context.Background(), &awssqs.SendMessageInput{QueueUrl: queue.QueueUrl, MessageBody: &body}); err != nil {
		panic(err)
	}

	shipped := make(chan string)
	p, err := handler.NewPoller(batch.JSON(func(_ context.Context, o placedOrder) error {
		shipped <- o.ID
		return nil
	}), handler.Config{
		SQS:    client,
		Logger: slog.New(slog.DiscardHandler),
		Poll:   handler.PollConfig{Queues: []string{"orders"}},
	})
	if err != nil {
		panic(err)
	}
	ended := make(chan error)
	go func() { ended <- p.Run(context.Background()) }()
	<-p.Started()
	fmt.Println("shipped", <-shipped)
	fmt.Println(p.Shutdown(context.Background()), <-ended)
	// Output:
	// shipped o-1
	// <nil> <nil>
}
