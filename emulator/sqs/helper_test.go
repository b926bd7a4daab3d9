package sqs_test

import (
	"context"
	"errors"
	"flag"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	awssqs "github.com/aws/aws-sdk-go-v2/service/sqs"
	"github.com/aws/aws-sdk-go-v2/service/sqs/types"
	"github.com/aws/smithy-go"
	"go.uber.org/goleak"

	"github.com/sqsbatch/sqsbatch/emulator/sqs"
	"github.com/sqsbatch/sqsbatch/internal/cases"
)

func TestMain(m *testing.M) {
	_ = flag.Set("rapid.checks", strconv.Itoa(cases.Of(25, 100)))
	goleak.VerifyTestMain(m)
}

// bench is a server with the real client, made inside the test's bubble.
type bench struct {
	*testing.T
	*awssqs.Client
	ctx    context.Context
	server *sqs.Server
	events func() []sqs.Event // what happened so far
}

// virtual runs a test in a synctest bubble, where time passes at once.
func virtual(t *testing.T, test func(b *bench)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		var mu sync.Mutex
		var events []sqs.Event
		server := sqs.New(sqs.Options{Observe: func(e sqs.Event) {
			mu.Lock()
			defer mu.Unlock()
			events = append(events, e)
		}})
		defer server.Close()
		test(&bench{t, newClient(server), t.Context(), server, func() []sqs.Event {
			mu.Lock()
			defer mu.Unlock()
			return slices.Clone(events)
		}})
	})
}

func newClient(server *sqs.Server) *awssqs.Client {
	return server.Client(func(o *awssqs.Options) { o.Retryer = aws.NopRetryer{} })
}

// queue creates a queue, FIFO when its name says so, and returns its URL.
// Attributes are given as name, value, name, value.
func (b *bench) queue(name string, attributes ...string) *string {
	b.Helper()
	given := map[string]string{}
	if strings.HasSuffix(name, ".fifo") {
		given["FifoQueue"] = "true"
	}
	for i := 0; i < len(attributes); i += 2 {
		given[attributes[i]] = attributes[i+1]
	}
	out, err := b.CreateQueue(b.ctx, &awssqs.CreateQueueInput{QueueName: &name, Attributes: given})
	if err != nil {
		b.Fatal(err)
	}
	return out.QueueUrl
}

func (b *bench) send(queue *string, bodies ...string) {
	b.Helper()
	for _, body := range bodies {
		if _, err := b.SendMessage(b.ctx, &awssqs.SendMessageInput{QueueUrl: queue, MessageBody: &body}); err != nil {
			b.Fatal(err)
		}
	}
}

// sendFIFO sends bodies to a group; each body is also its deduplication id.
func (b *bench) sendFIFO(queue *string, group string, bodies ...string) {
	b.Helper()
	for _, body := range bodies {
		_, err := b.SendMessage(b.ctx, &awssqs.SendMessageInput{
			QueueUrl: queue, MessageBody: &body, MessageGroupId: &group, MessageDeduplicationId: &body})
		if err != nil {
			b.Fatal(err)
		}
	}
}

// receive takes up to ten messages with all their attributes; options may change the request.
func (b *bench) receive(queue *string, options ...func(*awssqs.ReceiveMessageInput)) []types.Message {
	b.Helper()
	in := &awssqs.ReceiveMessageInput{
		QueueUrl: queue, MaxNumberOfMessages: 10,
		MessageAttributeNames:       []string{"All"},
		MessageSystemAttributeNames: []types.MessageSystemAttributeName{"All"},
	}
	for _, option := range options {
		option(in)
	}
	out, err := b.ReceiveMessage(b.ctx, in)
	if err != nil {
		b.Fatal(err)
	}
	return out.Messages
}

func atMost(n int32) func(*awssqs.ReceiveMessageInput) {
	return func(in *awssqs.ReceiveMessageInput) { in.MaxNumberOfMessages = n }
}

func waiting(seconds int32) func(*awssqs.ReceiveMessageInput) {
	return func(in *awssqs.ReceiveMessageInput) { in.WaitTimeSeconds = seconds }
}

