package longpoll_test

import (
	"cmp"
	"context"
	"net/http"
	"runtime/debug"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	awssqs "github.com/aws/aws-sdk-go-v2/service/sqs"
	"github.com/aws/aws-sdk-go-v2/service/sqs/types"
	"go.uber.org/goleak"

	"github.com/sqsbatch/sqsbatch/batch"
	"github.com/sqsbatch/sqsbatch/emulator/sqs"
	"github.com/sqsbatch/sqsbatch/internal/longpoll"
	"github.com/sqsbatch/sqsbatch/test/testhooks"
	"github.com/sqsbatch/sqsbatch/test/testqueue"
)

// The kinds of a queue.
const (
	standardQueue = testqueue.Standard
	fifoQueue     = testqueue.FIFO
)

func TestMain(m *testing.M) {
	debug.SetGCPercent(400) // a fifth of the processor time
	goleak.VerifyTestMain(m)
}

// world is a queue, a poller, and what they did, in virtual time.
type world struct {
	*testqueue.Queue
	t   *testing.T
	cfg longpoll.Config
	p   *longpoll.Poller
	err chan error // of Run

	began time.Time

	mu       sync.Mutex
	handled  []string
	started  int // records of batches that began
	warnings []string
	said     []string // nothing is wrong
	results  []batch.Result
}

// handle is a handler for tests; w notes each call before it.
type handle func(ctx context.Context, r batch.Record) error

func ok(context.Context, batch.Record) error { return nil }

// sleepingFor takes d for a record with this body, and no time for others.
func sleepingFor(body string, d time.Duration) handle {
	return func(_ context.Context, r batch.Record) error {
		if r.Body == body {
			time.Sleep(d)
		}
		return nil
	}
}

// inWorld runs script in a bubble, with a poller that script starts, and stops
// it at the end.
func inWorld(t *testing.T, fifo bool, h handle, configure func(*longpoll.Config), script func(*world)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		w := &world{Queue: testqueue.New(t, fifo), t: t, err: make(chan error, 1), began: time.Now()}
		w.cfg = longpoll.Config{Queue: w.URL, SQS: w.Client}
		w.cfg.Hooks = testhooks.Of(w)
		if configure != nil {
			configure(&w.cfg)
		}
		w.p = longpoll.New(batch.HandlerFunc(func(ctx context.Context, r batch.Record) error {
			w.mu.Lock()
			w.handled = append(w.handled, r.Body)
			w.mu.Unlock()
			return h(ctx, r)
		}), w.cfg)
		defer func() {
			_ = w.p.Shutdown(context.Background())
			time.Sleep(2 * time.Hour) // for handlers that were given up
			synctest.Wait()
			w.wantEachSettledOnce()
		}()
		script(w)
	})
}

// wantEachSettledOnce wants the hooks to have seen the outcome of each delivery, also of those
// that were not started.
func (w *world) wantEachSettledOnce() {
	w.t.Helper()
	handled := 0
	for _, r := range w.results {
		if r.Record == nil {
			w.t.Errorf("hooks were notified of an outcome without a record: %+v", r)
		}
		if !r.Started.IsZero() {
			handled++
		}
	}
	if w.started < handled {
		w.t.Errorf("hooks were notified of %d records that begin, and of %d that were handled", w.started, handled)
	}
	if c := w.p.Status().Counts; len(w.results) != c.Received-c.Repeated {
		w.t.Errorf("hooks were notified of %d outcomes, want one for each of %d deliveries, without %d repeated ones", len(w.results), c.Received, c.Repeated)
	}
}

// numbered are n bodies, each its number and suffix.
func numbered(n int, suffix string) []string {
	list := make([]string, n)
	for i := range list {
		list[i] = strconv.Itoa(i) + suffix
	}
	return list
}

