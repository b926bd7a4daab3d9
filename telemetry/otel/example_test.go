package otel_test

import (
	"context"
	"fmt"

	"github.com/aws/aws-sdk-go-v2/aws"
	awssqs "github.com/aws/aws-sdk-go-v2/service/sqs"
	"github.com/aws/aws-sdk-go-v2/service/sqs/types"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"

	"github.com/sqsbatch/sqsbatch/batch"
	"github.com/sqsbatch/sqsbatch/handler"
	"github.com/sqsbatch/sqsbatch/telemetry/otel"
)

func Example() {
	provider := sdktrace.NewTracerProvider( /* sdktrace.WithBatcher(exporter) */ )
	cfg := handler.Config{
		Hooks: otel.New(otel.Config{TracerProvider: provider, Flush: provider.ForceFlush}).Hooks(),
	}
	_, err := handler.New(batch.HandlerFunc(func(context.Context, batch.Record) error {
		return nil
	}), cfg) // or handler.RunWith, which does not return
	fmt.Println(err)
	// Output: <nil>
}

// A sender of one message. The entries of SendMessageBatch have attributes of their own.
func ExampleInject() {
	send := func(ctx context.Context, client *awssqs.Client, queueURL, body string) error {
		attributes, err := otel.Inject(ctx, map[string]types.MessageAttributeValue{
			"kind": {DataType: aws.String("String"), StringValue: aws.String("order")},
		})
		if err != nil {
			fmt.Println(err) // ten attributes already: send it all the same
		}
		_, err = client.SendMessage(ctx, &awssqs.SendMessageInput{
			QueueUrl: &queueURL, MessageBody: &body, MessageAttributes: attributes,
		})
		return err
	}
	_ = send
}
