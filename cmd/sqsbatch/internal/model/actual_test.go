package model

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"net/http"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	awssqs "github.com/aws/aws-sdk-go-v2/service/sqs"
	"github.com/aws/aws-sdk-go-v2/service/sqs/types"

	"github.com/sqsbatch/sqsbatch/batch"
	"github.com/sqsbatch/sqsbatch/emulator/lambda"
	"github.com/sqsbatch/sqsbatch/emulator/sqs"
	"github.com/sqsbatch/sqsbatch/handler"
	"github.com/sqsbatch/sqsbatch/internal/draw"
	"github.com/sqsbatch/sqsbatch/partialfailure"
)

// always draws the same numbers, as far as the toolkit and the model see: the same fraction, and the
// same remainders. Other bits count, so that ids of messages differ.
type always struct{ drawn atomic.Uint64 }

func (a *always) Uint64() uint64 { return 0x9e3779b9_00000155 | a.drawn.Add(1)<<10&0xfffffc00 }

// actual carries out a scenario for real, in virtual time: emulator/sqs, and the toolkit behind
// emulator/lambda's mapping or in containers. It returns the ids of the messages as well.
type actual struct {
	*testing.T
	s      Scenario
	server *sqs.Server
	client *awssqs.Client
	url    string
	began  time.Time
	r      Report
	ids    []string

	mu   sync.Mutex
	done map[int]time.Duration // by message: its first success
}

const queueName = "orders"

func runActual(t *testing.T, s Scenario) (r *Report, ids []string) {
	synctest.Test(t, func(t *testing.T) {
		a := &actual{T: t, s: s.withDefaults(), began: time.Now(), done: map[int]time.Duration{}}
		a.server = sqs.New(sqs.Config{History: -1, ObserveCall: a.called, Observe: a.observed})
		defer a.server.Close()
		a.client = a.server.Client()
		a.createQueues()
		a.began = time.Now()
		sampled := make(chan struct{})
		ctx, cancel := context.WithCancel(t.Context())
		go func() { a.sample(); close(sampled) }()
		go a.send(ctx)
		stop := a.start(ctx)
		<-sampled
		r, ids = &a.r, a.ids
		copied := a.r
		r = &copied
		cancel()
		stop()
		time.Sleep(24 * time.Hour) // until handlers that hang have ended
	})
	return r, ids
}

func (a *actual) ok(err error) {
	a.Helper()
	if err != nil {
		a.Error(err)
	}
}

func (a *actual) name(suffix string) string {
	if a.s.Queue.FIFO {
		suffix += ".fifo"
	}
	return queueName + suffix
}

func (a *actual) createQueues() {
	attributes := map[string]string{}
	if a.s.Queue.FIFO {
		attributes["FifoQueue"] = "true"
	}
	create := func(name string) string {
		out, err := a.client.CreateQueue(a.Context(), &awssqs.CreateQueueInput{QueueName: &name, Attributes: attributes})
		a.ok(err)
		return *out.QueueUrl
	}
	create(a.name("-dead"))
	seconds := func(d time.Duration) string { return strconv.Itoa(int(d / time.Second)) }
	q := a.s.Queue
	attributes["VisibilityTimeout"], attributes["DelaySeconds"] = seconds(q.Visibility), seconds(q.Delay)
	attributes["MessageRetentionPeriod"] = seconds(q.Retention)
	if q.MaxReceiveCount > 0 {
		attributes["RedrivePolicy"] = fmt.Sprintf(`{"deadLetterTargetArn":%q,"maxReceiveCount":%d}`, a.server.QueueARN(a.name("-dead")), q.MaxReceiveCount)
	}
	a.url = create(a.name(""))
}

// called counts the calls of the consumers.
func (a *actual) called(c sqs.Call) {
	a.mu.Lock()
	defer a.mu.Unlock()
	t := &a.r.Totals
	switch {
	case c.Error != "": // a process that has crashed
	case c.Operation == "ReceiveMessage":
		t.Requests.Receive++
	case c.Operation == "DeleteMessageBatch":
		t.Requests.Delete++
	case c.Operation == "ChangeMessageVisibilityBatch":
		t.Requests.Visibility++
	case c.Operation == "SendMessageBatch" && c.Queue == a.name("-dead"):
		t.Requests.DeadLetter++
	}
}

func (a *actual) observed(e sqs.Event) {
	a.mu.Lock()
	defer a.mu.Unlock()
	t := &a.r.Totals
	switch {
	case e.Kind == sqs.Received:
		t.Deliveries++
	case e.Kind == sqs.Expired:
		t.Expired++
	case e.Kind == sqs.Redriven, e.Kind == sqs.Sent && e.Queue == a.name("-dead"):
		t.DeadLetters++
	case e.Kind == sqs.Sent:
		t.Sent++
	}
}

