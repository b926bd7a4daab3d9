package sample

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	awssqs "github.com/aws/aws-sdk-go-v2/service/sqs"
	"github.com/aws/aws-sdk-go-v2/service/sqs/types"

	"github.com/sqsbatch/sqsbatch/batch"
	"github.com/sqsbatch/sqsbatch/events"
	"github.com/sqsbatch/sqsbatch/handler"
	"github.com/sqsbatch/sqsbatch/internal/testqueue"
)

// Queue returns a queue with an event's records, their bodies and attributes.
// Inside a testing/synctest bubble its time is the bubble's.
func Queue(t testing.TB, event string) *testqueue.Queue {
	t.Helper()
	var e struct {
		Records []struct {
			Body              string
			MessageAttributes map[string]struct {
				DataType    string
				StringValue *string
				BinaryValue []byte
			}
		}
	}
	text, err := events.FS.ReadFile(event)
	if err == nil {
		err = json.Unmarshal(text, &e)
	}
	if err != nil {
		t.Fatal(err)
	}
	q := testqueue.New(t, false)
	for _, r := range e.Records {
		in := &awssqs.SendMessageInput{MessageBody: &r.Body, MessageAttributes: map[string]types.MessageAttributeValue{}}
		for name, a := range r.MessageAttributes {
			in.MessageAttributes[name] = types.MessageAttributeValue{
				DataType: aws.String(a.DataType), StringValue: a.StringValue, BinaryValue: a.BinaryValue,
			}
		}
		q.SendInput(in)
	}
	return q
}

// Poll runs a function as a container would, until it is asked to stop after d,
// and returns what it logged.
func Poll(t testing.TB, q *testqueue.Queue, h batch.Handler, cfg handler.Config, d time.Duration) []string {
	t.Helper()
	lines := Capture(t)
	q.Poll(t.Context(), d, h, cfg)
	return lines()
}
