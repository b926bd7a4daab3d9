package handler_test

import (
	"context"
	"reflect"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	awssqs "github.com/aws/aws-sdk-go-v2/service/sqs"
	"github.com/aws/aws-sdk-go-v2/service/sqs/types"

	"github.com/sqsbatch/sqsbatch/handler"
	"github.com/sqsbatch/sqsbatch/sqstest"
)

// In both modes a function gets what ReceiveMessage gives.
func TestSDKMessageFunc_GetsTheMessageOfReceiveMessage(t *testing.T) {
	attributes := map[string]types.MessageAttributeValue{
		"type":  {DataType: aws.String("String.name"), StringValue: aws.String("order")},
		"count": {DataType: aws.String("Number"), StringValue: aws.String("3")},
		"blob":  {DataType: aws.String("Binary"), BinaryValue: []byte{0, 1, 255}},
	}
	for name, container := range map[string]bool{"on Lambda": false, "in a container": true} {
		t.Run(name, func(t *testing.T) {
			var got []types.Message
			var want types.Message
			h := handler.SDKMessageFunc(func(_ context.Context, m types.Message) error { got = append(got, m); return nil })
			sqstest.RunWith(t, h, sqstest.Config{Container: container}, func(t *testing.T, q *sqstest.Queue) {
				q.SendInput(&awssqs.SendMessageInput{MessageBody: aws.String("hello"), MessageAttributes: attributes})
				out, err := q.Client.ReceiveMessage(t.Context(), &awssqs.ReceiveMessageInput{
					QueueUrl: &q.URL, VisibilityTimeout: 1, MessageAttributeNames: []string{"All"},
					MessageSystemAttributeNames: []types.MessageSystemAttributeName{types.MessageSystemAttributeNameAll},
				})
				if err != nil {
					t.Fatal(err)
				}
				want = out.Messages[0]
				q.UntilIdle()
				q.SendInput(&awssqs.SendMessageInput{MessageBody: aws.String("plain")})
				q.UntilIdle()
			})
			if len(got) != 2 {
				t.Fatalf("%d messages", len(got))
			}
			m := got[0]
			if *m.ReceiptHandle == *want.ReceiptHandle || m.Attributes["ApproximateReceiveCount"] != "2" {
				t.Errorf("%+v", m)
			}
			m.ReceiptHandle, want.Attributes["ApproximateReceiveCount"] = want.ReceiptHandle, "2"
			if !reflect.DeepEqual(m, want) {
				t.Errorf("%+v\nwant %+v", m, want)
			}
			if plain := got[1]; plain.MessageAttributes != nil || plain.MD5OfMessageAttributes != nil || *plain.Body != "plain" {
				t.Errorf("%+v", plain)
			}
		})
	}
}
