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
	"sync/atomic"

	awssqs "github.com/aws/aws-sdk-go-v2/service/sqs"
	"github.com/aws/smithy-go"

	"github.com/sqsbatch/sqsbatch/internal/plainjson"
)

// direct speaks the AWS JSON 1.0 protocol without the SDK.
type direct struct {
	transport http.RoundTripper
	last      *atomic.Pointer[endpoint]
}

// endpoint is a queue's URL: the last one, since a mapping has but one.
type endpoint struct {
	text string
	url  *url.URL
}

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
	return direct{transport, new(atomic.Pointer[endpoint])}
}

func (d direct) GetQueueAttributes(ctx context.Context, in *awssqs.GetQueueAttributesInput, _ ...func(*awssqs.Options)) (*awssqs.GetQueueAttributesOutput, error) {
	return directCall[awssqs.GetQueueAttributesOutput](ctx, d, "GetQueueAttributes", in.QueueUrl, in, nil)
}

func (d direct) ReceiveMessage(ctx context.Context, in *awssqs.ReceiveMessageInput, _ ...func(*awssqs.Options)) (*awssqs.ReceiveMessageOutput, error) {
	return directCall(ctx, d, "ReceiveMessage", in.QueueUrl, (*directReceive)(in), plainReceived)
}

func (d direct) DeleteMessageBatch(ctx context.Context, in *awssqs.DeleteMessageBatchInput, _ ...func(*awssqs.Options)) (*awssqs.DeleteMessageBatchOutput, error) {
	return directCall(ctx, d, "DeleteMessageBatch", in.QueueUrl, (*directDelete)(in), plainDeleted)
}

func (d direct) ChangeMessageVisibilityBatch(ctx context.Context, in *awssqs.ChangeMessageVisibilityBatchInput, _ ...func(*awssqs.Options)) (*awssqs.ChangeMessageVisibilityBatchOutput, error) {
	return directCall[awssqs.ChangeMessageVisibilityBatchOutput](ctx, d, "ChangeMessageVisibilityBatch", in.QueueUrl, in, nil)
}

// directCall sends one request and decodes its answer: by plain where there is one
// and it can, else by encoding/json.
func directCall[Out any](ctx context.Context, d direct, operation string, queue *string, in any, plain func(*Out) plainjson.Object) (*Out, error) {
	answer, err := d.exchange(ctx, operation, queue, in)
	if err == nil && plain != nil {
		out := new(Out)
		if plainjson.NewScanner(string(answer)).Whole(plain(out)) {
			return out, nil
		}
	}
	out := new(Out)
	if err == nil {
		if err = json.Unmarshal(answer, out); err != nil {
			err = fmt.Errorf("the answer could not be decoded: %w", err)
		}
	}
	if err != nil {
		err = &smithy.OperationError{ServiceID: "SQS", OperationName: operation, Err: err}
	}
	return out, err
}

// exchange sends one request and returns its answer.
func (d direct) exchange(ctx context.Context, operation string, queue *string, in any) ([]byte, error) {
	if queue == nil {
		return nil, errors.New("QueueUrl is missing")
	}
	at, err := d.endpoint(*queue)
	if err != nil {
		return nil, err
	}
	var body []byte
	if plain, ok := in.(interface{ json() []byte }); ok {
		body = plain.json()
	} else if body, err = json.Marshal(in); err != nil {
		return nil, err
	}
	request := (&http.Request{
		Method: http.MethodPost, URL: at, Host: at.Host,
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
		return nil, err
	}
	defer func() { _ = response.Body.Close() }()
	answer, err := readAll(response)
	if err == nil && response.StatusCode != http.StatusOK {
		err = refusal(response, answer)
	}
	return answer, err
}

func (d direct) endpoint(queue string) (*url.URL, error) {
	if last := d.last.Load(); last != nil && last.text == queue {
		return last.url, nil
	}
	parsed, err := url.Parse(queue)
	if err == nil {
		d.last.Store(&endpoint{queue, parsed})
	}
	return parsed, err
}

// readAll reads a response's body, at once where it says how long it is.
func readAll(response *http.Response) ([]byte, error) {
	if n := response.ContentLength; n > 0 && n <= maxPayload {
		answer := make([]byte, n)
		_, err := io.ReadFull(response.Body, answer)
		return answer, err
	}
	return io.ReadAll(response.Body)
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
