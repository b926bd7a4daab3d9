package sqs_test

import (
	"context"
	"fmt"
	"log"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	awssqs "github.com/aws/aws-sdk-go-v2/service/sqs"

	"github.com/sqsbatch/sqsbatch/emulator/sqs"
)

// A server without a socket, used by AWS's own client.
func Example() {
	server := sqs.New(sqs.Config{})
	defer server.Close()
	client := server.Client()

	ctx := context.Background()
	orders, err := client.CreateQueue(ctx, &awssqs.CreateQueueInput{QueueName: aws.String("orders")})
	if err != nil {
		log.Fatal(err)
	}
	_, err = client.SendMessage(ctx, &awssqs.SendMessageInput{
		QueueUrl: orders.QueueUrl, MessageBody: aws.String(`{"id":"o-1"}`)})
	if err != nil {
		log.Fatal(err)
	}
	received, err := client.ReceiveMessage(ctx, &awssqs.ReceiveMessageInput{QueueUrl: orders.QueueUrl})
	if err != nil {
		log.Fatal(err)
	}
	for _, m := range received.Messages {
		fmt.Println(*m.Body)
	}
	// Output: {"id":"o-1"}
}

// Observe reports the events of a test's messages.
func ExampleConfig_observe() {
	server := sqs.New(sqs.Config{Observe: func(e sqs.Event) {
		fmt.Println(e.Kind, e.Body, e.Visibility)
	}})
	defer server.Close()
	client := newClient(server)

	ctx := context.Background()
	queue := aws.String(server.QueueURL("orders"))
	_, _ = client.CreateQueue(ctx, &awssqs.CreateQueueInput{QueueName: aws.String("orders")})
	_, _ = client.SendMessage(ctx, &awssqs.SendMessageInput{QueueUrl: queue, MessageBody: aws.String("o-1")})
	received, _ := client.ReceiveMessage(ctx, &awssqs.ReceiveMessageInput{
		QueueUrl: queue, VisibilityTimeout: int32((2 * time.Minute).Seconds())})
	_, _ = client.DeleteMessage(ctx, &awssqs.DeleteMessageInput{
		QueueUrl: queue, ReceiptHandle: received.Messages[0].ReceiptHandle})
	// Output:
	// sent o-1 0s
	// received o-1 2m0s
	// deleted o-1 0s
}
