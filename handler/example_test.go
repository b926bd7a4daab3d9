package handler_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"

	awssqs "github.com/aws/aws-sdk-go-v2/service/sqs"
	"github.com/sqsbatch/sqsbatch/batch"
	"github.com/sqsbatch/sqsbatch/emulator/sqs"
	"github.com/sqsbatch/sqsbatch/handler"
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
