package lambda_test

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aws/aws-lambda-go/events"
	"github.com/aws/aws-sdk-go-v2/aws"
	awssqs "github.com/aws/aws-sdk-go-v2/service/sqs"

	"github.com/sqsbatch/sqsbatch/emulator/lambda"
	"github.com/sqsbatch/sqsbatch/emulator/sqs"
)

// world is a server of queues, functions and mappings in a synctest bubble.
type world struct {
	*testing.T
	ctx    context.Context
	client *awssqs.Client
	server *sqs.Server
	begin  time.Time

	mu          sync.Mutex
	invocations []lambda.Invocation
	ended       []lambda.Ended
	pollErrors  []*lambda.PollError
}

func virtual(t *testing.T, test func(w *world)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		w := &world{T: t, ctx: t.Context(), begin: time.Now(), server: sqs.New(sqs.Config{})}
		defer w.server.Close()
		w.client = w.server.Client(func(o *awssqs.Options) { o.Retryer = aws.NopRetryer{} })
		test(w)
	})
}

// virtualRun is like virtual, as a subtest.
func virtualRun(t *testing.T, name string, test func(w *world)) {
	t.Helper()
	t.Run(name, func(t *testing.T) { virtual(t, test) })
}

// queue creates a queue. wait is its ReceiveMessageWaitTimeSeconds, 0 by default.
func (w *world) queue(name string, visibility int, wait ...int) string {
	w.Helper()
	attributes := map[string]string{"VisibilityTimeout": fmt.Sprint(visibility)}
	if strings.HasSuffix(name, ".fifo") {
		attributes["FifoQueue"] = "true"
	}
	if len(wait) > 0 {
		attributes["ReceiveMessageWaitTimeSeconds"] = fmt.Sprint(wait[0])
	}
	out, err := w.client.CreateQueue(w.ctx, &awssqs.CreateQueueInput{QueueName: &name, Attributes: attributes})
	ok(w, err)
	return *out.QueueUrl
}

func (w *world) send(queue string, bodies ...string) {
	w.Helper()
	for _, body := range bodies {
		in := &awssqs.SendMessageInput{QueueUrl: &queue, MessageBody: &body}
		if strings.HasSuffix(queue, ".fifo") { // the group is the body's first letter
			in.MessageGroupId, in.MessageDeduplicationId = aws.String(body[:1]), aws.String(body[:min(len(body), 20)])
		}
		_, err := w.client.SendMessage(w.ctx, in)
		ok(w, err)
	}
}

// function deploys a handler of decoded events, which returns the raw response.
func (w *world) function(fn lambda.Function, handle func(ctx context.Context, e events.SQSEvent) (string, error)) *lambda.Deployment {
	w.Helper()
	return inProcess(w.T, fn, func(ctx context.Context, payload []byte) ([]byte, error) {
		var e events.SQSEvent
		if err := json.Unmarshal(payload, &e); err != nil {
			return nil, err
		}
		response, err := handle(ctx, e)
		return []byte(response), err
	})
}

// taking returns a handler that succeeds after a time.
func taking(d time.Duration) func(context.Context, events.SQSEvent) (string, error) {
	return func(context.Context, events.SQSEvent) (string, error) {
		time.Sleep(d)
		return "", nil
	}
}

// note returns a listener that appends events to a list.
func note[E any](w *world, list *[]E) func(E) {
	return func(e E) {
		w.mu.Lock()
		defer w.mu.Unlock()
		*list = append(*list, e)
	}
}

// run starts the mapping and returns a function that stops it and waits. Function defaults
// to one that succeeds at once.
func (w *world) run(m lambda.Mapping) (stop func()) {
	w.Helper()
	m.SQS = w.client
	if m.Function == nil {
		m.Function = w.function(lambda.Function{}, succeed)
	}
	m.Started, m.Ended, m.Errored = note(w, &w.invocations), note(w, &w.ended), note(w, &w.pollErrors)
	ctx, cancel := context.WithCancel(w.ctx)
	done := make(chan error, 1)
	go func() { done <- m.Run(ctx) }()
	stop = sync.OnceFunc(func() {
		w.Helper()
		cancel()
		if err := <-done; err != nil {
			w.Errorf("Run: %v", err)
		}
	})
	w.Cleanup(stop)
	return stop
}

// runUntil runs the mapping until a time after the start of the test.
func (w *world) runUntil(d time.Duration, m lambda.Mapping) {
	w.Helper()
	stop := w.run(m)
	w.after(d)
	stop()
}

// after waits until a time after the start of the test.
func (w *world) after(d time.Duration) {
	time.Sleep(time.Until(w.begin.Add(d)))
	synctest.Wait()
}

// wantTimes compares the start times and the numbers of records of the invocations.
func (w *world) wantTimes(want ...string) {
	w.Helper()
	w.mu.Lock()
	defer w.mu.Unlock()
	var got []string
	for _, i := range w.invocations {
		got = append(got, fmt.Sprintf("%v:%d", i.Started.Sub(w.begin), len(i.Records)))
	}
	if !slices.Equal(got, want) {
		w.Errorf("invocations (time:records) %v, want %v", got, want)
	}
}

// wantDeleted compares without order.
func (w *world) wantDeleted(want ...string) {
	w.Helper()
	var got []string
	for _, e := range w.server.Events(sqs.Deleted) {
		got = append(got, e.Body)
	}
	slices.Sort(got)
	if want = slices.Sorted(slices.Values(want)); !slices.Equal(got, want) {
		w.Errorf("deleted %d: %.200q, want %d: %.200q", len(got), got, len(want), want)
	}
}

// visible receives the messages that are visible now.
func (w *world) visible(queue string) (bodies []string) {
	w.Helper()
	for {
		out, err := w.client.ReceiveMessage(w.ctx, &awssqs.ReceiveMessageInput{QueueUrl: &queue, MaxNumberOfMessages: 10})
		ok(w, err)
		if len(out.Messages) == 0 {
			slices.Sort(bodies)
			return bodies
		}
		for _, m := range out.Messages {
			bodies = append(bodies, *m.Body)
		}
	}
}

func numbered(n int) (bodies []string) {
	for i := range n {
		bodies = append(bodies, fmt.Sprintf("m%03d", i))
	}
	return bodies
}
