package main

import (
	"context"
	"fmt"
	"net/http"
	"strconv"

	"github.com/aws/aws-sdk-go-v2/aws"
	awshttp "github.com/aws/aws-sdk-go-v2/aws/transport/http"
	awssqs "github.com/aws/aws-sdk-go-v2/service/sqs"
	"github.com/aws/aws-sdk-go-v2/service/sqs/types"
	"golang.org/x/sync/errgroup"

	"github.com/sqsbatch/sqsbatch/test/internal/sqsqueue"
)

// bareLoop is the argument with which this program runs as the opponent: what one writes by
// hand. It keeps no journal, holds nothing, and looks at no error of an entry.
const bareLoop = "bare"

const bareLoops = 16 // the tool's --parallel

func runBare(ctx context.Context, url, from, to string) error {
	client := sqsqueue.Client(url, func(o *awssqs.Options) {
		o.HTTPClient = awshttp.NewBuildableClient().WithTransportOptions(func(t *http.Transport) { t.MaxIdleConnsPerHost = bareLoops })
	})
	loops, ctx := errgroup.WithContext(ctx)
	for range bareLoops {
		loops.Go(func() error {
			for {
				n, err := moveTen(ctx, client, &from, &to)
				if err != nil || n == 0 {
					return err
				}
			}
		})
	}
	return loops.Wait()
}

// moveTen waits for messages as long as the tool does, so that both find the end alike.
func moveTen(ctx context.Context, client *awssqs.Client, from, to *string) (n int, err error) {
	out, err := client.ReceiveMessage(ctx, &awssqs.ReceiveMessageInput{
		QueueUrl: from, MaxNumberOfMessages: 10, WaitTimeSeconds: 1, VisibilityTimeout: 120,
		MessageAttributeNames: []string{"All"}, MessageSystemAttributeNames: []types.MessageSystemAttributeName{"All"},
	})
	if err != nil || len(out.Messages) == 0 {
		return 0, err
	}
	send := &awssqs.SendMessageBatchInput{QueueUrl: to}
	remove := &awssqs.DeleteMessageBatchInput{QueueUrl: from}
	for i, m := range out.Messages {
		id := aws.String(strconv.Itoa(i))
		send.Entries = append(send.Entries, types.SendMessageBatchRequestEntry{Id: id, MessageBody: m.Body, MessageAttributes: m.MessageAttributes})
		remove.Entries = append(remove.Entries, types.DeleteMessageBatchRequestEntry{Id: id, ReceiptHandle: m.ReceiptHandle})
	}
	sent, err := client.SendMessageBatch(ctx, send)
	if err == nil && len(sent.Failed) > 0 {
		err = fmt.Errorf("%s was not sent", aws.ToString(sent.Failed[0].Id))
	}
	if err != nil {
		return 0, err
	}
	_, err = client.DeleteMessageBatch(ctx, remove)
	return len(out.Messages), err
}