// sendMany sends n numbered bodies to a standard queue, and forgets these calls.
func (w *world) sendMany(n int) {
	w.t.Helper()
	for ten := range slices.Chunk(numbered(n, ""), 10) {
		in := &awssqs.SendMessageBatchInput{QueueUrl: &w.URL}
		for _, body := range ten {
			in.Entries = append(in.Entries, types.SendMessageBatchRequestEntry{Id: &body, MessageBody: &body})
		}
		if out, err := w.Client.SendMessageBatch(context.Background(), in); err != nil || len(out.Failed) > 0 {
			w.t.Fatal(err, out)
		}
	}
	w.ForgetCalls()
}

// start runs the poller.
func (w *world) start() {
	go func() { w.err <- w.p.Run(context.Background()) }()
	synctest.Wait()
}

// stop shuts the poller down, and returns how long that took.
func (w *world) stop() time.Duration {
	w.t.Helper()
	began := time.Now()
	if err := w.p.Shutdown(context.Background()); err != nil {
		w.t.Errorf("Shutdown: %v", err)
	}
	if err := <-w.err; err != nil {
		w.t.Errorf("Run: %v", err)
	}
	return time.Since(began)
}

// stopWithin shuts the poller down, which may take d.
func (w *world) stopWithin(d time.Duration) {
	w.t.Helper()
	if took := w.stop(); took > d {
		w.t.Errorf("the stop took %v, want at most %v", took, d)
	}
}

// after lets time pass.
func (w *world) after(d time.Duration) {
	time.Sleep(d)
	synctest.Wait()
}

func (w *world) bodies() []string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return slices.Clone(w.handled)
}

// count is how often an operation was called.
func (w *world) count(operation string) int {
	n := 0
	for _, name := range w.Calls() {
		if name == operation {
			n++
		}
	}
	return n
}

// inject makes calls go wrong from now on.
func (w *world) inject(faults ...sqs.Fault) {
	w.t.Helper()
	if err := w.Server().Inject(faults...); err != nil {
		w.t.Fatal(err)
	}
}

func (w *world) Warned(_ context.Context, warning batch.Warning) {
	w.p.Status() // no hook is called under the poller's lock
	w.mu.Lock()
	defer w.mu.Unlock()
	if want := batch.QueueName(w.URL); warning.Queue != want {
		w.t.Errorf("a warning is of queue %q, want %q: %s", warning.Queue, want, warning.Message)
	}
	text := warning.Message
	if warning.Info {
		w.said = append(w.said, text)
		return
	}
	if warning.Serious {
		text = "ERROR " + text
	}
	if warning.Err != nil {
		text += ": " + warning.Err.Error()
	}
	w.warnings = append(w.warnings, text)
}

func (w *world) BatchContext(ctx context.Context, info batch.BatchInfo, _ []batch.Record) context.Context {
	w.p.Status()
	w.mu.Lock()
	defer w.mu.Unlock()
	w.started += info.Records
	return ctx
}

