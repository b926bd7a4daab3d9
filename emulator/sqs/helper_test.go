package sqs_test

import (
	"context"
	"errors"
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
)

func TestMain(m *testing.M) {
	goleak.VerifyTestMain(m)
}

// bench is a server with the real client, made inside the test's bubble.
type bench struct {
	*testing.T
	*awssqs.Client
	ctx    context.Context
	server *sqs.Server
	events func() []sqs.Event // events so far
}

// virtual runs a test in a synctest bubble, where time passes at once.
func virtual(t *testing.T, test func(b *bench)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		var mu sync.Mutex
		var events []sqs.Event
		b := newBench(t, sqs.Config{Observe: func(e sqs.Event) {
			mu.Lock()
			defer mu.Unlock()
			events = append(events, e)
		}})
		b.events = func() []sqs.Event {
			mu.Lock()
			defer mu.Unlock()
			return slices.Clone(events)
		}
		test(b)
	})
}

// withOrders is like virtual, with a standard queue named orders.
func withOrders(t *testing.T, test func(b *bench, queue *string)) {
	t.Helper()
	virtual(t, func(b *bench) { test(b, b.queue("orders")) })
}

// virtualRun is like virtual, as a subtest.
func virtualRun(t *testing.T, name string, test func(b *bench)) {
	t.Helper()
	t.Run(name, func(t *testing.T) { virtual(t, test) })
}

// newServer returns a server that ends with the test.
func newServer(t testing.TB, o sqs.Config) *sqs.Server {
	server := sqs.New(o)
	t.Cleanup(func() { _ = server.Close() })
	return server
}

// newBench returns a bench without events.
func newBench(t *testing.T, o sqs.Config) *bench {
	server := newServer(t, o)
	return &bench{T: t, Client: newClient(server), ctx: t.Context(), server: server}
}

// withoutEvents takes a server without Config.Observe, for which no timer looks at the queues.
func (b *bench) withoutEvents() {
	b.server = newServer(b.T, sqs.Config{})
	b.Client = newClient(b.server)
}

func newClient(server *sqs.Server) *awssqs.Client {
	return server.Client(func(o *awssqs.Options) { o.Retryer = aws.NopRetryer{} })
}

func errOf(_ any, err error) error { return err }

func (b *bench) ok(err error) {
	b.Helper()
	if err != nil {
		b.Fatal(err)
	}
}

// queue creates a queue, FIFO if the name ends in .fifo, and returns the URL.
// Attributes are given as name, value, name, value.
func (b *bench) queue(name string, attributes ...string) *string {
	b.Helper()
	given := pairs(attributes)
	if strings.HasSuffix(name, ".fifo") {
		given["FifoQueue"] = "true"
	}
	out, err := b.CreateQueue(b.ctx, &awssqs.CreateQueueInput{QueueName: &name, Attributes: given})
	b.ok(err)
	return out.QueueUrl
}

// pair creates the queue orders and its dead-letter queue dead, both with the suffix.
func (b *bench) pair(suffix string, maxReceiveCount int, attributes ...string) (queue, dead *string) {
	b.Helper()
	dead = b.queue("dead" + suffix)
	attributes = append(attributes, "RedrivePolicy", redrivePolicy(b.server.QueueARN("dead"+suffix), maxReceiveCount))
	return b.queue("orders"+suffix, attributes...), dead
}

// sent sends a message and returns the answer.
func (b *bench) sent(queue *string, in awssqs.SendMessageInput) *awssqs.SendMessageOutput {
	b.Helper()
	in.QueueUrl = queue
	out, err := b.SendMessage(b.ctx, &in)
	b.ok(err)
	return out
}

// try sends a body and returns the error.
func (b *bench) try(ctx context.Context, queue *string, body string) error {
	return errOf(b.SendMessage(ctx, &awssqs.SendMessageInput{QueueUrl: queue, MessageBody: &body}))
}

func (b *bench) send(queue *string, bodies ...string) {
	b.Helper()
	for _, body := range bodies {
		b.sent(queue, awssqs.SendMessageInput{MessageBody: &body})
	}
}

// sendFIFO sends bodies to a group; each body is also its deduplication id.
func (b *bench) sendFIFO(queue *string, group string, bodies ...string) {
	b.Helper()
	for _, body := range bodies {
		b.sent(queue, fifoSend(body, group, body))
	}
}

