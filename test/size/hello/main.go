// Command hello is the least that a function needs which handles SQS events
// and sets backoff by hand: what it links is what examples/orders is measured
// against.
package main

import (
	"context"

	"github.com/aws/aws-lambda-go/events"
	"github.com/aws/aws-lambda-go/lambda"
	"github.com/aws/aws-sdk-go-v2/config"
	"github.com/aws/aws-sdk-go-v2/service/sqs"
)

func main() {
	cfg, err := config.LoadDefaultConfig(context.Background())
	if err != nil {
		panic(err)
	}
	client := sqs.NewFromConfig(cfg)
	lambda.Start(func(ctx context.Context, _ events.SQSEvent) (events.SQSEventResponse, error) {
		// One call, as any such function makes: the linker drops what is not called.
		_, err := client.ChangeMessageVisibilityBatch(ctx, &sqs.ChangeMessageVisibilityBatchInput{})
		return events.SQSEventResponse{}, err
	})
}
