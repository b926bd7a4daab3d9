package longpoll_test

import (
	"context"
	"fmt"
	"time"

	awssqs "github.com/aws/aws-sdk-go-v2/service/sqs"

	"github.com/sqsbatch/sqsbatch/batch"
	"github.com/sqsbatch/sqsbatch/emulator/sqs"
	"github.com/sqsbatch/sqsbatch/internal/longpoll"
)

// A poller for one queue, until that is empty. Package handler adds settings from the
// environment, a log and health checks; most programs use that.
func ExamplePoller() {
	server := sqs.New(sqs.Config{})
	defer func() { _ = server.Close() }()
	client, name, body := server.Client(), "orders", "o-1"
	queue, err := client.CreateQueue(context.Background(), &awssqs.CreateQueueInput{QueueName: &name})
	if err != nil {
		panic(err)
	}
	if _, err := client.SendMessage(context.Background(), &awssqs.SendMessageInput{QueueUrl: queue.QueueUrl, MessageBody: &body}); err != nil {
		panic(err)
	}

	p := longpoll.New(batch.Text(func(_ context.Context, id string) error {
		fmt.Println("shipped", id)
		return nil
	}), longpoll.Config{Queue: *queue.QueueUrl, SQS: client, Wait: time.Second, UntilEmpty: true})
	fmt.Println(p.Run(context.Background()))
	c := p.Status().Counts
	fmt.Println(c.Received, "received,", c.Succeeded, "succeeded")
	// Output:
	// shipped o-1
	// <nil>
	// 1 received, 1 succeeded
}
