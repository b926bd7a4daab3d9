package combine

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"net/http"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	awssqs "github.com/aws/aws-sdk-go-v2/service/sqs"
	"github.com/aws/aws-sdk-go-v2/service/sqs/types"
	"golang.org/x/time/rate"

	"github.com/sqsbatch/sqsbatch/batch"
	"github.com/sqsbatch/sqsbatch/bulk"
	"github.com/sqsbatch/sqsbatch/emulator/lambda"
	"github.com/sqsbatch/sqsbatch/emulator/sqs"
	"github.com/sqsbatch/sqsbatch/handler"
	"github.com/sqsbatch/sqsbatch/idempotency"
	"github.com/sqsbatch/sqsbatch/internal/longpoll"
	"github.com/sqsbatch/sqsbatch/internal/runner"
	"github.com/sqsbatch/sqsbatch/internal/sleep"
	"github.com/sqsbatch/sqsbatch/partialfailure"
	"github.com/sqsbatch/sqsbatch/payload/encoded"
	"github.com/sqsbatch/sqsbatch/payload/s3payload"
	"github.com/sqsbatch/sqsbatch/sender"
	"github.com/sqsbatch/sqsbatch/test/internal/harness"
	"github.com/sqsbatch/sqsbatch/test/random"
)

// Mutant breaks something between the parts, to show that the checks see it. Its functions may be nil.
type Mutant struct {
	// Wrap wraps the handler of a part, or "function".
	Wrap func(e *env, part string, next batch.Handler) batch.Handler
	// Chunk changes the context that a function of many records gets.
	Chunk func(e *env, ctx context.Context, items []bulk.Item[Body]) context.Context
	// Item changes which of n items bulk.Context gives the values of; -1 for none.
	Item func(i, n int) int
	// Claims is of how many items bulk.Context gives the claims; 0 for all.
	Claims int
	// Unconfirmed commits work before its messages are confirmed, Unkept before the answer is kept.
	Unconfirmed, Unkept bool
}

func (e *env) mutated(part string, h batch.Handler) batch.Handler {
	if e.w.mutant.Wrap == nil {
		return h
	}
	return e.w.mutant.Wrap(e, part, h)
}

// world is what a plan is carried out in.
type world struct {
	plan   *Plan
	mutant Mutant
	server *sqs.Server
	client *awssqs.Client // the simulator's
	memory *idempotency.Memory
	healed atomic.Bool

	source, dead, mails, replies string // names of queues

	database sync.Mutex // that of the store: a transaction holds it from its first completion on

	mu      sync.Mutex // guards what follows
	history History
	objects map[string]string // S3's
	numbers map[string]int    // of messages, by id and by body
	left    int               // messages in the source queue
	calls   int
	draws   uint64
	envs    []*env
}

// Run carries out a plan in a bubble of its own.
func Run(t *testing.T, p *Plan, mutant Mutant) (h *History) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		w := &world{plan: p, mutant: mutant, memory: idempotency.NewMemory(), objects: map[string]string{}, numbers: map[string]int{}}
		w.source, w.dead, w.mails, w.replies = "orders"+p.suffix(), "dead"+p.suffix(), "mails"+p.suffix(), "sqsbatch-reply-1"
		w.history.Plan, w.history.Began = p, time.Now()
		w.server = sqs.New(sqs.Config{Seed: p.Seed, History: -1, Observe: w.observe})
		defer w.server.Close()
		w.client = w.server.Client()
		if err := w.run(); err != nil {
			t.Fatalf("the plan cannot be carried out: %v\n%v", err, p)
		}
		h = &w.history
	})
	return h
}

// patience is how long after the end of all troubles a history may last.
const patience = 2 * time.Hour

func (w *world) run() error {
	for _, name := range []string{w.source, w.dead, w.mails, w.replies} {
		if _, err := harness.MakeQueue(context.Background(), w.client, name, map[string]string{"VisibilityTimeout": strconv.Itoa(int(visibility.Seconds()))}); err != nil {
			return err
		}
	}
	messages, err := w.prepare()
	if err != nil {
		return err
	}
	if err := w.server.Inject(w.plan.Faults...); err != nil {
		return err
	}
	drive := w.lambda
	if w.plan.Poll {
		drive = w.poll
	}
	stop, err := drive()
	if err != nil {
		return err
	}
	for _, k := range w.plan.Kills {
		time.AfterFunc(k.At, func() { w.kill(k) })
	}
	for i, m := range w.plan.Messages {
		time.Sleep(time.Until(w.history.Began.Add(m.At)))
		if err := w.send(m, messages[i]); err != nil {
			return err
		}
	}
	heal := w.history.Began.Add(w.plan.Heal)
	for w.remaining() > 0 && time.Since(heal) < patience {
		if !w.healed.Load() && !time.Now().Before(heal) {
			w.healed.Store(true)
			w.server.ClearFaults()
		}
		time.Sleep(time.Second)
	}
	w.healed.Store(true)
	w.server.ClearFaults()
	stop()
	over, cancel := context.WithCancel(context.Background())
	cancel()
	for _, e := range w.envs {
		e.end()
		e.mails.Close(over)
	}
	time.Sleep(15 * time.Minute) // handlers that were given up
	w.history.Stuck = w.remaining()
	for _, q := range w.server.Snapshot() {
		for _, m := range q.Messages {
			w.history.found(w, q.Name, m)
		}
	}
	return nil
}

