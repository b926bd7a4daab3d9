package bulk_test

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"maps"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/sqsbatch/sqsbatch/test/testhooks"

	"github.com/aws/aws-lambda-go/events"
	awssqs "github.com/aws/aws-sdk-go-v2/service/sqs"
	"go.uber.org/goleak"

	"github.com/sqsbatch/sqsbatch/batch"
	"github.com/sqsbatch/sqsbatch/bulk"
	"github.com/sqsbatch/sqsbatch/emulator/sqs"
	"github.com/sqsbatch/sqsbatch/handler"
	"github.com/sqsbatch/sqsbatch/test/cases"
	"github.com/sqsbatch/sqsbatch/test/testqueue"
)

func TestMain(m *testing.M) {
	_ = flag.Set("rapid.checks", strconv.Itoa(cases.Of(25, 100)))
	goleak.VerifyTestMain(m)
}

var errNo = errors.New("no")

// world is a queue and a bulk function that notes what it is given, in virtual time.
type world struct {
	*testqueue.Queue
	t     *testing.T
	began time.Time
	cfg   bulk.Config
	run   handler.Config
	do    func(ctx context.Context, items []bulk.Item[string]) error // after the note; may be nil
	wrap  func(batch.Handler) batch.Handler                          // around the bulk handler; may be nil

	decode func(context.Context, batch.Record) (string, error)

	mu      sync.Mutex
	chunks  [][]string
	times   []time.Duration // when each began
	settled []batch.Result
}

// inWorld runs script in a bubble.
func inWorld(t *testing.T, fifo bool, script func(*world)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		w := &world{Queue: testqueue.New(t, fifo), t: t, began: time.Now(), decode: text}
		w.run = handler.Config{Hooks: testhooks.Of(w)}
		script(w)
		time.Sleep(24 * time.Hour) // for functions that were given up
	})
}

// inWorldOf is inWorld in a test with a name.
func inWorldOf(t *testing.T, name string, fifo bool, script func(t *testing.T, w *world)) {
	t.Helper()
	t.Run(name, func(t *testing.T) { inWorld(t, fifo, func(w *world) { script(t, w) }) })
}

// around is middleware that calls f with the handler that it is around.
func around(f func(ctx context.Context, r batch.Record, h batch.Handler) error) func(batch.Handler) batch.Handler {
	return func(h batch.Handler) batch.Handler {
		return batch.HandlerFunc(func(ctx context.Context, r batch.Record) error { return f(ctx, r, h) })
	}
}

func (w *world) BatchSettled(_ context.Context, _ batch.BatchInfo, results []batch.Result) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.settled = append(w.settled, results...)
}

// Send sends messages now, which is when the world's time begins.
func (w *world) Send(bodies ...string) {
	w.t.Helper()
	w.Queue.Send(bodies...)
	w.began = time.Now()
}

// text decodes a body as it is, but for those that begin with "bad".
func text(_ context.Context, r batch.Record) (string, error) {
	if strings.HasPrefix(r.Body, "bad") {
		return "", &batch.MalformedError{Reason: "it is bad"}
	}
	return r.Body, nil
}

func (w *world) handler() batch.Handler {
	h := bulk.New(w.decode, func(ctx context.Context, items []bulk.Item[string]) error {
		w.note(items)
		if w.do == nil {
			return nil
		}
		return w.do(ctx, items)
	}, w.cfg)
	if w.wrap != nil {
		h = w.wrap(h)
	}
	return h
}

func (w *world) note(items []bulk.Item[string]) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.chunks = append(w.chunks, values(items))
	w.times = append(w.times, time.Since(w.began))
}

func values(items []bulk.Item[string]) (list []string) {
	for i := range items {
		list = append(list, items[i].Value)
	}
	return list
}

// invoke is one invocation on Lambda with what the queue has, within timeout. As
// the event source mapping does, it deletes what is not reported as failed, and
// returns the bodies of what is.
func (w *world) invoke(most int, timeout time.Duration) (failed []string) {
	w.t.Helper()
	records := w.Receive(most)
	ctx, cancel := context.WithTimeout(w.t.Context(), timeout)
	defer cancel()
	out, err := w.Lambda(w.handler(), w.run).Invoke(ctx, testqueue.Event(records))
	if err != nil {
		w.t.Fatal(err)
	}
	var response events.SQSEventResponse
	if err := json.Unmarshal(out, &response); err != nil {
		w.t.Fatal(err)
	}
	for _, r := range records {
		if slices.ContainsFunc(response.BatchItemFailures, func(f events.SQSBatchItemFailure) bool { return f.ItemIdentifier == r.MessageID }) {
			failed = append(failed, r.Body)
			continue
		}
		w.delete(w.URL, r.ReceiptHandle)
	}
	return failed
}

// lambda sends messages and invokes the handler for them, within 30 s.
func (w *world) lambda(bodies ...string) (failed []string) {
	w.t.Helper()
	w.Send(bodies...)
	return w.invoke(10, 30*time.Second)
}

// poll runs the handler as a container would, for d.
func (w *world) poll(d time.Duration) {
	w.t.Helper()
	w.Poll(w.t.Context(), d, w.handler(), w.run)
}

// sendMany sends n messages with their numbers as bodies.
func (w *world) sendMany(n int) (bodies []string) {
	w.t.Helper()
	for i := range n {
		bodies = append(bodies, strconv.Itoa(i))
	}
	w.Send(bodies...)
	return bodies
}

// sizes are those of the chunks.
func (w *world) sizes() (list []int) {
	for _, c := range w.seen() {
		list = append(list, len(c))
	}
	return list
}

// seen are the chunks that the function was given.
func (w *world) seen() [][]string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return slices.Clone(w.chunks)
}

// items are those of all chunks, sorted.
func (w *world) items() (list []string) {
	for _, c := range w.seen() {
		list = append(list, c...)
	}
	slices.Sort(list)
	return list
}

// outcomes count the records that were settled, by outcome.
func (w *world) outcomes() map[batch.Outcome]int {
	w.mu.Lock()
	defer w.mu.Unlock()
	n := map[batch.Outcome]int{}
	for _, r := range w.settled {
		n[r.Outcome]++
	}
	return n
}

func (w *world) wantOutcomes(t *testing.T, want map[batch.Outcome]int) {
	t.Helper()
	if got := w.outcomes(); !maps.Equal(got, want) {
		t.Errorf("outcomes are %v, want %v", got, want)
	}
}

// result is the latest of a body.
func (w *world) result(body string) batch.Result {
	w.t.Helper()
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, r := range slices.Backward(w.settled) {
		if r.Record.Body == body {
			return r
		}
	}
	w.t.Fatalf("%q was not settled", body)
	return batch.Result{}
}

// left is how many messages the queue still has.
func (w *world) left() int {
	return len(w.Events(sqs.Sent)) - len(w.Events(sqs.Deleted)) - len(w.Events(sqs.Moved))
}

func wantChunks(t *testing.T, got [][]string, want ...[]string) {
	t.Helper()
	if !slices.EqualFunc(got, want, slices.Equal) {
		t.Errorf("the function was given %q, want %q", got, want)
	}
}

func (w *world) delete(url, handle string) {
	_, err := w.Client.DeleteMessage(context.Background(), &awssqs.DeleteMessageInput{QueueUrl: &url, ReceiptHandle: &handle})
	if err != nil {
		w.t.Error(err)
	}
}
