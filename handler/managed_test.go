package handler_test

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/sqsbatch/sqsbatch/test/testhooks"

	"github.com/aws/aws-lambda-go/lambdacontext"
	"github.com/aws/aws-sdk-go-v2/aws"
	awssqs "github.com/aws/aws-sdk-go-v2/service/sqs"
	"github.com/aws/aws-sdk-go-v2/service/sqs/types"

	"github.com/sqsbatch/sqsbatch/batch"
	"github.com/sqsbatch/sqsbatch/emulator/lambda"
	"github.com/sqsbatch/sqsbatch/emulator/sqs"
	"github.com/sqsbatch/sqsbatch/handler"
)

// On Lambda Managed Instances one process has many invocations at a time.
const atATime = 64

// everything is what handlers do at their first call for a message; later ones
// succeed.
var everything = []string{"ok", "fail", "slow", "after", "ok", "panic", "never", "ok", "hang", "ok"}

// crowd is a function on Lambda Managed Instances, fed from a standard queue and
// a FIFO queue.
type crowd struct {
	*testing.T
	server *sqs.Server
	client *awssqs.Client
	users  *slog.Logger // as a function makes its own
	sent   map[string]string

	running, most atomic.Int32

	mu          sync.Mutex
	invocations map[string]lambda.Invocation
	called      map[string]map[string]string // what was done, by request and message
	first       map[string]bool              // called before
	done        map[string][]string          // bodies by group, in the order of their success
	back        map[string]time.Time         // when RetryAfter wants a message back
	deleted     map[string]int
}

// do is the user's function.
func (c *crowd) do(ctx context.Context, r batch.Record) error {
	lc, ok := lambdacontext.FromContext(ctx)
	if !ok {
		c.Error("the context of a record has no invocation")
		return nil
	}
	c.users.InfoContext(ctx, "user", "messageId", r.MessageID)
	number, what, _ := strings.Cut(r.Body, "-")
	n, _ := strconv.Atoi(number)
	c.mu.Lock()
	invocation := c.invocations[lc.AwsRequestID]
	if !slices.ContainsFunc(invocation.Records, func(own lambda.Record) bool {
		return own.MessageID == r.MessageID && own.ReceiptHandle == r.ReceiptHandle && own.Body == r.Body && own.GroupID == r.GroupID && own.Attempt == r.Attempt
	}) || c.sent[r.Body] != r.MessageID {
		c.Errorf("message %s with body %q is not one of invocation %s", r.MessageID, r.Body, lc.AwsRequestID)
	}
	if c.first[r.MessageID] {
		what = "ok"
	}
	c.first[r.MessageID] = true
	if c.called[lc.AwsRequestID] == nil {
		c.called[lc.AwsRequestID] = map[string]string{}
	}
	c.called[lc.AwsRequestID][r.MessageID] = what
	c.mu.Unlock()
	switch what {
	case "fail":
		return fmt.Errorf("no %d.", n)
	case "after":
		wait := time.Duration(30+n%50) * time.Second
		c.mu.Lock()
		c.back[r.MessageID] = time.Now().Add(wait)
		c.mu.Unlock()
		return batch.RetryAfter(wait, fmt.Errorf("no %d.", n))
	case "panic":
		panic(fmt.Sprintf("no %d.", n))
	case "never":
		return batch.Permanent(fmt.Errorf("no %d.", n))
	case "hang":
		time.Sleep(10 * time.Minute) // ignores its context
		c.users.InfoContext(ctx, "user", "messageId", r.MessageID)
		return nil
	case "slow":
		time.Sleep(4 * time.Second)
	}
	time.Sleep(time.Duration(1+n%3) * time.Second)
	c.mu.Lock()
	c.done[r.GroupID] = append(c.done[r.GroupID], r.Body)
	c.mu.Unlock()
	return nil
}

type calledPanics struct{}

func (calledPanics) Called(context.Context, batch.Call) { panic("oops") }

