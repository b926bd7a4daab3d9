package handler_test

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	awssqs "github.com/aws/aws-sdk-go-v2/service/sqs"

	"github.com/sqsbatch/sqsbatch/batch"
	"github.com/sqsbatch/sqsbatch/bulk"
	"github.com/sqsbatch/sqsbatch/emulator/sqs"
	"github.com/sqsbatch/sqsbatch/handler"
	"github.com/sqsbatch/sqsbatch/partialfailure"
)

// seen notes which handler got which body.
type seen struct {
	mu   sync.Mutex
	list []string
}

func (s *seen) by(name string) batch.Handler {
	return batch.HandlerFunc(func(ctx context.Context, r batch.Record) error {
		s.mu.Lock()
		s.list = append(s.list, name+" "+r.Body)
		s.mu.Unlock()
		return byBody(ctx, r)
	})
}

func (s *seen) sorted() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Sorted(slices.Values(s.list))
}

func TestQueuesInContainer_EachHasItsHandlerAndSettings(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		t.Setenv("SQSBATCH_QUEUE_URL", "orders") // a platform may set it for every program
		server, client := queues(t, "orders", "mails")
		var got seen
		var book logbook
		h := handler.Queues{
			{URL: server.QueueURL("orders"), Handler: got.by("ship")},
			{URL: "mails", Handler: got.by("mail"), Set: func(c *handler.Config) {
				c.Failures.Outage, c.Failures.Backoff = 0, func(int) time.Duration { return 5 * time.Minute }
			}},
		}
		var visible [2]time.Duration
		var finished atomic.Int32
		hooks := batch.Hooks{RecordFinished: func(context.Context, batch.Result) { finished.Add(1) }}
		err := polled(t, h, handler.Config{SQS: client, Logger: book.logger(), Hooks: hooks, Failures: partialfailure.Config{Outage: time.Second}}, func() {
			send(t, client, server.QueueURL("orders"), "1", "fail")
			send(t, client, server.QueueURL("mails"), "2", "fail")
			time.Sleep(900 * time.Millisecond) // the first backoff is 1 s or more
		})
		for _, e := range server.Events(sqs.Visibility) {
			visible[slices.Index([]string{"orders", "mails"}, e.Queue)] = e.Visibility
		}
		if want := []string{"mail 2", "mail fail", "ship 1", "ship fail"}; err != nil || !slices.Equal(got.sorted(), want) {
			t.Errorf("handled %q, want %q; error %v", got.sorted(), want, err)
		}
		if finished.Load() != 4 {
			t.Errorf("the hook got %d results, want those of both queues", finished.Load())
		}
		if visible[0] > 10*time.Second || visible[1] < time.Minute {
			t.Errorf("failures are hidden for %v, want the second to have an outage of its own", visible)
		}
		if len(book.lines(t, "SQSBATCH_QUEUE_URL has no effect: handler.Queues names the queues")) != 1 {
			t.Error("the log does not say that SQSBATCH_QUEUE_URL has no effect")
		}
		if lines := book.lines(t, "polling"); len(lines) != 1 || fmt.Sprint(lines[0]["queues"]) != fmt.Sprint([]string{server.QueueURL("orders"), "mails"}) {
			t.Errorf("the log begins with %v, want one line for both queues", lines)
		}
	})
}

// Queues are a handler themselves, as middleware sees them.
func TestQueues_Handle(t *testing.T) {
	var got seen
	q := handler.Queues{{URL: "orders", Handler: got.by("ship")}, {URL: "mails", Handler: got.by("mail")}}
	for name, known := range map[string]bool{"orders": true, "mails": true, "others": false} {
		err := q.Handle(t.Context(), batch.Record{Body: name, QueueARN: "arn:aws:sqs:eu-west-1:123456789012:" + name})
		if (err == nil) != known {
			t.Errorf("%s: %v", name, err)
		}
	}
	if want := []string{"mail mails", "ship orders"}; !slices.Equal(got.sorted(), want) {
		t.Errorf("handled %q, want %q", got.sorted(), want)
	}
}