// prepare makes the messages as their sender does, which is the same for every order of parts.
func (w *world) prepare() (list []sender.Message, err error) {
	store := w.s3(nil)
	uploader, err := s3payload.NewUploader(s3payload.UploaderConfig{Bucket: bucket, Always: true, Client: store})
	if err != nil {
		return nil, err
	}
	for _, m := range w.plan.Messages {
		text, _ := json.Marshal(Body{m.Number, fmt.Sprint("k", m.Key), strings.Repeat("x", 400)})
		out := sender.Message{Body: string(text), Group: m.Group}
		if w.plan.has("router") {
			kind := []string{"even", "odd"}[m.Number%2]
			out.Body = fmt.Sprintf(`{"type":%q,"data":%s}`, kind, out.Body)
		}
		if w.plan.has("encoded") {
			err = encoded.Prepare(context.Background(), &out)
		}
		if w.plan.has("s3payload") && err == nil {
			if out.Attributes == nil {
				out.Attributes = map[string]batch.MessageAttribute{}
			}
			err = uploader.Prepare(context.Background(), &out)
		}
		if err != nil {
			return nil, err
		}
		w.numbers[out.Body] = m.Number
		list = append(list, out)
	}
	return list, nil
}

// send sends a message. A request gives its caller's patience from now on.
func (w *world) send(m Message, out sender.Message) error {
	in := &awssqs.SendMessageInput{QueueUrl: aws.String(w.server.QueueURL(w.source)), MessageBody: &out.Body, MessageAttributes: map[string]types.MessageAttributeValue{}}
	for name, a := range out.Attributes {
		in.MessageAttributes[name] = types.MessageAttributeValue{DataType: &a.DataType, StringValue: &a.StringValue}
	}
	if w.plan.has("reply") {
		text, _ := json.Marshal(map[string]any{"id": strconv.Itoa(m.Number), "to": w.server.QueueURL(w.replies), "deadline": time.Now().Add(m.Patience)})
		in.MessageAttributes["sqsbatch.request"] = types.MessageAttributeValue{DataType: aws.String("String"), StringValue: aws.String(string(text))}
	}
	if w.plan.FIFO {
		in.MessageGroupId, in.MessageDeduplicationId = &m.Group, aws.String(strconv.Itoa(m.Number))
	}
	_, err := w.client.SendMessage(context.Background(), in)
	return err
}

func (w *world) remaining() int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.left
}

// breaks draws whether a call to S3 or to the store fails.
func (w *world) breaks() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.draws++
	return !w.healed.Load() && int(random.Mix(w.plan.Seed+w.draws)%100) < w.plan.Broken
}

func (w *world) nextCall() int {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.calls++
	return w.calls
}

func (w *world) number(messageID string) int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.numbers[messageID]
}

// s3 returns a client of the bucket, for a process or the simulator.
func (w *world) s3(e *env) *s3.Client {
	return s3.New(s3.Options{
		Region: "us-east-1", BaseEndpoint: aws.String("http://s3.test"), UsePathStyle: true, DisableLogOutputChecksumValidationSkipped: true,
		HTTPClient: &http.Client{Transport: &s3bucket{w, e}}, Credentials: credentials.NewStaticCredentialsProvider("test", "test", ""),
	})
}

// env is a process: its calls fail and what it does is not noted when it is dead.
type env struct {
	w      *world
	number int
	ctx    context.Context
	end    context.CancelFunc
	stop   func()                                              // begins a shutdown; may be nil
	invoke func(ctx context.Context, p []byte) ([]byte, error) // on Lambda
	busy   bool                                                // on Lambda; guarded by the world's lock

	sqs     *awssqs.Client
	s3      *s3.Client
	mails   *sender.Sender
	store   *store
	breaker func(batch.Handler) batch.Handler
	limiter *rate.Limiter

	records sync.Map // of mutants: contexts of records, by message id
}

func (w *world) newEnv() (*env, error) {
	e := &env{w: w, busy: true}
	e.ctx, e.end = context.WithCancel(context.Background())
	e.store = e.newStore()
	e.sqs = w.server.Client(func(o *awssqs.Options) { o.HTTPClient = &http.Client{Transport: e} })
	e.s3 = w.s3(e)
	if err := e.newParts(); err != nil {
		return nil, err
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.envs = append(w.envs, e)
	e.number = len(w.envs)
	return e, nil
}

// RoundTrip is the process's way to SQS.
func (e *env) RoundTrip(r *http.Request) (*http.Response, error) {
	if e.ctx.Err() != nil {
		return nil, errDead
	}
	response, err := e.w.server.HTTPClient().Transport.RoundTrip(r)
	if err == nil && e.ctx.Err() != nil {
		_ = response.Body.Close()
		return nil, errDead
	}
	return response, err
}

// kill ends the oldest process that lives.
func (w *world) kill(k Kill) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, e := range w.envs {
		if e.ctx.Err() != nil || w.healed.Load() {
			continue
		}
		if k.Crash {
			w.add(Entry{Kind: Killed, Env: e.number})
			e.end()
		}
		if e.stop != nil {
			go e.stop()
		}
		return
	}
}

