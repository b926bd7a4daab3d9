package lambda_test

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/aws/aws-lambda-go/events"
	"github.com/aws/aws-sdk-go-v2/aws"
	awssqs "github.com/aws/aws-sdk-go-v2/service/sqs"

	"github.com/sqsbatch/sqsbatch/emulator/lambda"
	"github.com/sqsbatch/sqsbatch/emulator/sqs"
)

func ExampleDeployment_Invoke() {
	fn, err := lambda.Start(lambda.Function{
		Timeout: 10 * time.Second,
		Handler: func(_ context.Context, payload []byte) ([]byte, error) {
			return append([]byte("got "), payload...), nil
		},
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer fn.Close()
	result, err := fn.Invoke(context.Background(), []byte("a payload"))
	fmt.Printf("%s, cold start: %v, error: %v\n", result.Payload, result.ColdStart, err)
	// Output: got a payload, cold start: true, error: <nil>
}

// A queue, a function and a mapping in one process. The function fails the record with the
// body "bad", which stays in the queue.
func ExampleMapping() {
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	server := sqs.New(sqs.Config{})
	defer server.Close()
	client := server.Client()
	queue, err := client.CreateQueue(ctx, &awssqs.CreateQueueInput{QueueName: aws.String("orders")})
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, body := range []string{"good", "bad"} {
		if _, err := client.SendMessage(ctx, &awssqs.SendMessageInput{QueueUrl: queue.QueueUrl, MessageBody: &body}); err != nil {
			fmt.Println(err)
			return
		}
	}

	fn, err := lambda.Start(lambda.Function{Handler: func(_ context.Context, payload []byte) ([]byte, error) {
		var event events.SQSEvent
		if err := json.Unmarshal(payload, &event); err != nil {
			return nil, err
		}
		var response events.SQSEventResponse
		for _, r := range event.Records {
			if r.Body == "bad" {
				response.BatchItemFailures = append(response.BatchItemFailures, events.SQSBatchItemFailure{ItemIdentifier: r.MessageId})
			}
		}
		return json.Marshal(response)
	}})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer fn.Close()

	mapping := lambda.Mapping{
		Function: fn, SQS: client, QueueURL: *queue.QueueUrl, ReportBatchItemFailures: true,
		Ended: func(e lambda.Ended) {
			for i, r := range e.Records {
				fmt.Printf("%s: deleted %v\n", r.Body, e.Verdicts[i].Deleted)
			}
			cancel() // enough for an example
		},
	}
	fmt.Println("error:", mapping.Run(ctx))
	// Output:
	// good: deleted true
	// bad: deleted false
	// error: <nil>
}