// receive receives up to ten messages with all their attributes. Options may change the request.
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
	b.ok(err)
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

// equal fails unless got equals wanted.
func equal[T comparable](t testing.TB, what string, got, wanted T) {
	t.Helper()
	if got != wanted {
		t.Errorf("%s: got %#v, want %#v", what, got, wanted)
	}
}

// wantReceived fails unless a receive gets messages with these bodies.
func (b *bench) wantReceived(queue *string, want string, options ...func(*awssqs.ReceiveMessageInput)) {
	b.Helper()
	equal(b, "received", bodies(b.receive(queue, options...)), want)
}

// one is like receive, for exactly one message.
func (b *bench) one(queue *string, options ...func(*awssqs.ReceiveMessageInput)) types.Message {
	b.Helper()
	messages := b.receive(queue, append([]func(*awssqs.ReceiveMessageInput){atMost(1)}, options...)...)
	if len(messages) != 1 {
		b.Fatalf("received %d messages, want 1", len(messages))
	}
	return messages[0]
}

func (b *bench) delete(queue, handle *string) error {
	return errOf(b.DeleteMessage(b.ctx, &awssqs.DeleteMessageInput{QueueUrl: queue, ReceiptHandle: handle}))
}

func (b *bench) hide(queue, handle *string, seconds int32) error {
	return errOf(b.ChangeMessageVisibility(b.ctx, &awssqs.ChangeMessageVisibilityInput{
		QueueUrl: queue, ReceiptHandle: handle, VisibilityTimeout: seconds}))
}

func pairs(list []string) map[string]string {
	m := map[string]string{}
	for i := 0; i < len(list); i += 2 {
		m[list[i]] = list[i+1]
	}
	return m
}

// set changes attributes, given as name, value, name, value.
func (b *bench) set(queue *string, attributes ...string) error {
	return errOf(b.SetQueueAttributes(b.ctx, &awssqs.SetQueueAttributesInput{QueueUrl: queue, Attributes: pairs(attributes)}))
}

func (b *bench) purge(queue *string) error {
	return errOf(b.PurgeQueue(b.ctx, &awssqs.PurgeQueueInput{QueueUrl: queue}))
}

func (b *bench) deleteQueue(queue *string) {
	b.Helper()
	b.ok(errOf(b.DeleteQueue(b.ctx, &awssqs.DeleteQueueInput{QueueUrl: queue})))
}

func (b *bench) attributes(queue *string) map[string]string {
	b.Helper()
	out, err := b.GetQueueAttributes(b.ctx, &awssqs.GetQueueAttributesInput{
		QueueUrl: queue, AttributeNames: []types.QueueAttributeName{"All"}})
	b.ok(err)
	return out.Attributes
}

// counts fails unless the queue has these numbers of visible, in-flight and delayed messages.
func (b *bench) counts(queue *string, visible, inFlight, delayed string) {
	b.Helper()
	got := b.attributes(queue)
	equal(b, "visible, in flight, delayed", got["ApproximateNumberOfMessages"]+" "+got["ApproximateNumberOfMessagesNotVisible"]+" "+
		got["ApproximateNumberOfMessagesDelayed"], visible+" "+inFlight+" "+delayed)
}

// bodies joins the messages' bodies by a space.
func bodies(messages []types.Message) string {
	var all []string
	for _, m := range messages {
		all = append(all, *m.Body)
	}
	return strings.Join(all, " ")
}

// wantCause fails unless err has that cause.
func (b *bench) wantCause(err, cause error) {
	b.Helper()
	if !errors.Is(err, cause) {
		b.Errorf("error %v, want %v", err, cause)
	}
}

// wantCode fails unless err is an API error with this code.
func (b *bench) wantCode(err error, code string) {
	b.Helper()
	if failure, ok := errors.AsType[smithy.APIError](err); !ok || failure.ErrorCode() != code {
		b.Errorf("error %v, want code %s", err, code)
	}
}

// wantType fails unless err is the SDK's type E.
func wantType[E error](b *bench, err error) {
	b.Helper()
	if want, ok := errors.AsType[E](err); !ok {
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

// poll starts a long poll of 20 s and returns a channel for its messages, none after an error.
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
	synctest.Wait() // until it waits
	return got
}

func last[E any](list []E) E { return list[len(list)-1] }
