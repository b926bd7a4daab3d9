// Command trial does what a body says, and prints each record that its handler is called for.
package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/config"
	"github.com/aws/aws-sdk-go-v2/service/sqs"

	"github.com/sqsbatch/sqsbatch/batch"
	"github.com/sqsbatch/sqsbatch/handler"
)

func main() {
	handler.Run(batch.HandlerFunc(func(ctx context.Context, r batch.Record) error {
		attributes := ""
		if kind, ok := r.MessageAttributes["kind"]; ok {
			attributes = fmt.Sprintf(", kind %q, trace %q", kind.StringValue, r.TraceHeader)
		}
		fmt.Printf("handled %s, attempt %d, group %q, deduplication id %q%s\n", r.Body, r.Attempt, r.GroupID, r.DeduplicationID, attributes)
		switch r.Body {
		case "at once":
			return batch.RetryAfter(0, errors.New("not now"))
		case "later":
			return errors.New("not yet")
		case "permanent":
			return batch.Permanent(errors.New("never"))
		case "send":
			return send(ctx, "sent by the function")
		case "pause":
			time.Sleep(400 * time.Millisecond)
		case "hang":
			time.Sleep(time.Hour)
		case "exit":
			os.Exit(7)
		}
		return nil
	}))
}

// send sends a message to the function's own queue.
func send(ctx context.Context, body string) error {
	c, err := config.LoadDefaultConfig(ctx)
	if err != nil {
		return err
	}
	_, err = sqs.NewFromConfig(c).SendMessage(ctx, &sqs.SendMessageInput{QueueUrl: aws.String(os.Getenv("WORK")), MessageBody: &body})
	return err
}