func TestQueuesOnLambda_EachHasItsHandler(t *testing.T) {
	const prefix = "arn:aws:sqs:eu-west-1:123456789012:"
	var got seen
	var book logbook
	l := newHandler(t, handler.Queues{
		{URL: "https://sqs.eu-west-1.amazonaws.com/999999999999/orders", Handler: got.by("another account's")},
		{URL: "https://sqs.eu-west-1.amazonaws.com/123456789012/orders", Handler: got.by("ship")},
		{URL: "mails", Handler: got.by("mail")},
	}, handler.Config{Logger: book.logger()})
	for _, name := range []string{"orders", "mails"} {
		response, err := l.Invoke(t.Context(), payload(prefix+name, "1"))
		if err != nil || string(response) != `{"batchItemFailures":[]}` {
			t.Errorf("%s: %s, %v", name, response, err)
		}
	}
	if want := []string{"mail 1", "ship 1"}; !slices.Equal(got.sorted(), want) {
		t.Errorf("handled %q, want %q", got.sorted(), want)
	}
	if response, err := l.Invoke(t.Context(), payload(prefix+"refunds", "1")); err == nil || !strings.Contains(err.Error(), prefix+"refunds") {
		t.Errorf("a queue that is not named: %s, %v, want an error that names it", response, err)
	}
	if response, err := l.Invoke(t.Context(), []byte(`{"Records":[]}`)); err != nil || string(response) != `{"batchItemFailures":[]}` {
		t.Errorf("an event without records: %s, %v", response, err)
	}
}

func TestMistakesInQueues_AreNamedTogether(t *testing.T) {
	_, client := queues(t)
	h := batch.HandlerFunc(byBody)
	for name, test := range map[string]struct {
		h    batch.Handler
		cfg  handler.Config
		want []string
	}{
		"fields": {handler.Queues{{Handler: h, Concurrency: 10_001}, {URL: "mails", Concurrency: -1}}, handler.Config{Concurrency: 20_000, Poll: handler.PollConfig{Queues: []string{"orders"}}}, []string{
			"Queues[0].URL is empty", "Queues[0].Concurrency is 10001", "Queues[1].Handler is nil", "Queues[1].Concurrency is -1", "Concurrency is 20000", "Poll.Queues is orders"}},
		"none":  {handler.Queues{}, handler.Config{}, []string{"Queues is empty"}},
		"alone": {handler.Queues{{URL: "a", Handler: h, Priority: 2}}, handler.Config{}, []string{"Queues[0].Priority has no effect"}},
		"twice": {handler.Queues{{URL: "a", Handler: h}, {URL: "a", Handler: h}}, handler.Config{}, []string{"a queue twice"}},
		"wrapped": {batch.Chain(handler.Queues{{URL: "a", Handler: h}}, func(h batch.Handler) batch.Handler { return batch.HandlerFunc(h.Handle) }),
			handler.Config{}, []string{"must not be wrapped in middleware"}},
		"set": {handler.Queues{{URL: "mails", Handler: h, Set: func(c *handler.Config) { c.Poll.HealthAddr = ":8080" }}}, handler.Config{},
			[]string{"Set of queue mails changes Poll.HealthAddr"}},
		"set of hooks": {handler.Queues{{URL: "mails", Handler: h, Set: func(c *handler.Config) { c.Hooks.Warned = func(context.Context, batch.Warning) {} }}}, handler.Config{},
			[]string{"Set of queue mails changes Hooks"}},
		"set out of bounds": {handler.Queues{{URL: "mails", Handler: h, Set: func(c *handler.Config) { c.Poll.Wait = time.Hour }}}, handler.Config{}, []string{"Wait is 1h"}},
	} {
		test.cfg.SQS = client
		_, err := handler.NewPoller(test.h, test.cfg)
		for _, want := range test.want {
			if err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("%s: the error is %v, want %q in it", name, err, want)
			}
		}
		if name == "set out of bounds" || name == "twice" {
			continue // about containers
		}
		if _, err := handler.New(test.h, test.cfg); err == nil {
			t.Errorf("%s: New accepts it", name)
		}
	}
}

// busy keeps a queue full, and measures for how long its handler ran.
type busy struct{ served atomic.Int64 }

func (b *busy) Handle(context.Context, batch.Record) error {
	began := time.Now()
	time.Sleep(10 * time.Millisecond)
	b.served.Add(int64(time.Since(began)))
	return nil
}

