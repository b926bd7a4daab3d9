package main

import (
	"context"
	"log/slog"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	awssqs "github.com/aws/aws-sdk-go-v2/service/sqs"

	"github.com/sqsbatch/sqsbatch/batch"
	"github.com/sqsbatch/sqsbatch/emulator/sqs"
	"github.com/sqsbatch/sqsbatch/handler"
)

// A report of 20 pages takes 20 minutes, and is stopped in the middle by a
// deployment. It passes in milliseconds: the time is synctest's, the queue
// emulator/sqs.
func TestADeploymentInTheMiddleOfAReport(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server := sqs.New(sqs.Options{})
		defer server.Close()
		client := server.Client()
		queue, err := client.CreateQueue(t.Context(), &awssqs.CreateQueueInput{QueueName: aws.String("reports")})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := client.SendMessage(t.Context(), &awssqs.SendMessageInput{
			QueueUrl: queue.QueueUrl, MessageBody: aws.String(`{"id":"r-1","pages":20}`),
		}); err != nil {
			t.Fatal(err)
		}
		// A process: it polls until stop is called, which stands for SIGTERM.
		start := func() (stop func() error) {
			ctx, cancel := context.WithCancel(t.Context())
			ended := make(chan error, 1)
			go func() {
				ended <- handler.Poll(ctx, batch.JSON(makeReport), handler.Config{
					RecordTimeout: 30 * time.Minute, SQS: client, Logger: slog.New(slog.DiscardHandler),
					Poll: handler.PollConfig{Queues: []string{*queue.QueueUrl}},
				})
			}()
			return func() error { cancel(); return <-ended }
		}

		old := start()
		time.Sleep(10 * time.Minute)
		began := time.Now()
		if err := old(); err != nil {
			t.Fatal(err)
		}
		// It was given 24 s to finish, then cancelled and made visible at once.
		if took := time.Since(began); took < 24*time.Second || took > 25*time.Second {
			t.Errorf("the stop took %v", took)
		}
		stop := start()
		time.Sleep(21 * time.Minute)
		if deleted := server.Events(sqs.Deleted); len(deleted) != 1 || deleted[0].ReceiveCount != 2 {
			t.Errorf("deleted: %+v", deleted)
		}
		if err := stop(); err != nil {
			t.Fatal(err)
		}
	})
}
