package sender_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	awssqs "github.com/aws/aws-sdk-go-v2/service/sqs"
	"github.com/aws/aws-sdk-go-v2/service/sqs/types"
	"go.uber.org/goleak"

	"github.com/sqsbatch/sqsbatch/emulator/sqs"
	"github.com/sqsbatch/sqsbatch/sender"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// world is an SQS with one queue, in virtual time.
type world struct {
	*testing.T
	server *sqs.Server
	client *awssqs.Client
	name   string
}

// inWorld runs a test in virtual time. fifo makes the queue a FIFO queue.
func inWorld(t *testing.T, fifo bool, test func(w *world)) {
	t.Helper()
	inWorldWith(t, sqs.Config{}, fifo, test)
}

// runInWorld is inWorld for a subtest.
func runInWorld(t *testing.T, name string, fifo bool, test func(w *world)) {
	t.Helper()
	t.Run(name, func(t *testing.T) { inWorld(t, fifo, test) })
}

func inWorldWith(t *testing.T, o sqs.Config, fifo bool, test func(w *world)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, o, fifo)
		defer w.server.Close()
		test(w)
	})
}

func newWorld(t *testing.T, o sqs.Config, fifo bool, options ...func(*awssqs.Options)) *world {
	t.Helper()
	w := &world{T: t, server: sqs.New(o), name: "orders"}
	w.client = w.server.Client(options...)
	if fifo {
		w.name = "orders.fifo"
	}
	w.create(w.name)
	return w
}

// create makes a queue.
func (w *world) create(name string) {
	w.Helper()
	in := &awssqs.CreateQueueInput{QueueName: &name}
	if strings.HasSuffix(name, ".fifo") {
		in.Attributes = map[string]string{"FifoQueue": "true"}
	}
	if _, err := w.client.CreateQueue(w.Context(), in); err != nil {
		w.Fatal(err)
	}
}

// sender makes one whose queue is the world's. It is closed at the end of the test.
func (w *world) sender(cfg sender.Config) *sender.Sender {
	w.Helper()
	if cfg.Queue == "" {
		cfg.Queue = w.server.QueueURL(w.name)
	}
	s, err := sender.New(w.client, cfg)
	if err != nil {
		w.Fatal(err)
	}
	w.Cleanup(func() {
		ctx, cancel := context.WithCancel(context.Background())
		cancel()
		s.Close(ctx)
		synctest.Wait()
	})
	return s
}

func (w *world) inject(faults ...sqs.Fault) {
	w.Helper()
	if err := w.server.Inject(faults...); err != nil {
		w.Fatal(err)
	}
}

// calls are the numbers of messages of the calls so far.
func (w *world) calls() (sizes []int) {
	for _, c := range w.server.Calls("SendMessageBatch") {
		sizes = append(sizes, c.Messages)
	}
	return sizes
}

// bodies are those of the messages in the queue, in the order in which they were sent.
func (w *world) bodies() (list []string) {
	for _, q := range w.server.Snapshot() {
		for _, m := range q.Messages {
			list = append(list, m.Body)
		}
	}
	return list
}

// wantBodies checks the bodies of the messages in the queue, and their order.
func (w *world) wantBodies(want ...string) {
	w.Helper()
	if got := w.bodies(); !slices.Equal(got, want) {
		w.Errorf("the queue has %q, want %q", got, want)
	}
}

// wantSent checks how many messages are in the queue.
func (w *world) wantSent(want int) {
	w.Helper()
	if got := len(w.bodies()); got != want {
		w.Errorf("%d messages in the queue, want %d", got, want)
	}
}

func (w *world) wantCalls(sizes ...int) {
	w.Helper()
	if got := w.calls(); !slices.Equal(got, sizes) {
		w.Errorf("calls of %d messages, want %d", got, sizes)
	}
}

func (w *world) wantTook(began time.Time, want time.Duration) {
	w.Helper()
	if took := time.Since(began); took != want {
		w.Errorf("it took %v, want %v", took, want)
	}
}

// send sends a message that is expected to be confirmed.
func (w *world) send(s *sender.Sender, m sender.Message) {
	w.Helper()
	if err := s.Send(w.Context(), m); err != nil {
		w.Error(err)
	}
}

// failure is the error of a message that was not confirmed; nil for another error.
func failure(err error) *sender.Error {
	e, _ := errors.AsType[*sender.Error](err)
	return e
}

// enqueue enqueues a message that is expected to have a place.
func (w *world) enqueue(s *sender.Sender, m sender.Message, done func(sender.Result)) {
	w.Helper()
	if err := s.Enqueue(w.Context(), m, done); err != nil {
		w.Fatal(err)
	}
}

// slow lets every call take a time.
func (w *world) slow(d time.Duration) {
	w.inject(sqs.Fault{Kind: sqs.Latency, Latency: d, Operation: "SendMessageBatch"})
}

func (w *world) flush(s *sender.Sender) {
	w.Helper()
	if err := s.Flush(w.Context()); err != nil {
		w.Fatal(err)
	}
}

// received returns the messages of the queue as a consumer gets them.
func (w *world) received() *awssqs.ReceiveMessageOutput {
	w.Helper()
	out, err := w.client.ReceiveMessage(w.Context(), &awssqs.ReceiveMessageInput{
		QueueUrl: aws.String(w.server.QueueURL(w.name)), MaxNumberOfMessages: 10,
		MessageAttributeNames: []string{"All"}, MessageSystemAttributeNames: []types.MessageSystemAttributeName{"All"},
	})
	if err != nil {
		w.Fatal(err)
	}
	return out
}