// Two full queues, for 20 s of virtual time.
func TestConcurrency_IsSharedByFullQueues(t *testing.T) {
	for _, test := range []struct {
		priority  int
		want, off float64
	}{{0, 0.5, 0.03}, {1, 1, 0.01}} {
		t.Run(fmt.Sprintf("priority=%d", test.priority), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				server, client := queues(t, "high", "low")
				var high, low busy
				for range 700 {
					sendMany(t, client, server.QueueURL("high"), 10)
				}
				for range 300 {
					sendMany(t, client, server.QueueURL("low"), 10)
				}
				h := handler.Queues{
					{URL: server.QueueURL("high"), Handler: &high, Priority: test.priority},
					{URL: server.QueueURL("low"), Handler: &low},
				}
				var book logbook
				cfg := handler.Config{SQS: client, Logger: book.logger(), Concurrency: 4}
				err := polled(t, h, cfg, func() {
					time.Sleep(time.Second) // both have begun
					high.served.Store(0)
					low.served.Store(0)
					time.Sleep(12 * time.Second)
				})
				all := float64(high.served.Load() + low.served.Load())
				if got := float64(high.served.Load()) / all; err != nil || math.Abs(got-test.want) > test.off {
					t.Errorf("the high one has %.3f of the slots, want %.3f; %v", got, test.want, err)
				}
				if used := all / float64(4*12*time.Second); used < 0.95 {
					t.Errorf("%.3f of the slots were used", used)
				}
				for _, e := range server.Events(sqs.Received) {
					if e.ReceiveCount > 1 {
						t.Errorf("message %s was received %d times", e.MessageID, e.ReceiveCount)
						break
					}
				}
			})
		})
	}
}

// On Lambda the bound is over the invocations of a process.
func TestConcurrencyOnLambda_BoundsInvocationsTogether(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var running, most atomic.Int32
		h := batch.HandlerFunc(func(context.Context, batch.Record) error {
			most.Store(max(most.Load(), running.Add(1)))
			time.Sleep(10 * time.Millisecond)
			running.Add(-1)
			return nil
		})
		var book logbook
		l := newHandler(t, h, handler.Config{Logger: book.logger(), Concurrency: 5})
		var all sync.WaitGroup
		for range 8 {
			all.Go(func() {
				ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
				defer cancel()
				if response, err := l.Invoke(ctx, payload(ordersARN, make([]string, 20)...)); err != nil || string(response) != `{"batchItemFailures":[]}` {
					t.Errorf("%s, %v", response, err)
				}
			})
		}
		began := time.Now()
		all.Wait()
		if took := time.Since(began); most.Load() != 5 || took != 320*time.Millisecond {
			t.Errorf("%d ran at a time for %v, want 5 for 320ms", most.Load(), took)
		}
	})
}

// Records that wait for others of their chunk hold slots: they go on once no other can join.
func TestConcurrencyOnLambda_ChunksDoNotWaitForSlots(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var items atomic.Int32
		h := bulk.JSON(func(_ context.Context, chunk []bulk.Item[int]) error {
			items.Add(int32(len(chunk)))
			time.Sleep(5 * time.Millisecond)
			return nil
		}, bulk.Config{MaxItems: 100})
		var book logbook
		l := newHandler(t, h, handler.Config{Logger: book.logger(), Concurrency: 7})
		var all sync.WaitGroup
		began := time.Now()
		for range 4 {
			all.Go(func() {
				ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
				defer cancel()
				bodies := slices.Repeat([]string{"1"}, 50)
				if response, err := l.Invoke(ctx, payload(ordersARN, bodies...)); err != nil || string(response) != `{"batchItemFailures":[]}` {
					t.Errorf("%s, %v", response, err)
				}
			})
		}
		all.Wait()
		if took := time.Since(began); items.Load() != 200 || took > time.Second {
			t.Errorf("%d of 200 handled in %v", items.Load(), took)
		}
	})
}

// ordersAndMails returns a Poller of two queues, each with a handler of its own.
func ordersAndMails(t *testing.T, got *seen, book *logbook) (*sqs.Server, *awssqs.Client, *handler.Poller) {
	t.Helper()
	server, client := queues(t, "orders", "mails")
	p, err := handler.NewPoller(handler.Queues{
		{URL: server.QueueURL("orders"), Handler: got.by("ship")},
		{URL: server.QueueURL("mails"), Handler: got.by("mail")},
	}, handler.Config{SQS: client, Logger: book.logger()})
	if err != nil {
		t.Fatal(err)
	}
	return server, client, p
}

