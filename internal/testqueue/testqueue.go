// Package testqueue gives this module's tests a queue with a dead-letter
// queue on the emulated SQS, and calls that go wrong on demand. It works
// inside a testing/synctest bubble.
package testqueue

import (
	"context"
	"crypto/rand"
	"io"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	awssqs "github.com/aws/aws-sdk-go-v2/service/sqs"
	"github.com/aws/aws-sdk-go-v2/service/sqs/types"
	"github.com/sqsbatch/sqsbatch/batch"
	"github.com/sqsbatch/sqsbatch/emulator/sqs"
)

// Visibility is the visibility timeout of the queue.
const Visibility = 5 * time.Minute

// MaxReceiveCount is that of the queue's RedrivePolicy.
const MaxReceiveCount = 5

// The kinds of a queue, for [New].
const (
	Standard = false
	FIFO     = true
)

// Queue is a queue named "orders" with a dead-letter queue "orders-dead".
type Queue struct {
	t      testing.TB
	server *sqs.Server
	Client *awssqs.Client

	URL, ARN                     string
	DeadLetterURL, DeadLetterARN string

	// Fault, if set, sees each call before the server does. What it returns
	// that is not nil is the answer instead of the server's: it can be one that
	// no server gives.
	Fault func(operation string, r *http.Request) (*http.Response, error)

	mu    sync.Mutex
	calls []string
}

// New makes a standard queue, or a FIFO queue, on a server with further options.
func New(t testing.TB, fifo bool, further ...func(*sqs.Options)) *Queue {
	q := &Queue{t: t}
	options := sqs.Options{Region: "eu-west-1", AccountID: "123456789012"}
	for _, f := range further {
		f(&options)
	}
	q.server = sqs.New(options)
	t.Cleanup(func() { _ = q.server.Close() })
	q.Client = q.server.Client(func(o *awssqs.Options) { o.HTTPClient = &http.Client{Transport: q} })
	suffix, attributes := "", map[string]string{}
	if fifo {
		suffix = ".fifo"
		attributes["FifoQueue"] = "true"
	}
	q.DeadLetterURL = q.create("orders-dead"+suffix, attributes)
	q.DeadLetterARN = q.server.QueueARN("orders-dead" + suffix)
	attributes["VisibilityTimeout"] = strconv.Itoa(int(Visibility / time.Second))
	attributes["RedrivePolicy"] = `{"deadLetterTargetArn":"` + q.DeadLetterARN + `","maxReceiveCount":` + strconv.Itoa(MaxReceiveCount) + `}`
	q.URL = q.create("orders"+suffix, attributes)
	q.ARN = q.server.QueueARN("orders" + suffix)
	q.ForgetCalls()
	return q
}

func (q *Queue) create(name string, attributes map[string]string) string {
	q.t.Helper()
	out, err := q.Client.CreateQueue(context.Background(), &awssqs.CreateQueueInput{QueueName: &name, Attributes: attributes})
	if err != nil {
		q.t.Fatal(err)
	}
	return *out.QueueUrl
}

// RoundTrip notes the operation and answers by Fault or the server.
func (q *Queue) RoundTrip(r *http.Request) (*http.Response, error) {
	operation := strings.TrimPrefix(r.Header.Get("X-Amz-Target"), "AmazonSQS.")
	q.mu.Lock()
	q.calls = append(q.calls, operation)
	q.mu.Unlock()
	if q.Fault != nil {
		if response, err := q.Fault(operation, r); response != nil || err != nil {
			return response, err
		}
	}
	return q.server.HTTPClient().Transport.RoundTrip(r)
}

// Answer is a response for a Fault to return: an error of the service if code
// is not empty.
func Answer(r *http.Request, status int, code, body string) (*http.Response, error) {
	if code != "" {
		body = `{"__type":"com.amazonaws.sqs#` + code + `","message":"made to fail"}`
	}
	return &http.Response{
		StatusCode: status,
		Header:     http.Header{"Content-Type": {"application/x-amz-json-1.0"}},
		Body:       io.NopCloser(strings.NewReader(body)),
		Request:    r,
	}, nil
}