func (w *world) failures() partialfailure.Config {
	return partialfailure.Config{Backoff: func(int) time.Duration { return 2 * time.Second }, DeadLetterQueue: w.server.QueueURL(w.dead)}
}

// lambda invokes the function by an event source mapping.
func (w *world) lambda() (stop func(), err error) {
	first, err := w.onLambda()
	if err != nil {
		return nil, err
	}
	first.busy = false
	deployed, err := lambda.Start(lambda.Function{Timeout: timeout, Concurrency: w.plan.Processes, Handler: func(ctx context.Context, payload []byte) ([]byte, error) {
		e := w.free()
		if e == nil {
			made, err := w.onLambda()
			if err != nil { // it was accepted before
				return nil, err
			}
			e = made
		}
		return e.run(ctx, payload)
	}})
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithCancel(context.Background())
	over := make(chan struct{})
	// A receive that is not answered ends by itself.
	client := w.server.Client(func(o *awssqs.Options) {
		o.HTTPClient = &http.Client{Transport: w.server.HTTPClient().Transport, Timeout: 40 * time.Second}
	})
	mapping := lambda.Mapping{Function: deployed, SQS: client, QueueURL: w.server.QueueURL(w.source), ReportBatchItemFailures: true}
	go func() {
		defer close(over)
		for ctx.Err() == nil {
			_ = mapping.Run(ctx)
			sleep.For(ctx, time.Second)
		}
	}()
	return func() {
		cancel()
		<-over
		_ = deployed.Close()
	}, nil
}

// free takes an environment that waits for an invocation; nil if there is none.
func (w *world) free() *env {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, e := range w.envs {
		if !e.busy && e.ctx.Err() == nil {
			e.busy = true
			return e
		}
	}
	return nil
}

func (w *world) onLambda() (*env, error) {
	e, err := w.newEnv()
	if err != nil {
		return nil, err
	}
	h, err := handler.New(e.handler(), handler.Config{
		Concurrency: w.plan.Concurrency, Failures: w.failures(), Classify: classify,
		Logger: slog.New(slog.DiscardHandler), SQS: e.sqs,
	})
	if err != nil {
		return nil, err
	}
	e.invoke = h.Invoke
	return e, nil
}

// run carries out an invocation, which ends without an answer if the process dies.
func (e *env) run(ctx context.Context, payload []byte) (response []byte, err error) {
	answered := make(chan struct{})
	go func() {
		defer close(answered)
		response, err = e.invoke(ctx, payload)
	}()
	select {
	case <-answered:
	case <-e.ctx.Done():
		runtime.Goexit()
	}
	e.w.mu.Lock()
	defer e.w.mu.Unlock()
	e.busy = false
	return response, err
}

// poll keeps processes running that poll the queue.
func (w *world) poll() (stop func(), err error) {
	ctx, cancel := context.WithCancel(context.Background())
	var running sync.WaitGroup
	for range w.plan.Processes {
		e, _, err := w.poller() // a configuration that is refused shows here
		if err != nil {
			cancel()
			return nil, err
		}
		e.end()
		running.Go(func() {
			for ctx.Err() == nil {
				w.pollOnce(ctx)
				sleep.For(ctx, time.Second)
			}
		})
	}
	return func() {
		cancel()
		running.Wait()
	}, nil
}

func (w *world) poller() (*env, *longpoll.Poller, error) {
	e, err := w.newEnv()
	if err != nil {
		return nil, nil, err
	}
	p := longpoll.New(e.handler(), longpoll.Config{
		Queue: w.server.QueueURL(w.source), SQS: e.sqs, Failures: w.failures(), Visibility: visibility,
		Engine: runner.Config{Concurrency: w.plan.Concurrency, RecordTimeout: timeout, Classify: classify},
	})
	return e, p, nil
}

// pollOnce is the life of a process.
func (w *world) pollOnce(ctx context.Context) {
	e, p, err := w.poller()
	if err != nil { // it was accepted before
		panic(err)
	}
	defer e.end()
	ending, shutdown := context.WithCancel(ctx)
	defer shutdown()
	w.mu.Lock()
	e.stop = shutdown
	w.mu.Unlock()
	over := make(chan struct{})
	go func() {
		defer close(over)
		_ = p.Run(context.Background())
	}()
	limit, expire := context.WithCancel(context.Background())
	defer expire()
	select {
	case <-over:
		return
	case <-e.ctx.Done():
		expire()
	case <-ending.Done():
		defer context.AfterFunc(e.ctx, expire)()
	}
	_ = p.Shutdown(limit)
	<-over
}