// sends are the messages of the load, in order.
func (s *Scenario) sends() (list []Burst) {
	next := s.arrivals()
	for at, ok := next(); ok; at, ok = next() {
		list = append(list, Burst{at, 1})
	}
	list = append(slices.Clone(s.Load.Bursts), list...)
	slices.SortStableFunc(list, func(a, b Burst) int { return int(a.At - b.At) })
	return list
}

func (a *actual) send(ctx context.Context) {
	for _, b := range a.s.sends() {
		time.Sleep(time.Until(a.began.Add(b.At)))
		if b.At > a.s.For || ctx.Err() != nil {
			return
		}
		if b.Messages == 1 {
			a.sendTen(1)
			continue
		}
		a.ok(a.server.Pause(a.name(""), true)) // all are there at once
		for left := b.Messages; left > 0; left -= 10 {
			a.sendTen(min(left, 10))
		}
		a.ok(a.server.Pause(a.name(""), false))
	}
}

func (a *actual) sendTen(n int) {
	in := &awssqs.SendMessageBatchInput{QueueUrl: &a.url}
	for k := range n {
		number := len(a.ids) + k
		e := types.SendMessageBatchRequestEntry{Id: aws.String(strconv.Itoa(k)), MessageBody: aws.String(strconv.Itoa(number))}
		if a.s.Queue.FIFO {
			e.MessageGroupId, e.MessageDeduplicationId = aws.String(groupName(a.s.groupOf(number))), e.MessageBody
		}
		in.Entries = append(in.Entries, e)
	}
	out, err := a.client.SendMessageBatch(context.Background(), in)
	a.ok(err)
	for _, e := range out.Successful {
		a.ids = append(a.ids, *e.MessageId)
	}
}

// sample takes the samples until the end of the run.
func (a *actual) sample() {
	every := sampleEvery(a.s.For)
	a.r.Every = round(every)
	for at := time.Duration(0); at <= a.s.For; at += every {
		time.Sleep(time.Until(a.began.Add(at)))
		synctest.Wait()
		sample := Sample{At: round(at)}
		for _, q := range a.server.Snapshot() {
			switch q.Name {
			case a.name(""):
				sample.Visible, sample.Delayed, sample.InFlight = q.Visible, q.Delayed, q.InFlight
				for _, m := range q.Messages {
					if a.s.Queue.FIFO || m.ReceiveCount < 3 {
						sample.Age = round(time.Since(m.SentAt))
						break
					}
				}
			default:
				sample.DeadLetters = q.Visible
			}
		}
		a.r.Samples = append(a.r.Samples, sample)
	}
	time.Sleep(time.Until(a.began.Add(a.s.For)))
	synctest.Wait()
	a.mu.Lock()
	defer a.mu.Unlock()
	for _, q := range a.server.Queues() {
		if q.Name == a.name("") {
			a.r.Totals.Left = q.Visible + q.Delayed + q.InFlight
		}
	}
}

// process is a process of the toolkit: after a crash its calls fail.
type process struct {
	*actual
	ended  context.Context
	crash  context.CancelFunc
	client *http.Client
}

func (a *actual) newProcess() *process {
	p := &process{actual: a, client: a.server.HTTPClient()}
	p.ended, p.crash = context.WithCancel(context.Background())
	return p
}

var errCrashed = errors.New("the process has crashed")

// Do makes a call to SQS.
func (p *process) Do(r *http.Request) (*http.Response, error) {
	if p.ended.Err() != nil {
		return nil, errCrashed
	}
	ctx, cancel := context.WithCancel(r.Context())
	defer cancel()
	defer context.AfterFunc(p.ended, cancel)()
	return p.client.Do(r.WithContext(ctx))
}

// handle is the handler of a record.
func (p *process) handle(ctx context.Context, r batch.Record) error {
	number, err := strconv.Atoi(r.Body)
	if err != nil {
		return err
	}
	if p.ended.Err() != nil {
		return errCrashed
	}
	v := p.s.attemptOf(number, r.Attempt, time.Since(p.began))
	p.mu.Lock()
	p.r.Totals.Attempts++
	p.mu.Unlock()
	return p.act(ctx, v)
}

func (p *process) act(ctx context.Context, v attempt) error {
	if v.outcome == hangs {
		select {
		case <-time.After(20 * time.Hour):
		case <-p.ended.Done():
		}
		return nil
	}
	timer := time.NewTimer(v.takes)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-ctx.Done():
		if v.outcome != crashes {
			return ctx.Err()
		}
	case <-p.ended.Done():
		return errCrashed
	}
	err := errors.New("failed")
	switch v.outcome {
	case retries:
		if v.after >= 0 {
			return batch.RetryAfter(v.after, err)
		}
		return err
	case isPermanent:
		return batch.Permanent(err)
	case aborts:
		return batch.Abort(v.after, err)
	case crashes:
		p.crash()
		return errCrashed
	}
	return nil
}