// Calls returns the operations that were called, and ForgetCalls forgets them.
func (q *Queue) Calls() []string {
	q.mu.Lock()
	defer q.mu.Unlock()
	return append([]string(nil), q.calls...)
}

// ForgetCalls makes Calls begin anew.
func (q *Queue) ForgetCalls() {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.calls = nil
}

// Server is the emulated SQS, to inject faults into.
func (q *Queue) Server() *sqs.Server { return q.server }

// Events returns what happened to messages of a kind.
func (q *Queue) Events(kind sqs.Kind) []sqs.Event { return q.server.Events(kind) }

// Send sends bodies to the queue; on a FIFO queue a body's group is what
// precedes its first colon.
func (q *Queue) Send(bodies ...string) {
	q.t.Helper()
	for _, body := range bodies {
		group, _, _ := strings.Cut(body, ":")
		q.SendTo(group, body)
	}
}

// SendTo sends messages, on a FIFO queue all of one group.
func (q *Queue) SendTo(group string, bodies ...string) {
	q.t.Helper()
	for _, body := range bodies {
		in := &awssqs.SendMessageInput{MessageBody: &body}
		if strings.HasSuffix(q.URL, ".fifo") {
			in.MessageGroupId, in.MessageDeduplicationId = &group, aws.String(rand.Text())
		}
		q.SendInput(in)
	}
}

// SendInput sends one message to the queue.
func (q *Queue) SendInput(in *awssqs.SendMessageInput) {
	q.t.Helper()
	in.QueueUrl = &q.URL
	if _, err := q.Client.SendMessage(context.Background(), in); err != nil {
		q.t.Fatal(err)
	}
}

// Receive returns what the queue has, up to most messages, as a batch.
func (q *Queue) Receive(most int) []batch.Record {
	q.t.Helper()
	var records []batch.Record
	for len(records) < most {
		messages := q.receive(q.URL, most-len(records))
		if len(messages) == 0 {
			break
		}
		for _, m := range messages {
			records = append(records, q.record(m))
		}
	}
	return records
}

// DeadLetters returns the messages of the dead-letter queue.
func (q *Queue) DeadLetters() []types.Message {
	q.t.Helper()
	return q.receive(q.DeadLetterURL, 10)
}

func (q *Queue) receive(url string, most int) []types.Message {
	q.t.Helper()
	out, err := q.Client.ReceiveMessage(context.Background(), &awssqs.ReceiveMessageInput{
		QueueUrl:                    &url,
		MaxNumberOfMessages:         int32(min(most, 10)),
		MessageAttributeNames:       []string{"All"},
		MessageSystemAttributeNames: []types.MessageSystemAttributeName{types.MessageSystemAttributeNameAll},
	})
	if err != nil {
		q.t.Fatal(err)
	}
	return out.Messages
}

func (q *Queue) record(m types.Message) batch.Record {
	attempt, _ := strconv.Atoi(m.Attributes["ApproximateReceiveCount"])
	first, _ := strconv.ParseInt(m.Attributes["ApproximateFirstReceiveTimestamp"], 10, 64)
	r := batch.Record{
		MessageID:       *m.MessageId,
		ReceiptHandle:   *m.ReceiptHandle,
		Body:            *m.Body,
		Attempt:         attempt,
		FirstReceivedAt: time.UnixMilli(first),
		GroupID:         m.Attributes["MessageGroupId"],
		DeduplicationID: m.Attributes["MessageDeduplicationId"],
		TraceHeader:     m.Attributes["AWSTraceHeader"],
		QueueARN:        q.ARN,
		Region:          "eu-west-1",
	}
	for name, a := range m.MessageAttributes {
		if r.MessageAttributes == nil {
			r.MessageAttributes = make(map[string]batch.MessageAttribute)
		}
		r.MessageAttributes[name] = batch.MessageAttribute{
			DataType: *a.DataType, StringValue: aws.ToString(a.StringValue), BinaryValue: a.BinaryValue,
		}
	}
	return r
}
