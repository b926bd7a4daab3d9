// Command hello is the least that a function for SQS can be: what coldstart
// compares with examples/orders.
package main

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/aws/aws-lambda-go/events"
	"github.com/aws/aws-lambda-go/lambda"
)

type order struct {
	ID       string `json:"id"`
	SKU      string `json:"sku"`
	Quantity int    `json:"quantity"`
}

func main() {
	lambda.Start(func(_ context.Context, e events.SQSEvent) (events.SQSEventResponse, error) {
		for _, r := range e.Records {
			var o order
			if err := json.Unmarshal([]byte(r.Body), &o); err != nil {
				return events.SQSEventResponse{}, fmt.Errorf("message %s: %w", r.MessageId, err)
			}
		}
		return events.SQSEventResponse{BatchItemFailures: []events.SQSBatchItemFailure{}}, nil
	})
}
