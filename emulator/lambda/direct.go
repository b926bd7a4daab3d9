package lambda

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"

	awssqs "github.com/aws/aws-sdk-go-v2/service/sqs"
	"github.com/aws/aws-sdk-go-v2/service/sqs/types"
	"github.com/aws/smithy-go"
)

// direct speaks the AWS JSON 1.0 protocol without the SDK.
type direct struct{ transport http.RoundTripper }

// Direct returns a client for a [Mapping] whose queue is emulated, such as by
// emulator/sqs in the same process:
//
//	lambda.Mapping{SQS: lambda.Direct(server.HTTPClient().Transport), …}
//
// It says the same to the server as the SDK's client and costs a fraction of
// it: no signature, no retries, no endpoint rules and none of the SDK's
// middleware. That is most of what an hour in virtual time costs. AWS itself
// refuses its calls, which are not signed.
//
// The transport is called with the queue's URL. Defaults to
// http.DefaultTransport.
func Direct(transport http.RoundTripper) SQS {
	if transport == nil {
		transport = http.DefaultTransport
	}
	return direct{transport}
}

func (d direct) GetQueueAttributes(ctx context.Context, in *awssqs.GetQueueAttributesInput, _ ...func(*awssqs.Options)) (*awssqs.GetQueueAttributesOutput, error) {
	out := new(awssqs.GetQueueAttributesOutput)
	return out, d.call(ctx, "GetQueueAttributes", in.QueueUrl, in, out)
}

// The SDK's types have the names of the protocol. Only zeroes differ: the SDK
// leaves them out, where they are not required.
type directReceive struct {
	QueueURL                    *string                            `json:"QueueUrl"`
	MaxNumberOfMessages         int32                              `json:",omitempty"`
	WaitTimeSeconds             int32                              `json:",omitempty"`
	VisibilityTimeout           int32                              `json:",omitempty"`
	ReceiveRequestAttemptID     *string                            `json:"ReceiveRequestAttemptId,omitempty"`
	MessageAttributeNames       []string                           `json:",omitempty"`
	MessageSystemAttributeNames []types.MessageSystemAttributeName `json:",omitempty"`
}

func (d direct) ReceiveMessage(ctx context.Context, in *awssqs.ReceiveMessageInput, _ ...func(*awssqs.Options)) (*awssqs.ReceiveMessageOutput, error) {
	out := new(awssqs.ReceiveMessageOutput)
	return out, d.call(ctx, "ReceiveMessage", in.QueueUrl, directReceive{
		QueueURL:                    in.QueueUrl,
		MaxNumberOfMessages:         in.MaxNumberOfMessages,
		WaitTimeSeconds:             in.WaitTimeSeconds,
		VisibilityTimeout:           in.VisibilityTimeout,
		ReceiveRequestAttemptID:     in.ReceiveRequestAttemptId,
		MessageAttributeNames:       in.MessageAttributeNames,
		MessageSystemAttributeNames: in.MessageSystemAttributeNames,
	}, out)
}

func (d direct) DeleteMessageBatch(ctx context.Context, in *awssqs.DeleteMessageBatchInput, _ ...func(*awssqs.Options)) (*awssqs.DeleteMessageBatchOutput, error) {
	out := new(awssqs.DeleteMessageBatchOutput)
	return out, d.call(ctx, "DeleteMessageBatch", in.QueueUrl, in, out)
}

func (d direct) ChangeMessageVisibilityBatch(ctx context.Context, in *awssqs.ChangeMessageVisibilityBatchInput, _ ...func(*awssqs.Options)) (*awssqs.ChangeMessageVisibilityBatchOutput, error) {
	out := new(awssqs.ChangeMessageVisibilityBatchOutput)
	return out, d.call(ctx, "ChangeMessageVisibilityBatch", in.QueueUrl, in, out)
}

// call sends one request and reads its answer into out.
func (d direct) call(ctx context.Context, operation string, queue *string, in, out any) error {
	err := d.exchange(ctx, operation, queue, in, out)
	if err != nil {
		return &smithy.OperationError{ServiceID: "SQS", OperationName: operation, Err: err}
	}
	return nil
}

func (d direct) exchange(ctx context.Context, operation string, queue *string, in, out any) error {
	if queue == nil {
		return errors.New("QueueUrl is missing")
	}
	endpoint, err := url.Parse(*queue)
	if err != nil {
		return err
	}
	body, err := json.Marshal(in)
	if err != nil {
		return err
	}
	request := (&http.Request{
		Method: http.MethodPost, URL: endpoint, Host: endpoint.Host,
		Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1,
		Header: http.Header{
			"Content-Type": {"application/x-amz-json-1.0"},
			"X-Amz-Target": {"AmazonSQS." + operation},
		},
		Body:          io.NopCloser(bytes.NewReader(body)),
		ContentLength: int64(len(body)),
	}).WithContext(ctx)
	response, err := d.transport.RoundTrip(request)
	if err != nil {
		return err
	}
	defer func() { _ = response.Body.Close() }()
	answer, err := io.ReadAll(response.Body)
	if err != nil {
		return err
	}
	if response.StatusCode != http.StatusOK {
		return refusal(response, answer)
	}
	if err := json.Unmarshal(answer, out); err != nil {
		return fmt.Errorf("the answer could not be decoded: %w", err)
	}
	return nil
}

// refusal reads an error's code and message as the SDK does: the code of the
// query protocol goes first.
func refusal(response *http.Response, body []byte) error {
	var doc struct {
		Type    string `json:"__type"`
		Message string `json:"message"`
	}
	_ = json.Unmarshal(body, &doc) // what is no JSON has no code
	code, fault, _ := strings.Cut(response.Header.Get("X-Amzn-Query-Error"), ";")
	if code == "" {
		code = doc.Type[strings.LastIndexByte(doc.Type, '#')+1:]
	}
	if code == "" {
		return fmt.Errorf("status %s", response.Status)
	}
	err := &smithy.GenericAPIError{Code: code, Message: doc.Message, Fault: smithy.FaultClient}
	if fault == "Receiver" || response.StatusCode >= http.StatusInternalServerError {
		err.Fault = smithy.FaultServer
	}
	return err
}
