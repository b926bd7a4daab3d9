package settle_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/sqs"
	"go.uber.org/goleak"

	"github.com/sqsbatch/sqsbatch/batch"
	"github.com/sqsbatch/sqsbatch/internal/hooks"
	"github.com/sqsbatch/sqsbatch/internal/runner"
	"github.com/sqsbatch/sqsbatch/internal/settle"
	"github.com/sqsbatch/sqsbatch/test/testhooks"
	"github.com/sqsbatch/sqsbatch/test/testqueue"
)

// The kinds of a queue.
const (
	standardQueue = testqueue.Standard
	fifoQueue     = testqueue.FIFO
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// fixture runs batches from a queue as a Lambda function would.
type fixture struct {
	*testqueue.Queue
	t        *testing.T
	timeout  time.Duration
	engine   runner.Config
	hooks    batch.Hooks
	settling settle.Config
	settler  *settle.Policy

	handled []string // see deliver

	mu       sync.Mutex
	warnings []string
	said     []string // nothing is wrong
	warnedOf []string // the records that they name
	queue    string   // of which the warnings must be
}

// inBubble runs a test on a queue in virtual time. The backoff is 10 s for
// each attempt, so that what comes back when is certain.
func inBubble(t *testing.T, fifo bool, test func(f *fixture)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		f := &fixture{Queue: testqueue.New(t, fifo), t: t, timeout: 30 * time.Second}
		f.settling.Backoff = func(attempt int) time.Duration { return time.Duration(attempt) * 10 * time.Second }
		test(f)
		time.Sleep(time.Hour) // what was abandoned ends before the bubble does
	})
}

func (f *fixture) newEngine(h batch.HandlerFunc) *runner.Engine {
	return runner.New(h, f.engine, hooks.New(f.hooks))
}

// Warned is the hook.
func (f *fixture) Warned(_ context.Context, w batch.Warning) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if w.Queue != f.queue {
		f.t.Errorf("a warning is of queue %q, want %q: %s", w.Queue, f.queue, w.Message)
	}
	text := w.Message
	if w.Info {
		f.said = append(f.said, text)
		return
	}
	if w.Err != nil {
		text += ": " + w.Err.Error()
	}
	f.warnings = append(f.warnings, text)
	if w.MessageID != "" {
		f.warnedOf = append(f.warnedOf, w.MessageID)
	}
}

// invoke runs records through handle and settles them.
func (f *fixture) invoke(records []batch.Record, handle batch.HandlerFunc) []batch.Result {
	f.t.Helper()
	ctx := context.Background()
	if f.timeout > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, f.timeout)
		defer cancel()
	}
	f.hooks, f.queue = testhooks.Of(f), batch.QueueName(records[0].QueueARN)
	engine := f.newEngine(handle)
	if f.settler == nil {
		cfg := f.settling
		cfg.Hooks = engine.Hooks
		if cfg.Client == nil {
			cfg.Client = func(context.Context) (*sqs.Client, error) { return f.Client, nil }
		}
		f.settler = settle.New(cfg)
	}
	times := engine.Times(ctx)
	settlement := f.settler.Begin(ctx, records, times.SettleBy)
	results := engine.Run(ctx, records, settlement.Options(times))
	settlement.Settle(results)
	settlement.AwaitHooks()
	return results
}

// warnedOnce fails unless there is exactly one warning with these words in it.
func (f *fixture) warnedOnce(words ...string) {
	f.t.Helper()
	f.mu.Lock()
	defer f.mu.Unlock()
	if len(f.warnings) != 1 {
		f.t.Errorf("%d warnings, want 1: %q", len(f.warnings), f.warnings)
		return
	}
	for _, w := range words {
		if !strings.Contains(f.warnings[0], w) {
			f.t.Errorf("the warning has no %q: %s", w, f.warnings[0])
		}
	}
}

// bodies returns what the queue shows now.
func (f *fixture) visible() []string {
	f.t.Helper()
	var list []string
	for _, r := range f.Receive(100) {
		list = append(list, r.Body)
	}
	return list
}

// answer is a Fault that has SQS answer the calls of an operation ("" for all) like this.
func answer(operation string, status int, code, body string) func(string, *http.Request) (*http.Response, error) {
	return func(called string, r *http.Request) (*http.Response, error) {
		if operation != "" && called != operation {
			return nil, nil
		}
		return testqueue.Answer(r, status, code, body)
	}
}

// hanging is a Fault that leaves the calls of an operation ("" for all) without an answer.
func hanging(operation string) func(string, *http.Request) (*http.Response, error) {
	return func(called string, r *http.Request) (*http.Response, error) {
		if operation != "" && called != operation {
			return nil, nil
		}
		<-r.Context().Done()
		return nil, r.Context().Err()
	}
}

// set gives the queue an attribute.
func (f *fixture) set(name, value string) {
	f.t.Helper()
	if _, err := f.Client.SetQueueAttributes(context.Background(), &sqs.SetQueueAttributesInput{QueueUrl: &f.URL, Attributes: map[string]string{name: value}}); err != nil {
		f.t.Fatal(err)
	}
}

// delete deletes what was received, as Lambda does with what is done.
func (f *fixture) delete(r *batch.Record) {
	f.t.Helper()
	if _, err := f.Client.DeleteMessage(context.Background(), &sqs.DeleteMessageInput{QueueUrl: &f.URL, ReceiptHandle: &r.ReceiptHandle}); err != nil {
		f.t.Fatal(err)
	}
}

// byBody fails a record with what its body stands for.
func byBody(ctx context.Context, r batch.Record) error {
	_, word, found := strings.Cut(r.Body, ":")
	if !found {
		word = r.Body
	}
	switch word {
	case "fail":
		return errors.New("no")
	case "busy":
		return batch.RetryAfter(45*time.Second, errors.New("busy"))
	case "now":
		return batch.RetryAfter(0, errors.New("again"))
	case "long":
		return batch.RetryAfter(100*time.Hour, errors.New("much later"))
	case "never":
		return batch.Permanent(errors.New("no such thing"))
	case "hang":
		time.Sleep(40 * time.Minute)
	}
	return nil
}

func outcomes(results []batch.Result) map[string]string {
	m := make(map[string]string)
	for _, r := range results {
		m[r.Record.Body] = r.Outcome.String()
	}
	return m
}

func (f *fixture) wantOutcomes(results []batch.Result, want string) {
	f.t.Helper()
	if got := fmt.Sprint(outcomes(results)); got != want {
		f.t.Fatalf("%s, want %s, warnings %q", got, want, f.warnings)
	}
}

// failedOf are the ids that the response reports.
func failedOf(results []batch.Result) (ids []string) {
	for _, r := range results {
		if !r.Outcome.Done() {
			ids = append(ids, r.Record.MessageID)
		}
	}
	return ids
}
