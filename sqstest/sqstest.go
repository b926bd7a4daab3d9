// Package sqstest tests a handler on an emulated queue, in a few lines and in virtual time:
// hours of backoff pass at once. It needs neither a container nor an AWS account.
//
//	func TestShip(t *testing.T) {
//		sqstest.Run(t, batch.JSON(ship), func(t *testing.T, q *sqstest.Queue) {
//			q.Send(`{"id":"o-1"}`, `{"id":"busy"}`, `nonsense`)
//			q.UntilIdle()
//			q.Want("succeeded", "retry, succeeded", "dead-letter")
//		})
//	}
//
// The queue is one of package emulator/sqs, with a dead-letter queue. Package handler runs
// the handler as on Lambda, behind an event source mapping, or as in a container; see
// [Config.Container].
package sqstest

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	awssqs "github.com/aws/aws-sdk-go-v2/service/sqs"

	"github.com/sqsbatch/sqsbatch/batch"
	"github.com/sqsbatch/sqsbatch/emulator/lambda"
	"github.com/sqsbatch/sqsbatch/emulator/sqs"
	"github.com/sqsbatch/sqsbatch/handler"
)

// Config configures the test's queue and handler. The zero value is ready to use.
type Config struct {
	// Handler configures the handler as in production. The test sets SQS and Poll.Queues.
	Handler handler.Config

	// FIFO makes the queues FIFO queues. Defaults to standard ones.
	FIFO bool

	// Container runs the handler as [handler.Poll] does. Defaults to Lambda.
	Container bool

	// Timeout is the function's timeout on Lambda. Defaults to 30 s. The queue's visibility
	// timeout is six times as long.
	Timeout time.Duration

	// MaxReceiveCount is the queue's maxReceiveCount: the number of receives before SQS
	// dead-letters a message. Defaults to 5.
	MaxReceiveCount int

	// Faults makes calls to SQS fail, see [sqs.Fault]. Defaults to none.
	Faults []sqs.Fault
}

// Run makes the queues, calls test, and stops the handler. All of this runs in virtual
// time, see package [testing/synctest]. The handler starts with the first [Queue.UntilIdle]
// or [Queue.Start], so that messages sent before that are received together.
//
// In test, use the t that it gets. The context of the outer t is in real time.
func Run(t *testing.T, h batch.Handler, test func(t *testing.T, q *Queue)) {
	t.Helper()
	RunWith(t, h, Config{}, test)
}

// RunWith is [Run] with a configuration.
func RunWith(t *testing.T, h batch.Handler, cfg Config, test func(t *testing.T, q *Queue)) {
	t.Helper()
	cfg.Timeout, cfg.MaxReceiveCount = cmp.Or(cfg.Timeout, 30*time.Second), cmp.Or(cfg.MaxReceiveCount, 5)
	synctest.Test(t, func(t *testing.T) {
		q := newQueue(t, h, cfg)
		defer q.Server.Close()
		defer func() {
			if q.stop != nil {
				q.stop()
			}
		}()
		test(t, q)
	})
}

// Queue is a queue with a handler. Its methods fail the test if something goes wrong. Call
// them only from the test's goroutine.
type Queue struct {
	// Client is an AWS client of the emulated SQS, for calls that have no method below.
	Client *awssqs.Client
	// Server is the emulated SQS. Use it to inject faults and to see each call.
	Server *sqs.Server
	// URL and DeadLetterURL are the URLs of the two queues, "orders" and "orders-dead".
	URL, DeadLetterURL string

	t          *testing.T
	handler    batch.Handler
	cfg        Config
	name, dead string
	stop       func() // stops the handler; nil until it is started

	mu       sync.Mutex
	attempts map[string][]batch.Result
}