// config is the toolkit's configuration.
func (p *process) config() handler.Config {
	t := p.s.Toolkit
	c := handler.Config{
		Concurrency: t.Concurrency, Reserve: t.Reserve, RecordTimeout: t.RecordTimeout, MinRemaining: t.MinRemaining, Grace: t.Grace,
		Failures: partialfailure.Config{Outage: t.Outage, OnPermanent: t.OnPermanent, MaxReceiveCount: p.s.Queue.MaxReceiveCount},
		Logger:   slog.New(slog.DiscardHandler),
		Hooks:    batch.Hooks{BatchSettled: p.settled},
		SQS:      p.server.Client(func(o *awssqs.Options) { o.HTTPClient = p; o.RetryMaxAttempts = 1 }),
	}
	if t.BackoffBase > 0 {
		c.Failures.Backoff = partialfailure.Exponential(t.BackoffBase, t.BackoffCap)
	}
	if p.s.Mapping != nil {
		c.NoReportBatchItemFailures = !p.s.Mapping.ReportBatchItemFailures
	}
	return c
}

// settled counts the outcomes of records.
func (p *process) settled(_ context.Context, _ batch.BatchInfo, results []batch.Result) {
	if p.ended.Err() != nil {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	t := &p.r.Totals
	for _, r := range results {
		switch r.Outcome {
		case batch.NotStarted:
			t.NotStarted++
		case batch.Skipped:
			t.Skipped++
		case batch.Abandoned:
			t.Abandoned++
		}
	}
}

// invoke runs an invocation in a process of its own, which ends with a crash.
func (a *actual) invoke(ctx context.Context, payload []byte) ([]byte, error) {
	p := a.newProcess()
	l, err := handler.New(batch.HandlerFunc(p.handle), p.config())
	if err != nil {
		return nil, err
	}
	type answer struct {
		response []byte
		err      error
	}
	answered := make(chan answer, 1)
	go func() {
		response, err := l.Invoke(ctx, payload)
		answered <- answer{response, err}
	}()
	select {
	case a := <-answered:
		return a.response, a.err
	case <-p.ended.Done():
		return nil, errCrashed
	}
}

// start starts the consumers. stop waits for their end.
func (a *actual) start(ctx context.Context) (stop func()) {
	if a.s.Mapping != nil {
		return a.startMapping(ctx)
	}
	var over sync.WaitGroup
	for range a.s.Containers.Tasks {
		over.Go(func() {
			for ctx.Err() == nil {
				a.poll(ctx)
			}
		})
	}
	return over.Wait
}

// poll runs a container until it crashes, or until the end.
func (a *actual) poll(ctx context.Context) {
	p := a.newProcess()
	c, cfg := p.config(), a.s.Containers
	c.Concurrency = cfg.Slots
	c.Poll = handler.PollConfig{Queues: []string{a.url}, Visibility: cfg.Visibility, Prefetch: cfg.Prefetch}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		_ = handler.Poll(ctx, batch.HandlerFunc(p.handle), c)
	}()
	select {
	case <-ended:
	case <-p.ended.Done():
		a.mu.Lock()
		a.r.Totals.Errors++
		a.mu.Unlock()
	}
}

// startMapping starts the mapping. stop waits for its end.
func (a *actual) startMapping(ctx context.Context) (stop func()) {
	f, m := a.s.Function, a.s.Mapping
	most := f.AccountLimit
	if f.Reserved > 0 {
		most = min(most, f.Reserved)
	}
	function, err := lambda.Start(lambda.Function{Handler: a.invoke, Timeout: f.Timeout, Concurrency: min(most, 1000)})
	if err != nil {
		a.Fatal(err)
	}
	t := &a.r.Totals
	mapping := lambda.Mapping{
		Function: function, SQS: a.client, QueueURL: a.url, BatchSize: m.BatchSize, Window: m.Window,
		ReportBatchItemFailures: m.ReportBatchItemFailures, MaximumConcurrency: m.MaximumConcurrency, Pollers: m.Pollers,
		Started: func(lambda.Invocation) {
			a.mu.Lock()
			defer a.mu.Unlock()
			t.Invocations++
		},
		Ended: func(e lambda.Ended) {
			a.mu.Lock()
			defer a.mu.Unlock()
			if e.AllFailed != "" {
				t.Errors++
			}
		},
		Errored: func(e *lambda.PollError) {
			a.mu.Lock()
			defer a.mu.Unlock()
			if e.Operation == "Invoke" {
				t.Throttled += e.Messages
			} else if ctx.Err() == nil {
				a.Error(e)
			}
		},
	}
	over := make(chan error, 1)
	go func() { over <- mapping.Run(ctx) }()
	return func() {
		a.ok(function.Close())
		<-over
	}
}

func TestMain(m *testing.M) {
	draw.Rand = rand.New(new(always))
	m.Run()
}
