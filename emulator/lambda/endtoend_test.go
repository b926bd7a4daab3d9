package lambda_test

import (
	"context"
	"net/http"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	awssqs "github.com/aws/aws-sdk-go-v2/service/sqs"

	"github.com/sqsbatch/sqsbatch/emulator/lambda"
	"github.com/sqsbatch/sqsbatch/emulator/sqs"
)

// All parts are real: a queue behind a socket, a process of aws-lambda-go, and
// the mapping between them.
func TestMappingWithAProcess(t *testing.T) {
	server, err := sqs.Serve("127.0.0.1:0", sqs.Options{})
	ok(t, err)
	defer server.Close()
	connections := &http.Client{Transport: &http.Transport{}}
	defer connections.CloseIdleConnections()
	client := server.Client(func(o *awssqs.Options) { o.HTTPClient = connections })
	queue, err := client.CreateQueue(t.Context(), &awssqs.CreateQueueInput{QueueName: aws.String("orders")})
	ok(t, err)
	for _, body := range []string{"good", "bad", "fine"} {
		if _, err := client.SendMessage(t.Context(), &awssqs.SendMessageInput{QueueUrl: queue.QueueUrl, MessageBody: &body}); err != nil {
			t.Fatal(err)
		}
	}
	d := deploy(t, "sqs", nil)
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	deleted := map[string]bool{}
	m := lambda.Mapping{
		Function: d, SQS: client, QueueURL: *queue.QueueUrl, ReportBatchItemFailures: true,
		Ended: func(e lambda.Ended) {
			if e.Result.Error != nil {
				t.Error(e.Result.Error)
			}
			for i, r := range e.Records {
				deleted[r.Body] = e.Verdicts[i].Deleted
			}
			if len(deleted) == 3 {
				cancel()
			}
		},
		Errored: func(e *lambda.PollError) { t.Error(e) },
	}
	ok(t, m.Run(ctx))
	if len(deleted) != 3 || !deleted["good"] || deleted["bad"] || !deleted["fine"] {
		t.Errorf("deleted %v, want good and fine", deleted)
	}
}
