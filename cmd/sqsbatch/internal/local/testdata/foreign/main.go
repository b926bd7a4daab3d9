// Command foreign is a function that does not use sqsbatch: it names as failed the records whose
// body says so, prints each one, and returns an error for the whole batch when one asks for it.
package main

import (
	"context"
	"errors"
	"fmt"

	"github.com/aws/aws-lambda-go/events"
	"github.com/aws/aws-lambda-go/lambda"
)

func main() {
	lambda.Start(func(_ context.Context, e events.SQSEvent) (out events.SQSEventResponse, err error) {
		for _, r := range e.Records {
			fmt.Println("got", r.Body)
			switch r.Body {
			case "fail":
				out.BatchItemFailures = append(out.BatchItemFailures, events.SQSBatchItemFailure{ItemIdentifier: r.MessageId})
			case "error":
				err = errors.New("nothing works")
			}
		}
		return out, err
	})
}