func TestPollerLifecycle(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var got seen
		var book logbook
		server, client, p := ordersAndMails(t, &got, &book)
		if s := p.Status(); len(s) != 2 || s[0].State != "created" {
			t.Errorf("before Run: %+v", s)
		}
		p.Pause()
		send(t, client, server.QueueURL("orders"), "1")
		send(t, client, server.QueueURL("mails"), "2")
		ended := make(chan error, 1)
		go func() { ended <- p.Run(context.Background()) }()
		time.Sleep(time.Second)
		if len(got.sorted()) != 0 {
			t.Errorf("%q is handled while it is paused", got.sorted())
		}
		mails := p.Queue("mails")
		mails.Resume()
		time.Sleep(time.Second)
		if !slices.Equal(got.sorted(), []string{"mail 2"}) || p.Queue("orders") == mails || p.Queue("refunds") != nil {
			t.Errorf("handled %q, want what is of the queue that goes on", got.sorted())
		}
		select {
		case <-p.Started():
			t.Error("Started, while one has received nothing")
		default:
		}
		p.Resume()
		<-p.Started()
		time.Sleep(time.Second)
		if err := p.Run(context.Background()); err == nil {
			t.Error("Run a second time: no error")
		}
		began := time.Now()
		if err := p.Shutdown(context.Background()); err != nil {
			t.Error(err)
		}
		synctest.Wait() // the goroutine that called Run passes on its result
		select {
		case err := <-ended:
			if err != nil || time.Since(began) > p.StopTakes() {
				t.Errorf("Run: %v after %v", err, time.Since(began))
			}
		default:
			t.Error("Run has not returned when Shutdown has")
		}
		if want := []string{"mail 2", "ship 1"}; !slices.Equal(got.sorted(), want) {
			t.Errorf("handled %q, want %q", got.sorted(), want)
		}
	})
}

func TestPollerShutdownBeforeRun_RunEndsAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		_, client := queues(t, "a")
		p, err := handler.NewPoller(batch.HandlerFunc(byBody), handler.Config{SQS: client, Poll: handler.PollConfig{Queues: []string{"a"}}})
		if err != nil {
			t.Fatal(err)
		}
		began := time.Now()
		if err := errors.Join(p.Shutdown(context.Background()), p.Run(context.Background()), p.Shutdown(context.Background())); err != nil || time.Since(began) > time.Second {
			t.Errorf("%v after %v", err, time.Since(began))
		}
		over, cancel := context.WithCancel(context.Background())
		cancel()
		for range 100 { // which of two ends it sees first is up to chance
			if err := p.Shutdown(over); err != nil {
				t.Fatalf("Shutdown after Run has returned, by a context that has ended: %v", err)
			}
		}
	})
}

// Like the stop of fx, whose context ends before the drain does.
func TestPollerShutdownsContextEnds_WhatRunsIsCancelled(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server, client := queues(t, "a")
		var cancelled atomic.Bool
		p, err := handler.NewPoller(batch.HandlerFunc(func(ctx context.Context, _ batch.Record) error {
			<-ctx.Done()
			cancelled.Store(true)
			return ctx.Err()
		}), handler.Config{SQS: client, Poll: handler.PollConfig{Queues: []string{"a"}}})
		if err != nil {
			t.Fatal(err)
		}
		ended := make(chan error, 1)
		go func() { ended <- p.Run(context.Background()) }()
		send(t, client, server.QueueURL("a"), "1")
		time.Sleep(time.Second)
		ctx, cancel := context.WithTimeout(context.Background(), 2*time.Second)
		defer cancel()
		if err := p.Shutdown(ctx); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("Shutdown: %v, want its context's error", err)
		}
		if err := <-ended; err != nil || !cancelled.Load() {
			t.Errorf("Run: %v, cancelled: %v", err, cancelled.Load())
		}
	})
}

// A job runs until its queues are empty; one that has more to do does not end with another.
func TestUntilEmpty_EndsWhenAllQueuesAre(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		t.Setenv("SQSBATCH_UNTIL_EMPTY", "true")
		server, client := queues(t, "a", "b", "empty")
		for range 20 {
			sendMany(t, client, server.QueueURL("a"), 10)
		}
		send(t, client, server.QueueURL("b"), "slow")
		var n atomic.Int32
		var book logbook
		began := time.Now()
		err := handler.Poll(context.Background(), batch.HandlerFunc(func(_ context.Context, r batch.Record) error {
			if r.Body == "slow" {
				time.Sleep(time.Minute)
			}
			n.Add(1)
			return nil
		}), handler.Config{SQS: client, Logger: book.logger(), Poll: handler.PollConfig{Queues: []string{"a", "b", "empty"}}})
		if took := time.Since(began); err != nil || n.Load() != 201 || took < time.Minute || took > 105*time.Second {
			t.Errorf("%d of 201 handled in %v, error %v", n.Load(), took, err)
		}
		if n := len(server.Events(sqs.Deleted)); n != 201 {
			t.Errorf("%d of 201 deleted", n)
		}
	})
}