func (w *world) BatchSettled(_ context.Context, _ batch.BatchInfo, results []batch.Result) {
	w.p.Status()
	w.mu.Lock()
	defer w.mu.Unlock()
	w.results = append(w.results, results...)
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

// warningsWith are the warnings so far with part in them.
func (w *world) warningsWith(part string) (list []string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, s := range w.warnings {
		if strings.Contains(s, part) {
			list = append(list, s)
		}
	}
	return list
}

// wantWarned compares how many warnings have part in them.
func (w *world) wantWarned(want int, part string) {
	w.t.Helper()
	if n := len(w.warningsWith(part)); n != want {
		w.t.Errorf("%d warnings with %q, want %d: %q", n, part, want, w.warnings)
	}
}

// wantKept wants that nothing came back before it was deleted.
func (w *world) wantKept(deleted int) {
	w.t.Helper()
	if n := len(w.Events(sqs.Returned)); n != 0 || w.deleted() != deleted {
		w.t.Errorf("%d came back, %d deleted; want 0 and %d", n, w.deleted(), deleted)
	}
}

// outcomes are those of all records that were settled: of first attempts before
// those of second ones, and so on, and by body among those. The
// order of hooks for records that end at one moment is not promised.
func (w *world) outcomes() (list []batch.Outcome) {
	w.mu.Lock()
	results := slices.Clone(w.results)
	w.mu.Unlock()
	slices.SortStableFunc(results, func(a, b batch.Result) int {
		return cmp.Or(cmp.Compare(a.Record.Attempt, b.Record.Attempt), cmp.Compare(a.Record.Body, b.Record.Body))
	})
	for _, r := range results {
		list = append(list, r.Outcome)
	}
	return list
}

// deleted is how many messages were deleted.
func (w *world) deleted() int { return len(w.Events(sqs.Deleted)) }

// returned are the times at which a message became visible again, in seconds
// since the world began.
func (w *world) returned(body string) (list []float64) {
	for _, e := range w.Events(sqs.Returned) {
		if e.Body == body {
			list = append(list, e.Time.Sub(w.began).Seconds())
		}
	}
	return list
}

// seconds since the world began.
func (w *world) seconds() float64 { return time.Since(w.began).Seconds() }

// wantHandled compares what was handled, in order.
func (w *world) wantHandled(want ...string) {
	w.t.Helper()
	if got := w.bodies(); !slices.Equal(got, want) {
		w.t.Errorf("handled %q, want %q", got, want)
	}
}

// wantOutcomes compares what the hooks got, in the order of outcomes.
func (w *world) wantOutcomes(want ...batch.Outcome) {
	w.t.Helper()
	if got := w.outcomes(); !slices.Equal(got, want) {
		w.t.Errorf("the hooks got %v, want %v", got, want)
	}
}

// wantDeleted compares how many messages were deleted.
func (w *world) wantDeleted(want int) {
	w.t.Helper()
	if n := w.deleted(); n != want {
		w.t.Errorf("%d messages were deleted, want %d", n, want)
	}
}

// wantVisible compares how many messages another consumer would get now.
func (w *world) wantVisible(want int) {
	w.t.Helper()
	if n := w.visible(); n != want {
		w.t.Errorf("%d messages are visible, want %d", n, want)
	}
}

// wantState compares the poller's state.
func (w *world) wantState(want string) {
	w.t.Helper()
	if s := w.p.Status(); s.State != want {
		w.t.Errorf("the poller is %s, want %s", s.State, want)
	}
}

// needsWaiting ends a test that would test nothing, since no record waits.
func (w *world) needsWaiting() {
	w.t.Helper()
	if w.p.Status().Waiting == 0 {
		w.t.Fatal("nothing waits: the test tests nothing")
	}
}

// visible is how many messages another consumer would get now.
func (w *world) visible() int {
	w.t.Helper()
	return len(w.Receive(1000))
}

// undeleted is how many messages the queue has, visible or not.
func (w *world) undeleted() (n int) {
	w.t.Helper()
	visible, hidden := types.QueueAttributeNameApproximateNumberOfMessages,
		types.QueueAttributeNameApproximateNumberOfMessagesNotVisible
	out, err := w.Client.GetQueueAttributes(context.Background(), &awssqs.GetQueueAttributesInput{
		QueueUrl: &w.URL, AttributeNames: []types.QueueAttributeName{visible, hidden}})
	if err != nil {
		w.t.Fatal(err)
	}
	for _, name := range []types.QueueAttributeName{visible, hidden} {
		of, err := strconv.Atoi(out.Attributes[string(name)])
		if err != nil {
			w.t.Fatalf("%s: %v", name, err)
		}
		n += of
	}
	return n
}

// changeVisibility is what another consumer does, by a receipt handle.
func (w *world) changeVisibility(handle string, seconds int32) {
	w.t.Helper()
	_, err := w.Client.ChangeMessageVisibility(context.Background(), &awssqs.ChangeMessageVisibilityInput{
		QueueUrl: &w.URL, ReceiptHandle: &handle, VisibilityTimeout: seconds})
	if err != nil {
		w.t.Fatal(err)
	}
}

// noRedrive takes the queue's RedrivePolicy away.
func (w *world) noRedrive() {
	w.t.Helper()
	_, err := w.Client.SetQueueAttributes(context.Background(), &awssqs.SetQueueAttributesInput{
		QueueUrl: &w.URL, Attributes: map[string]string{"RedrivePolicy": ""}})
	if err != nil {
		w.t.Fatal(err)
	}
}
