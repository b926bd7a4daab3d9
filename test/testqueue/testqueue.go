// Package testqueue gives this module's tests a queue with a dead-letter
// queue on the emulated SQS, and calls that go wrong on demand. It works
// inside a testing/synctest bubble.
package testqueue

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"io"
	"log/slog"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/aws/aws-lambda-go/events"
	"github.com/aws/aws-sdk-go-v2/aws"
	awssqs "github.com/aws/aws-sdk-go-v2/service/sqs"
	"github.com/aws/aws-sdk-go-v2/service/sqs/types"

	"github.com/sqsbatch/sqsbatch/batch"
	"github.com/sqsbatch/sqsbatch/emulator/lambda"
	"github.com/sqsbatch/sqsbatch/emulator/sqs"
	"github.com/sqsbatch/sqsbatch/handler"
	"github.com/sqsbatch/sqsbatch/internal/attribute"
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
func New(t testing.TB, fifo bool, further ...func(*sqs.Config)) *Queue {
	q := &Queue{t: t}
	options := sqs.Config{Region: "eu-west-1", AccountID: "123456789012"}
	for _, f := range further {
		f(&options)
	}
	q.server = sqs.New(options)
	t.Cleanup(func() { _ = q.server.Close() })
	q.Client = q.server.Client(func(o *awssqs.Options) { o.HTTPClient = &http.Client{Transport: q} })
	suffix, attributes := "", map[string]string{}
	if fifo {
		suffix, attributes["FifoQueue"] = ".fifo", "true"
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
	return slices.Clone(q.calls)
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
	r := batch.Record{MessageID: *m.MessageId, ReceiptHandle: *m.ReceiptHandle, Body: *m.Body, QueueARN: q.ARN, Region: "eu-west-1"}
	for name, value := range m.Attributes {
		attribute.Set(&r, name, value)
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

// Event is the event that Lambda would make of records, for what
// handler.LambdaHandler's Invoke is given.
func Event(records []batch.Record) []byte {
	event := events.SQSEvent{Records: make([]events.SQSMessage, len(records))}
	for i, r := range records {
		m := events.SQSMessage{
			MessageId: r.MessageID, ReceiptHandle: r.ReceiptHandle, Body: r.Body,
			Attributes:        map[string]string{"ApproximateReceiveCount": strconv.Itoa(r.Attempt)},
			MessageAttributes: map[string]events.SQSMessageAttribute{},
			EventSource:       "aws:sqs", EventSourceARN: r.QueueARN, AWSRegion: r.Region,
		}
		if r.GroupID != "" {
			m.Attributes["MessageGroupId"] = r.GroupID
		}
		if !r.SentAt.IsZero() {
			m.Attributes["SentTimestamp"] = strconv.FormatInt(r.SentAt.UnixMilli(), 10)
		}
		for name, a := range r.MessageAttributes {
			value := events.SQSMessageAttribute{DataType: a.DataType, BinaryValue: a.BinaryValue}
			if !strings.HasPrefix(a.DataType, "Binary") {
				value.StringValue = &a.StringValue
			}
			m.MessageAttributes[name] = value
		}
		event.Records[i] = m
	}
	text, err := json.Marshal(event)
	if err != nil {
		panic(err) // it has nothing that encoding/json refuses
	}
	return text
}

// Timeout is the function's timeout in Map.
const Timeout = 30 * time.Second

// Map feeds invoke (handler.LambdaHandler's Invoke) from the queue for a time, in
// batches of ten at most, one after another, by an event source mapping with
// ReportBatchItemFailures. It returns how often it invoked. It belongs into a
// synctest bubble.
func (q *Queue) Map(during time.Duration, invoke func(context.Context, []byte) ([]byte, error)) (invocations int) {
	q.t.Helper()
	function, err := lambda.Start(lambda.Function{Handler: invoke, Timeout: Timeout, Concurrency: 1})
	if err != nil {
		q.t.Fatal(err)
	}
	defer function.Close()
	ctx, cancel := context.WithTimeout(context.Background(), during)
	defer cancel()
	mapping := lambda.Mapping{
		Function: function, SQS: q.Client, QueueURL: q.URL, QueueARN: q.ARN, ReportBatchItemFailures: true,
		Started: func(lambda.Invocation) { invocations++ },
		Ended: func(e lambda.Ended) {
			if e.Result.Error != nil {
				q.t.Error(e.Result.Error)
			}
		},
		Errored: func(e *lambda.PollError) { q.t.Error(e) },
	}
	if err := mapping.Run(ctx); err != nil {
		q.t.Fatal(err)
	}
	return invocations
}

// Left returns how many messages the queue and the dead-letter queue hold,
// those in flight included.
func (q *Queue) Left() (messages, dead int) {
	for _, s := range q.server.Snapshot() {
		switch s.URL {
		case q.URL:
			messages = len(s.Messages)
		case q.DeadLetterURL:
			dead = len(s.Messages)
		}
	}
	return messages, dead
}

// Lambda returns h for Lambda, with the queue's client and, unless cfg has a logger,
// without a log.
func (q *Queue) Lambda(h batch.Handler, cfg handler.Config) *handler.LambdaHandler {
	q.t.Helper()
	l, err := handler.New(h, q.config(cfg))
	if err != nil {
		q.t.Fatal(err)
	}
	return l
}

// Poll runs h in a container until ctx ends, or for a time.
func (q *Queue) Poll(ctx context.Context, during time.Duration, h batch.Handler, cfg handler.Config) {
	q.t.Helper()
	ctx, stop := context.WithTimeout(ctx, during)
	defer stop()
	cfg = q.config(cfg)
	cfg.Poll.Queues = []string{q.URL}
	if err := handler.Poll(ctx, h, cfg); err != nil {
		q.t.Error(err)
	}
}

// StartPoll begins to run h in a container. stop ends it and waits for its end.
func (q *Queue) StartPoll(h batch.Handler, cfg handler.Config) (stop func()) {
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		q.Poll(ctx, 1000*time.Hour, h, cfg)
	}()
	return func() { cancel(); <-ended }
}

func (q *Queue) config(cfg handler.Config) handler.Config {
	cfg.SQS = q.Client
	if cfg.Logger == nil {
		cfg.Logger = slog.New(slog.DiscardHandler)
	}
	return cfg
}

// DeadBodies returns the bodies in the dead-letter queue, up to ten, sorted.
func (q *Queue) DeadBodies() (bodies []string) {
	q.t.Helper()
	for _, m := range q.DeadLetters() {
		bodies = append(bodies, *m.Body)
	}
	slices.Sort(bodies)
	return bodies
}