// An errgroup's context ends the poller and the worker that it hands records to: the stop
// takes what the work takes, not DrainLimit.
func TestWorkerEndsWithThePoller_StopTakesAsLongAsTheWork(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server, client := queues(t, "a")
		ctx, stop := context.WithCancel(context.Background())
		defer stop()
		type job struct {
			body string
			done chan error
		}
		jobs := make(chan job)
		var worker sync.WaitGroup
		worker.Go(func() {
			for {
				select {
				case j := <-jobs:
					time.Sleep(time.Second)
					j.done <- nil
				case <-ctx.Done():
					return
				}
			}
		})
		h := batch.HandlerFunc(func(ctx context.Context, r batch.Record) error {
			j := job{r.Body, make(chan error, 1)}
			select {
			case jobs <- j:
				return <-j.done
			case <-batch.Stopping(ctx):
				return batch.ErrStopped
			}
		})
		for range 3 {
			send(t, client, server.QueueURL("a"), "1")
		}
		ended := make(chan error, 1)
		var book logbook
		go func() {
			ended <- handler.Poll(ctx, h, handler.Config{SQS: client, Logger: book.logger(), Poll: handler.PollConfig{Queues: []string{"a"}}})
		}()
		time.Sleep(500 * time.Millisecond)
		began := time.Now()
		stop()
		worker.Wait()
		if err := <-ended; err != nil || time.Since(began) > 3*time.Second {
			t.Errorf("%v: the stop took %v", err, time.Since(began))
		}
		if n := len(server.Events(sqs.Deleted)); n != 1 {
			t.Errorf("%d deleted, want the one that the worker had", n)
		}
		for _, e := range server.Events(sqs.Visibility) {
			if e.Visibility != 0 {
				t.Errorf("a record that was not worked on is hidden for %v", e.Visibility)
			}
		}
		if lines := book.lines(t, "record"); slices.ContainsFunc(lines, func(l map[string]any) bool { return l["level"] != "DEBUG" }) {
			t.Errorf("the log has %v, want no more than DEBUG", lines)
		}
	})
}

// A Poller of one queue controls that one only.
func TestPollerOfOneQueue(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var got seen
		var book logbook
		server, client, p := ordersAndMails(t, &got, &book)
		ended := make(chan error, 1)
		go func() { ended <- p.Run(context.Background()) }()
		<-p.Started()
		mails := p.Queue(server.QueueURL("mails"))
		<-mails.Started()
		if s := mails.Status(); len(s) != 1 || batch.QueueName(s[0].Queue) != "mails" || p.Queue("refunds") != nil {
			t.Errorf("its status is %+v", s)
		}
		if err := mails.Run(context.Background()); err == nil {
			t.Error("Run of one queue: no error")
		}
		for n, want := range map[int]string{3: "", 0: "the concurrency is 0, must be a whole number from 1 to 10000", 10_001: "10001"} {
			if err := mails.SetConcurrency(n); (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), want) {
				t.Errorf("SetConcurrency(%d): %v", n, err)
			}
		}
		if err := p.SetConcurrency(3); err == nil || !strings.Contains(err.Error(), "this Poller has 2") {
			t.Errorf("SetConcurrency of two queues: %v", err)
		}
		if n := mails.Status()[0].Concurrency; n != 3 {
			t.Errorf("its concurrency is %d, want 3", n)
		}
		if err := mails.Shutdown(context.Background()); err != nil {
			t.Error(err)
		}
		send(t, client, server.QueueURL("orders"), "1")
		send(t, client, server.QueueURL("mails"), "2")
		time.Sleep(30 * time.Second)
		if !slices.Equal(got.sorted(), []string{"ship 1"}) {
			t.Errorf("handled %q, want what is of the other queue", got.sorted())
		}
		if err := p.Shutdown(context.Background()); err != nil {
			t.Error(err)
		}
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
}
