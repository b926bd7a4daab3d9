package main

import (
	"context"
	"fmt"
	"net/http"
	"strconv"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/service/sqs"
	"github.com/aws/aws-sdk-go-v2/service/sqs/types"
)

// sdkClient makes the same calls with AWS's SDK for Go.
type sdkClient struct {
	ctx       context.Context
	client    *sqs.Client
	transport *http.Transport
	queue     *string
	text      *string
}

func newSDK(ctx context.Context, url, queue string, body int) *sdkClient {
	transport := &http.Transport{}
	return &sdkClient{ctx: ctx, transport: transport, queue: &queue, text: aws.String(strings.Repeat("b", body)),
		client: sqs.New(sqs.Options{
			Region: "us-east-1", BaseEndpoint: aws.String(url), HTTPClient: &http.Client{Transport: transport},
			Credentials: credentials.NewStaticCredentialsProvider("test", "test", ""),
		})}
}

func (c *sdkClient) close() { c.transport.CloseIdleConnections() }

func (c *sdkClient) send(n int) error {
	if n == 1 {
		_, err := c.client.SendMessage(c.ctx, &sqs.SendMessageInput{QueueUrl: c.queue, MessageBody: c.text})
		return err
	}
	in := &sqs.SendMessageBatchInput{QueueUrl: c.queue}
	for i := range n {
		in.Entries = append(in.Entries, types.SendMessageBatchRequestEntry{Id: aws.String(strconv.Itoa(i)), MessageBody: c.text})
	}
	out, err := c.client.SendMessageBatch(c.ctx, in)
	if err == nil && len(out.Successful) != n {
		err = fmt.Errorf("SendMessageBatch: %d of %d messages were sent", len(out.Successful), n)
	}
	return err
}

func (c *sdkClient) take(n int) (int, error) {
	got, err := c.client.ReceiveMessage(c.ctx, &sqs.ReceiveMessageInput{QueueUrl: c.queue, MaxNumberOfMessages: int32(n)})
	if err != nil || len(got.Messages) == 0 {
		return 0, err
	}
	if n == 1 {
		_, err := c.client.DeleteMessage(c.ctx, &sqs.DeleteMessageInput{QueueUrl: c.queue, ReceiptHandle: got.Messages[0].ReceiptHandle})
		return 1, err
	}
	in := &sqs.DeleteMessageBatchInput{QueueUrl: c.queue}
	for i, m := range got.Messages {
		in.Entries = append(in.Entries, types.DeleteMessageBatchRequestEntry{Id: aws.String(strconv.Itoa(i)), ReceiptHandle: m.ReceiptHandle})
	}
	out, err := c.client.DeleteMessageBatch(c.ctx, in)
	if err == nil && len(out.Successful) != len(got.Messages) {
		err = fmt.Errorf("DeleteMessageBatch: %d of %d messages were deleted", len(out.Successful), len(got.Messages))
	}
	return len(got.Messages), err
}