func hiddenFor(seconds int32) func(*awssqs.ReceiveMessageInput) {
	return func(in *awssqs.ReceiveMessageInput) { in.VisibilityTimeout = seconds }
}

// one is receive for exactly one message.
func (b *bench) one(queue *string, options ...func(*awssqs.ReceiveMessageInput)) types.Message {
	b.Helper()
	messages := b.receive(queue, append([]func(*awssqs.ReceiveMessageInput){atMost(1)}, options...)...)
	if len(messages) != 1 {
		b.Fatalf("received %d messages, want 1", len(messages))
	}
	return messages[0]
}

func (b *bench) delete(queue, handle *string) error {
	_, err := b.DeleteMessage(b.ctx, &awssqs.DeleteMessageInput{QueueUrl: queue, ReceiptHandle: handle})
	return err
}

func (b *bench) hide(queue, handle *string, seconds int32) error {
	_, err := b.ChangeMessageVisibility(b.ctx, &awssqs.ChangeMessageVisibilityInput{
		QueueUrl: queue, ReceiptHandle: handle, VisibilityTimeout: seconds})
	return err
}

func (b *bench) attributes(queue *string) map[string]string {
	b.Helper()
	out, err := b.GetQueueAttributes(b.ctx, &awssqs.GetQueueAttributesInput{
		QueueUrl: queue, AttributeNames: []types.QueueAttributeName{"All"}})
	if err != nil {
		b.Fatal(err)
	}
	return out.Attributes
}

// counts fails unless so many messages are visible, in flight and delayed.
func (b *bench) counts(queue *string, visible, inFlight, delayed string) {
	b.Helper()
	got := b.attributes(queue)
	if got["ApproximateNumberOfMessages"] != visible || got["ApproximateNumberOfMessagesNotVisible"] != inFlight ||
		got["ApproximateNumberOfMessagesDelayed"] != delayed {
		b.Errorf("visible, in flight, delayed: %s, %s, %s; want %s, %s, %s",
			got["ApproximateNumberOfMessages"], got["ApproximateNumberOfMessagesNotVisible"],
			got["ApproximateNumberOfMessagesDelayed"], visible, inFlight, delayed)
	}
}

// bodies joins the messages' bodies by a space.
func bodies(messages []types.Message) string {
	var all []string
	for _, m := range messages {
		all = append(all, *m.Body)
	}
	return strings.Join(all, " ")
}

// wantCode fails unless err is an API error with this code.
func (b *bench) wantCode(err error, code string) {
	b.Helper()
	var failure smithy.APIError
	if !errors.As(err, &failure) || failure.ErrorCode() != code {
		b.Errorf("error %v, want code %s", err, code)
	}
}

// wantType fails unless err is the SDK's type E.
func wantType[E error](b *bench, err error) {
	b.Helper()
	var want E
	if !errors.As(err, &want) {
		b.Errorf("error %v (%T), want %T", err, err, want)
	}
}

// kinds joins the events' kinds, for comparison in one line.
func (b *bench) kinds() string {
	var all []string
	for _, e := range b.events() {
		all = append(all, string(e.Kind))
	}
	return strings.Join(all, " ")
}

func ms(at time.Time) string { return strconv.FormatInt(at.UnixMilli(), 10) }

// poll starts a long poll of 20 s and returns where its messages, or none
// after an error, will come.
func (b *bench) poll(queue *string) <-chan []types.Message {
	got := make(chan []types.Message, 1)
	go func() {
		out, err := b.ReceiveMessage(b.ctx, &awssqs.ReceiveMessageInput{
			QueueUrl: queue, MaxNumberOfMessages: 10, WaitTimeSeconds: 20})
		if err != nil {
			b.Error(err)
			out = &awssqs.ReceiveMessageOutput{}
		}
		got <- out.Messages
	}()
	synctest.Wait() // until it stands in the line
	return got
}

func last[E any](list []E) E { return list[len(list)-1] }