// invoke counts the invocations that h has at a time.
func (c *crowd) invoke(h *handler.LambdaHandler) func(context.Context, []byte) ([]byte, error) {
	return func(ctx context.Context, payload []byte) ([]byte, error) {
		n := c.running.Add(1)
		defer c.running.Add(-1)
		for most := c.most.Load(); n > most && !c.most.CompareAndSwap(most, n); most = c.most.Load() {
		}
		return h.Invoke(ctx, payload)
	}
}

// ended compares an invocation's response with what was done in it.
func (c *crowd) ended(e lambda.Ended) {
	if e.Result.Error != nil {
		c.Errorf("invocation %s: %v", e.RequestID, e.Result.Error)
		return
	}
	var response struct {
		BatchItemFailures []struct{ ItemIdentifier string }
	}
	if err := json.Unmarshal(e.Result.Payload, &response); err != nil {
		c.Error(err)
	}
	var got, want []string
	for _, f := range response.BatchItemFailures {
		got = append(got, f.ItemIdentifier)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, r := range e.Records {
		switch c.called[e.RequestID][r.MessageID] {
		case "ok", "slow", "never":
		default: // also what was not called
			want = append(want, r.MessageID)
		}
	}
	if !slices.Equal(got, want) {
		c.Errorf("invocation %s answered that %v failed, want %v", e.RequestID, got, want)
	}
}

func (c *crowd) queue(name string, attributes map[string]string) string {
	c.Helper()
	out, err := c.client.CreateQueue(c.Context(), &awssqs.CreateQueueInput{QueueName: &name, Attributes: attributes})
	if err != nil {
		c.Fatal(err)
	}
	return *out.QueueUrl
}

// send sends messages from..to-1 to a queue, in eight groups if it is FIFO.
func (c *crowd) send(url string, from, to int) {
	for n := from; n < to; n++ {
		body := fmt.Sprintf("%d-%s", n, everything[n%len(everything)])
		in := &awssqs.SendMessageInput{QueueUrl: &url, MessageBody: &body}
		if strings.HasSuffix(url, ".fifo") {
			in.MessageGroupId, in.MessageDeduplicationId = aws.String(fmt.Sprintf("group-%d", n%8)), &body
		}
		out, err := c.client.SendMessage(c.Context(), in)
		if err != nil {
			c.Fatal(err)
		}
		c.sent[body] = *out.MessageId
	}
}

// 64 invocations at a time, of two queues, whose handlers succeed, fail, ask for
// a delay, panic, give up and hang: each answers for its own records, each delay
// is its own record's, and each line of the log, the function's own too, has the
// request id of its invocation.
func TestManagedInstance_SettlesAndLogsPerInvocation(t *testing.T) {
	const standard, fifo = 350, 50
	path := filepath.Join(t.TempDir(), "log")
	file, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	stdout := os.Stdout
	t.Cleanup(func() { os.Stdout = stdout })
	os.Stdout = file // which the loggers keep
	var invocations map[string]lambda.Invocation
	synctest.Test(t, func(t *testing.T) {
		c := &crowd{T: t, users: slog.New(lambdacontext.NewLogHandler()), sent: map[string]string{},
			invocations: map[string]lambda.Invocation{}, called: map[string]map[string]string{}, first: map[string]bool{}, done: map[string][]string{},
			back: map[string]time.Time{}, deleted: map[string]int{}}
		invocations = c.invocations
		c.server = sqs.New(sqs.Config{Observe: func(e sqs.Event) {
			c.mu.Lock()
			defer c.mu.Unlock()
			if e.Kind == sqs.Deleted {
				c.deleted[e.MessageID]++
			}
			if at, ok := c.back[e.MessageID]; ok && e.Kind == sqs.Visibility {
				if got := e.Time.Add(e.Visibility); got.Before(at) || got.After(at.Add(2*time.Second)) {
					t.Errorf("message %s is back at %v, asked for %v", e.MessageID, got, at)
				}
				delete(c.back, e.MessageID)
			}
		}})
		defer c.server.Close()
		c.client = c.server.Client()
		h := newHandler(t, batch.HandlerFunc(c.do), handler.Config{SQS: c.client, RecordTimeout: 10 * time.Second, LogSucceeded: true,
			Hooks: testhooks.Of(finishedPanics{}, calledPanics{}, settledPanics{}, flushPanics{})}) // each makes warnings
		fn, err := lambda.Start(lambda.Function{Handler: c.invoke(h), Timeout: 30 * time.Second, Concurrency: 1, ConcurrencyPerEnvironment: atATime})
		if err != nil {
			t.Fatal(err)
		}
		defer fn.Close()
		var mappings []lambda.Mapping
		for suffix, messages := range map[string][2]int{"": {0, standard}, ".fifo": {standard, standard + fifo}} {
			attributes := map[string]string{}
			if suffix != "" {
				attributes["FifoQueue"] = "true"
			}
			c.queue("dead"+suffix, attributes)
			attributes["VisibilityTimeout"] = "180"
			attributes["RedrivePolicy"] = `{"deadLetterTargetArn":"` + c.server.QueueARN("dead"+suffix) + `","maxReceiveCount":100}`
			url := c.queue("orders"+suffix, attributes)
			c.send(url, messages[0], messages[1])
			m := lambda.Mapping{Function: fn, SQS: c.client, QueueURL: url, BatchSize: 5, ReportBatchItemFailures: true, Ended: c.ended,
				Started: func(i lambda.Invocation) {
					c.mu.Lock()
					defer c.mu.Unlock()
					c.invocations[i.RequestID] = i
				}}
			if suffix == "" {
				m.Pollers = 5
			}
			mappings = append(mappings, m)
		}
		ctx, stop := context.WithCancel(t.Context())
		var ended sync.WaitGroup
		for _, m := range mappings {
			ended.Go(func() {
				if err := m.Run(ctx); err != nil {
					t.Error(err)
				}
			})
		}
		for end := time.Now().Add(24 * time.Hour); time.Now().Before(end); time.Sleep(time.Minute) {
			c.mu.Lock()
			all := len(c.deleted) == standard+fifo
			c.mu.Unlock()
			if all {
				break
			}
		}
		stop()
		ended.Wait()
		time.Sleep(time.Hour) // for the handlers that hang
		c.outcome(standard + fifo)
	})
	if err := file.Close(); err != nil {
		t.Fatal(err)
	}
	checkLines(t, path, invocations)
}

// outcome checks what happened to the messages.
func (c *crowd) outcome(messages int) {
	if most := c.most.Load(); most != atATime {
		c.Errorf("%d invocations at a time, want %d", most, atATime)
	}
	if len(c.deleted) != messages || len(c.back) != 0 {
		c.Errorf("of %d messages %d are gone, %d were not given their delay", messages, len(c.deleted), len(c.back))
	}
	dead := 0
	for _, name := range []string{"dead", "dead.fifo"} {
		out, err := c.client.GetQueueAttributes(c.Context(), &awssqs.GetQueueAttributesInput{
			QueueUrl: aws.String(c.server.QueueURL(name)), AttributeNames: []types.QueueAttributeName{"ApproximateNumberOfMessages"}})
		if err != nil {
			c.Fatal(err)
		}
		n, _ := strconv.Atoi(out.Attributes["ApproximateNumberOfMessages"])
		dead += n
	}
	if want := messages / len(everything); dead != want {
		c.Errorf("%d dead letters, want %d", dead, want)
	}
	for group, bodies := range c.done {
		if group != "" && !slices.IsSortedFunc(bodies, func(a, b string) int { return number(a) - number(b) }) {
			c.Errorf("%s was handled in the order %v", group, bodies)
		}
	}
}

func number(body string) int {
	n, _, _ := strings.Cut(body, "-")
	i, _ := strconv.Atoi(n)
	return i
}
