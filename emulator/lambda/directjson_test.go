package lambda_test

import (
	"encoding/json"
	"io"
	"net/http"
	"reflect"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	awssqs "github.com/aws/aws-sdk-go-v2/service/sqs"
	"github.com/aws/aws-sdk-go-v2/service/sqs/types"

	"github.com/sqsbatch/sqsbatch/emulator/lambda"
)

// answering is a transport that answers with a body, and keeps the request's.
func answering(body string, request *string) roundTrip {
	return func(r *http.Request) (*http.Response, error) {
		sent, err := io.ReadAll(r.Body)
		if request != nil {
			*request = string(sent)
		}
		return &http.Response{StatusCode: http.StatusOK, Header: http.Header{}, Body: io.NopCloser(strings.NewReader(body)), ContentLength: int64(len(body))}, err
	}
}

func TestDirectRequests(t *testing.T) {
	const queue = "http://x/000000000000/\"orders\""
	var sent string
	c := lambda.Direct(answering(`{}`, &sent))
	for _, call := range []struct {
		do   func() error
		want map[string]any
	}{
		{func() error {
			_, err := c.ReceiveMessage(t.Context(), &awssqs.ReceiveMessageInput{QueueUrl: aws.String(queue)})
			return err
		}, map[string]any{"QueueUrl": queue}},
		{func() error {
			_, err := c.ReceiveMessage(t.Context(), &awssqs.ReceiveMessageInput{
				QueueUrl: aws.String(queue), MaxNumberOfMessages: 10, WaitTimeSeconds: 20, VisibilityTimeout: 43200, ReceiveRequestAttemptId: aws.String("a\tb"),
				MessageAttributeNames: []string{"a.*", "ä\""}, MessageSystemAttributeNames: []types.MessageSystemAttributeName{"All"},
			})
			return err
		}, map[string]any{
			"QueueUrl": queue, "MaxNumberOfMessages": 10.0, "WaitTimeSeconds": 20.0, "VisibilityTimeout": 43200.0, "ReceiveRequestAttemptId": "a\tb",
			"MessageAttributeNames": []any{"a.*", "ä\""}, "MessageSystemAttributeNames": []any{"All"},
		}},
		{func() error {
			_, err := c.DeleteMessageBatch(t.Context(), &awssqs.DeleteMessageBatchInput{QueueUrl: aws.String(queue), Entries: []types.DeleteMessageBatchRequestEntry{
				{Id: aws.String("1"), ReceiptHandle: aws.String("a\\b")}, {Id: aws.String("2"), ReceiptHandle: aws.String("c")},
			}})
			return err
		}, map[string]any{"QueueUrl": queue, "Entries": []any{
			map[string]any{"Id": "1", "ReceiptHandle": "a\\b"}, map[string]any{"Id": "2", "ReceiptHandle": "c"},
		}}},
	} {
		var got map[string]any
		if err := call.do(); err != nil {
			t.Fatal(err)
		}
		if err := json.Unmarshal([]byte(sent), &got); err != nil || !reflect.DeepEqual(got, call.want) {
			t.Errorf("%s (%v), want %v", sent, err, call.want)
		}
	}
}

// FuzzDirectAnswer has both of the answers that are read without encoding/json
// be anything: what comes out is what encoding/json reads.
func FuzzDirectAnswer(f *testing.F) {
	for _, seed := range []string{
		`{}`, `{"Messages":[]}`, `{"Messages":null,"messages":[{}]}`,
		`{"Messages":[{"MessageId":"a","ReceiptHandle":"b","MD5OfBody":"c","Body":"{\"d\":1}","Attributes":{"SentTimestamp":"1","SentTimestamp":"2"}},{"Body":"\u00e4"}]}`,
		`{"Messages":[{"MD5OfMessageAttributes":"a","MessageAttributes":{"n":{"DataType":"Number","StringValue":"1"}}}]}`,
		`{"Messages":[{"Body":"a","Attributes":{"a":"b"},"Attributes":{}}],"Messages":[{"MessageId":"b"}]}`,
		`{"Successful":[{"Id":"0"},{"Id":"1"}]}`, `{"Successful":[],"Failed":[{"Id":"0","SenderFault":true,"Code":"a","Message":"b"}]}`,
		`{"Successful":[{"Id":"0"}],"Successful":[{}]}`, `<html>`,
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, body string) {
		c, url := lambda.Direct(answering(body, nil)), aws.String("http://x/000000000000/orders")
		received, err := c.ReceiveMessage(t.Context(), &awssqs.ReceiveMessageInput{QueueUrl: url})
		wantReceived := new(awssqs.ReceiveMessageOutput)
		if wantErr := json.Unmarshal([]byte(body), wantReceived); (err == nil) != (wantErr == nil) || err == nil && !reflect.DeepEqual(received, wantReceived) {
			t.Errorf("%s: %+v, %v; encoding/json has %+v, %v", body, received, err, wantReceived, wantErr)
		}
		deleted, err := c.DeleteMessageBatch(t.Context(), &awssqs.DeleteMessageBatchInput{QueueUrl: url})
		wantDeleted := new(awssqs.DeleteMessageBatchOutput)
		if wantErr := json.Unmarshal([]byte(body), wantDeleted); (err == nil) != (wantErr == nil) || err == nil && !reflect.DeepEqual(deleted, wantDeleted) {
			t.Errorf("%s: %+v, %v; encoding/json has %+v, %v", body, deleted, err, wantDeleted, wantErr)
		}
	})
}
