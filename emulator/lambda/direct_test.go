package lambda_test

import (
	"context"
	"errors"
	"io"
	"net/http"
	"reflect"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	awssqs "github.com/aws/aws-sdk-go-v2/service/sqs"
	"github.com/aws/aws-sdk-go-v2/service/sqs/types"
	"github.com/aws/smithy-go"
	"github.com/aws/smithy-go/middleware"

	"github.com/sqsbatch/sqsbatch/emulator/lambda"
	"github.com/sqsbatch/sqsbatch/emulator/sqs"
)

// Both clients get the same answers, errors included.
func TestDirectAnswersAsTheSDK(t *testing.T) {
	virtual(t, func(w *world) {
		url := w.queue("orders", 0)
		_, err := w.client.SendMessage(w.ctx, &awssqs.SendMessageInput{
			QueueUrl: &url, MessageBody: aws.String("a <b> \u2028 \"c\""),
			MessageAttributes: map[string]types.MessageAttributeValue{
				"text": {DataType: aws.String("String"), StringValue: aws.String("é")},
				"raw":  {DataType: aws.String("Binary"), BinaryValue: []byte{0, 255}},
			},
		})
		if err != nil {
			w.Fatal(err)
		}
		nobody := "http://sqs.us-east-1.invalid/000000000000/nobody"
		// The visibility timeout of the queue is 0, so both see the same messages.
		calls := map[string]func(c lambda.SQS) (any, error){
			"attributes": func(c lambda.SQS) (any, error) {
				return c.GetQueueAttributes(w.ctx, &awssqs.GetQueueAttributesInput{QueueUrl: &url, AttributeNames: []types.QueueAttributeName{"All"}})
			},
			"attributes of nobody": func(c lambda.SQS) (any, error) {
				return c.GetQueueAttributes(w.ctx, &awssqs.GetQueueAttributesInput{QueueUrl: &nobody})
			},
			"receive": func(c lambda.SQS) (any, error) {
				out, err := c.ReceiveMessage(w.ctx, &awssqs.ReceiveMessageInput{QueueUrl: &url, MessageAttributeNames: []string{"All"}, MessageSystemAttributeNames: []types.MessageSystemAttributeName{"SentTimestamp", "SenderId"}})
				if err == nil && len(out.Messages) == 1 {
					out.Messages[0].ReceiptHandle = nil // a new one each time
				}
				return out, err
			},
			"receive too many": func(c lambda.SQS) (any, error) {
				return c.ReceiveMessage(w.ctx, &awssqs.ReceiveMessageInput{QueueUrl: &url, MaxNumberOfMessages: 11, WaitTimeSeconds: 1, VisibilityTimeout: 1})
			},
			"delete": func(c lambda.SQS) (any, error) {
				return c.DeleteMessageBatch(w.ctx, &awssqs.DeleteMessageBatchInput{QueueUrl: &url, Entries: []types.DeleteMessageBatchRequestEntry{{Id: aws.String("1"), ReceiptHandle: aws.String("none")}}})
			},
			"visibility": func(c lambda.SQS) (any, error) {
				return c.ChangeMessageVisibilityBatch(w.ctx, &awssqs.ChangeMessageVisibilityBatchInput{QueueUrl: &url, Entries: []types.ChangeMessageVisibilityBatchRequestEntry{{Id: aws.String("1"), ReceiptHandle: aws.String("none")}}})
			},
		}
		direct := lambda.Direct(w.server.HTTPClient().Transport)
		for name, call := range calls {
			want, wantErr := call(w.client)
			got, gotErr := call(direct)
			var wantCode, gotCode smithy.APIError
			if errors.As(wantErr, &wantCode) != errors.As(gotErr, &gotCode) {
				w.Fatalf("%s: error %v, the SDK's %v", name, gotErr, wantErr)
			}
			if wantErr != nil {
				if gotCode.ErrorCode() != wantCode.ErrorCode() || gotCode.ErrorMessage() != wantCode.ErrorMessage() || gotCode.ErrorFault() != smithy.FaultClient {
					w.Errorf("%s: error %v, the SDK's %v", name, gotErr, wantErr)
				}
				continue
			}
			reflect.ValueOf(want).Elem().FieldByName("ResultMetadata").Set(reflect.ValueOf(middleware.Metadata{}))
			if !reflect.DeepEqual(got, want) {
				w.Errorf("%s:\n%+v\nthe SDK's\n%+v", name, got, want)
			}
		}
	})
}

type roundTrip func(*http.Request) (*http.Response, error)

func (f roundTrip) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

func TestDirectErrors(t *testing.T) {
	answer := func(status int, header, body string) roundTrip {
		return func(r *http.Request) (*http.Response, error) {
			h := http.Header{}
			if header != "" {
				h.Set("X-Amzn-Query-Error", header)
			}
			return &http.Response{Status: "the status", StatusCode: status, Header: h, Body: io.NopCloser(strings.NewReader(body))}, nil
		}
	}
	refused := errors.New("refused")
	for _, c := range []struct {
		name      string
		queue     *string
		transport http.RoundTripper
		want      string
	}{
		{"no queue", nil, answer(200, "", "{}"), "QueueUrl is missing"},
		{"no URL", aws.String("http://a b/"), answer(200, "", "{}"), "invalid character"},
		{"no connection", aws.String("http://q/0/q"), roundTrip(func(*http.Request) (*http.Response, error) { return nil, refused }), "refused"},
		{"no JSON", aws.String("http://q/0/q"), answer(200, "", "<html>"), "could not be decoded"},
		{"error without JSON", aws.String("http://q/0/q"), answer(502, "", "<html>"), "the status"},
		{"error of the service", aws.String("http://q/0/q"), answer(503, "ServiceUnavailable;Receiver", `{"message":"later"}`), "api error ServiceUnavailable: later"},
		{"error without the header", aws.String("http://q/0/q"), answer(400, "", `{"__type":"com.amazonaws.sqs#QueueDoesNotExist","message":"none"}`), "api error QueueDoesNotExist: none"},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, err := lambda.Direct(c.transport).ReceiveMessage(context.Background(), &awssqs.ReceiveMessageInput{QueueUrl: c.queue})
			if err == nil || !strings.Contains(err.Error(), c.want) || !strings.Contains(err.Error(), "ReceiveMessage") {
				t.Errorf("error %v, want %q", err, c.want)
			}
			if c.name == "no connection" && !errors.Is(err, refused) {
				t.Errorf("%v does not wrap the transport's", err)
			}
		})
	}
}

// Without a transport it goes over a socket.
func TestDirectOverASocket(t *testing.T) {
	server, err := sqs.Serve("127.0.0.1:0", sqs.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer server.Close()
	defer http.DefaultTransport.(*http.Transport).CloseIdleConnections()
	c := lambda.Direct(nil)
	url := server.URL() + "/000000000000/none"
	var failure smithy.APIError
	if _, err := c.GetQueueAttributes(t.Context(), &awssqs.GetQueueAttributesInput{QueueUrl: &url}); !errors.As(err, &failure) || !strings.Contains(failure.ErrorCode(), "NonExistentQueue") {
		t.Errorf("error %v, want that there is no such queue", err)
	}
}