func newQueue(t *testing.T, h batch.Handler, cfg Config) *Queue {
	server := sqs.New(sqs.Config{Faults: cfg.Faults})
	q := &Queue{
		t: t, handler: h, cfg: cfg, Server: server, Client: server.Client(),
		name: "orders", dead: "orders-dead", attempts: map[string][]batch.Result{},
	}
	attributes := map[string]string{}
	if cfg.FIFO {
		q.name, q.dead, attributes["FifoQueue"] = "orders.fifo", "orders-dead.fifo", "true"
	}
	q.DeadLetterURL = q.create(q.dead, attributes)
	attributes["VisibilityTimeout"] = strconv.Itoa(int(6 * cfg.Timeout / time.Second))
	attributes["RedrivePolicy"] = fmt.Sprintf(`{"deadLetterTargetArn":%q,"maxReceiveCount":%d}`, q.Server.QueueARN(q.dead), cfg.MaxReceiveCount)
	q.URL = q.create(q.name, attributes)
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

// settled adds the results of a batch to attempts.
func (q *Queue) settled(_ context.Context, _ batch.BatchInfo, results []batch.Result) {
	q.mu.Lock()
	defer q.mu.Unlock()
	for _, r := range results {
		kept := r
		record := *r.Record
		kept.Record = &record
		list := append(q.attempts[record.MessageID], kept)
		// A record that comes back at once may be settled before its earlier batch.
		slices.SortStableFunc(list, func(a, b batch.Result) int { return cmp.Compare(a.Record.Attempt, b.Record.Attempt) })
		q.attempts[record.MessageID] = list
	}
}

// Start starts the handler, unless it has started.
func (q *Queue) Start() {
	q.t.Helper()
	if q.stop == nil {
		q.stop = q.run()
	}
}

// Send sends a message with each body. On a FIFO queue they all have the same group;
// [Queue.SendTo] sets another one.
func (q *Queue) Send(bodies ...string) {
	q.t.Helper()
	q.SendTo("group", bodies...)
}

// SendTo sends messages with a group, to a FIFO queue.
func (q *Queue) SendTo(group string, bodies ...string) {
	q.t.Helper()
	for _, body := range bodies {
		in := &awssqs.SendMessageInput{MessageBody: &body}
		if q.cfg.FIFO {
			in.MessageGroupId, in.MessageDeduplicationId = &group, aws.String(rand.Text())
		}
		q.SendInput(in)
	}
}

// SendInput sends a message with attributes, a delay, or other fields of SendMessage. It
// sets the QueueUrl.
func (q *Queue) SendInput(in *awssqs.SendMessageInput) {
	q.t.Helper()
	in.QueueUrl = &q.URL
	if _, err := q.Client.SendMessage(context.Background(), in); err != nil {
		q.t.Fatal(err)
	}
}

// retention is the queue's default retention period.
const retention = 4 * 24 * time.Hour

// UntilIdle waits until each message of the queue has been deleted or is in the dead-letter
// queue, and the handler has settled it. It fails the test if that takes more than four days,
// the queue's retention period.
func (q *Queue) UntilIdle() {
	q.t.Helper()
	q.Start()
	for begin := time.Now(); ; time.Sleep(max(10*time.Millisecond, time.Since(begin)/100)) {
		left := q.left()
		if left == 0 {
			time.Sleep(time.Second) // until settling has ended and hooks were called
			synctest.Wait()
			return
		}
		if time.Since(begin) > retention {
			q.t.Fatalf("%d messages are neither deleted nor in the dead-letter queue after %v:\n%s", left, retention, q)
		}
	}
}

// left returns the number of messages in the queue.
func (q *Queue) left() int {
	for _, queue := range q.Server.Snapshot() {
		if queue.Name == q.name {
			return len(queue.Messages)
		}
	}
	return 0
}

// Message is a message that was sent, with its attempts and its end.
type Message struct {
	ID, Body string
	// Attempts are its deliveries in order, each with outcome, error, start and duration.
	Attempts []batch.Result
	// DeadLetter is the time at which the message was sent or moved to the dead-letter queue.
	// Zero if it was not.
	DeadLetter time.Time
	// Deleted is the time at which the message was deleted from the queue. Zero if it was not.
	Deleted time.Time
}

// String lists the outcomes of a message's attempts, such as "retry, retry, succeeded". If
// SQS itself moved the message to the dead-letter queue, the list ends with "redriven".
func (m Message) String() string {
	var words []string
	for _, r := range m.Attempts {
		words = append(words, r.Outcome.String())
	}
	if !m.DeadLetter.IsZero() && m.Deleted.IsZero() {
		words = append(words, "redriven")
	}
	return strings.Join(words, ", ")
}

// Messages returns all messages that were sent to the queue, by the methods of Queue or
// otherwise, in the order of the sends.
func (q *Queue) Messages() []Message {
	q.mu.Lock()
	defer q.mu.Unlock()
	var list []Message
	at := map[string]int{} // by id
	for _, e := range q.Server.Events(sqs.Sent, sqs.Deleted, sqs.Redriven) {
		i, known := at[e.MessageID]
		switch {
		case e.Kind == sqs.Sent && e.Queue == q.dead:
			deadLetter(list, e)
		case e.Queue != q.name:
		case e.Kind == sqs.Sent:
			at[e.MessageID] = len(list)
			list = append(list, Message{ID: e.MessageID, Body: e.Body, Attempts: q.attempts[e.MessageID]})
		case known && e.Kind == sqs.Deleted:
			list[i].Deleted = e.Time
		case known:
			list[i].DeadLetter = e.Time
		}
	}
	return list
}

// deadLetter sets DeadLetter of the message that the handler sent to the dead-letter queue.
// It compares bodies, because the sent message has another id.
func deadLetter(list []Message, sent sqs.Event) {
	for i := range list {
		if m := &list[i]; m.Body == sent.Body && m.DeadLetter.IsZero() && slices.ContainsFunc(m.Attempts, func(r batch.Result) bool { return r.Outcome == batch.DeadLettered }) {
			m.DeadLetter = sent.Time
			return
		}
	}
}

// Want fails the test unless the messages have these outcomes: one string for each message,
// in the order of the sends, in the form of [Message.String].
func (q *Queue) Want(outcomes ...string) {
	q.t.Helper()
	list := q.Messages()
	if len(list) != len(outcomes) {
		q.t.Errorf("%d messages were sent, %d are wanted", len(list), len(outcomes))
		return
	}
	for i, m := range list {
		if m.String() != outcomes[i] {
			q.t.Errorf("message %d (%.60s): %s, want %s%s", i+1, m.Body, m, outcomes[i], m.errors())
		}
	}
}

// String returns a line for each message, with its outcomes and errors.
func (q *Queue) String() string {
	var b strings.Builder
	for i, m := range q.Messages() {
		fmt.Fprintf(&b, "message %d (%.60s): %s%s\n", i+1, m.Body, m, m.errors())
	}
	return b.String()
}

// errors lists the errors of a message's attempts.
func (m Message) errors() string {
	var b strings.Builder
	for i, r := range m.Attempts {
		if r.Err != nil {
			fmt.Fprintf(&b, "\n\tattempt %d: %v", i+1, r.Err)
		}
	}
	return b.String()
}

// run starts the handler. stop stops it and waits.
func (q *Queue) run() (stop func()) {
	q.t.Helper()
	c := q.cfg.Handler
	c.SQS, c.Hooks = q.Client, batch.JoinHooks(c.Hooks, batch.Hooks{BatchSettled: q.settled})
	if c.Logger == nil {
		c.Logger = slog.New(slog.DiscardHandler)
	}
	ctx, cancel := context.WithCancel(context.Background())
	done, closed := make(chan error, 1), func() error { return nil }
	if q.cfg.Container {
		c.Poll.Queues = []string{q.URL}
		go func() { done <- handler.Poll(ctx, q.handler, c) }()
	} else {
		mapping := q.mapping(c)
		closed = mapping.Function.Close
		go func() { done <- mapping.Run(ctx) }()
	}
	return func() {
		q.t.Helper()
		cancel()
		if err := <-done; err != nil && !errors.Is(err, context.Canceled) {
			q.t.Errorf("the handler was stopped: %v", err)
		}
		_ = closed()
		time.Sleep(time.Minute) // until connections and timers have ended
	}
}

// mapping deploys the function and returns an event source mapping with Lambda's defaults.
func (q *Queue) mapping(c handler.Config) lambda.Mapping {
	q.t.Helper()
	var function *lambda.Deployment
	l, err := handler.New(q.handler, c)
	if err == nil {
		function, err = lambda.Start(lambda.Function{Handler: l.Invoke, Timeout: q.cfg.Timeout})
	}
	if err != nil {
		q.t.Fatal(err)
	}
	return lambda.Mapping{Function: function, SQS: q.Client, QueueURL: q.URL, ReportBatchItemFailures: true}
}
