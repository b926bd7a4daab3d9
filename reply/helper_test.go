package reply_test

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"runtime"
	"strings"
	"testing"
	"time"

	awssqs "github.com/aws/aws-sdk-go-v2/service/sqs"
	"go.uber.org/goleak"

	"github.com/sqsbatch/sqsbatch/batch"
	"github.com/sqsbatch/sqsbatch/emulator/sqs"
	"github.com/sqsbatch/sqsbatch/reply"
	"github.com/sqsbatch/sqsbatch/sqstest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// Request and Quote are what the tests send.
type Request struct {
	ID    string        `json:"id"`
	Takes time.Duration `json:"takes"`
}

type Quote struct {
	For string `json:"for"`
}

// world is a queue of requests with its handler, in virtual time.
type world struct {
	*testing.T
	*sqstest.Queue
	handler batch.Handler
	clients []*reply.Client
	log     *bytes.Buffer
}

var raceDetector bool

// manyCalls is the number of calls that are made at once, on one processor and fewer with the race
// detector: that of Go 1.26.8 ends runs with many goroutines in a bubble by SIGSEGV, in its own code.
func manyCalls(t *testing.T) int {
	if !raceDetector {
		return 1000
	}
	before := runtime.GOMAXPROCS(1)
	t.Cleanup(func() { runtime.GOMAXPROCS(before) })
	return 100
}

func (w *world) close() {
	for _, c := range w.clients {
		if err := c.Close(context.Background()); err != nil {
			w.Error(err)
		}
	}
}

// inWorld runs a test in both modes.
func inWorld(t *testing.T, test func(w *world)) {
	t.Helper()
	inBoth(t, sqstest.Config{}, test)
}

func inBoth(t *testing.T, cfg sqstest.Config, test func(w *world)) {
	for name, container := range map[string]bool{"on Lambda": false, "in a container": true} {
		cfg.Container = container
		t.Run(name, func(t *testing.T) { inWorldWith(t, cfg, test) })
	}
}

func inWorldWith(t *testing.T, cfg sqstest.Config, test func(w *world)) {
	t.Helper()
	w := &world{log: &bytes.Buffer{}}
	cfg.Handler.Logger = slog.New(slog.NewTextHandler(w.log, nil))
	h := batch.HandlerFunc(func(ctx context.Context, r batch.Record) error { return w.handler.Handle(ctx, r) })
	sqstest.RunWith(t, h, cfg, func(t *testing.T, q *sqstest.Queue) {
		w.T, w.Queue = t, q
		defer w.close()
		test(w)
	})
}

// withClient runs a test with a container that answers by quote, and a client that has its queue.
func withClient(t *testing.T, test func(w *world, c *reply.Client)) {
	t.Helper()
	inWorldWith(t, sqstest.Config{Container: true}, func(w *world) {
		w.serve(quote)
		test(w, w.opened(reply.Config{}))
	})
}

// serve begins to answer requests by fn.
func (w *world) serve(fn func(ctx context.Context, r Request) (Quote, error), inner ...func(batch.Handler) batch.Handler) {
	w.Helper()
	w.handler = reply.Handler(fn, reply.HandlerConfig{Inner: inner})
	w.Start()
}

// quote answers with the request's id, after the time that the request takes.
func quote(ctx context.Context, r Request) (Quote, error) {
	select {
	case <-time.After(r.Takes):
		return Quote{r.ID}, nil
	case <-ctx.Done():
		return Quote{}, ctx.Err()
	}
}

// client makes a client, which is closed at the end of the test.
func (w *world) client(cfg reply.Config) *reply.Client {
	w.Helper()
	c, err := reply.NewClient(w.Client, cfg)
	if err != nil {
		w.Fatal(err)
	}
	w.clients = append(w.clients, c)
	return c
}

// opened makes a client that has its reply queue.
func (w *world) opened(cfg reply.Config) *reply.Client {
	w.Helper()
	c := w.client(cfg)
	if err := c.Open(w.Context()); err != nil {
		w.Fatal(err)
	}
	return c
}

// wantIdle waits until requests are settled, and checks their outcomes.
func (w *world) wantIdle(outcomes ...string) {
	w.Helper()
	w.UntilIdle()
	w.Want(outcomes...)
}

func (w *world) within(began time.Time, limit time.Duration) {
	w.Helper()
	if took := time.Since(began); took > limit {
		w.Errorf("it took %v, want at most %v", took, limit)
	}
}

func (w *world) wantLog(text string) {
	w.Helper()
	if !strings.Contains(w.log.String(), text) {
		w.Errorf("%s is not in the log:\n%s", text, w.log)
	}
}

func (w *world) call(c *reply.Client, r Request) (Quote, error) {
	return reply.Call[Quote](w.Context(), c, w.URL, r)
}

// mustCall expects the request's own answer.
func (w *world) mustCall(c *reply.Client, r Request) {
	w.Helper()
	if q, err := w.call(c, r); err != nil || q.For != r.ID {
		w.Errorf("%+v: %+v, %v", r, q, err)
	}
}

func (w *world) inject(faults ...sqs.Fault) {
	w.Helper()
	if err := w.Server.Inject(faults...); err != nil {
		w.Fatal(err)
	}
}

// replyQueues are the queues whose names begin with sqsbatch-reply-.
func (w *world) replyQueues() (list []sqs.QueueSnapshot) {
	for _, q := range w.Server.Snapshot() {
		if strings.HasPrefix(q.Name, "sqsbatch-reply-") {
			list = append(list, q)
		}
	}
	return list
}

// replyQueue is the one that there is.
func (w *world) replyQueue() sqs.QueueSnapshot {
	w.Helper()
	list := w.replyQueues()
	if len(list) != 1 {
		w.Fatalf("%d reply queues, want 1", len(list))
	}
	return list[0]
}

func (w *world) deleteReplyQueue() {
	w.Helper()
	url := w.Server.QueueURL(w.replyQueue().Name)
	if _, err := w.Client.DeleteQueue(w.Context(), &awssqs.DeleteQueueInput{QueueUrl: &url}); err != nil {
		w.Fatal(err)
	}
}

// calls is how often an operation was called for the reply queue.
func (w *world) calls(operation string) (n int) {
	for _, c := range w.Server.Calls(operation) {
		if strings.HasPrefix(c.Queue, "sqsbatch-reply-") {
			n++
		}
	}
	return n
}

func answered(err error) *reply.Error {
	e, _ := errors.AsType[*reply.Error](err)
	return e
}
