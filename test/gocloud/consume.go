package main

import (
	"cmp"
	"context"
	"flag"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	awssqs "github.com/aws/aws-sdk-go-v2/service/sqs"
	"github.com/aws/aws-sdk-go-v2/service/sqs/types"
	"github.com/sqsbatch/sqsbatch/batch"
	"github.com/sqsbatch/sqsbatch/emulator/sqs"
	"github.com/sqsbatch/sqsbatch/internal/longpoll"
	"github.com/sqsbatch/sqsbatch/internal/runner"
	"github.com/sqsbatch/sqsbatch/test/internal/harness"
	"github.com/sqsbatch/sqsbatch/test/internal/must"
	"gocloud.dev/pubsub"
	"gocloud.dev/pubsub/awssnssqs"
	"gocloud.dev/pubsub/batcher"
)

// slots is how many messages each consumer handles at a time.
const slots = 64

// load is a kind of work.
type load struct {
	name  string
	work  func(n int) time.Duration // of the n-th message
	limit float64                   // messages a second that the slots allow; 0 for no limit
}

var loads = []load{
	{name: "no-op", work: func(int) time.Duration { return 0 }},
	{name: "10 ms", work: func(int) time.Duration { return 10 * time.Millisecond }, limit: 6400},
	{name: "10 ms, 1 % of them 1 s", work: func(n int) time.Duration {
		if n%100 == 50 {
			return time.Second
		}
		return 10 * time.Millisecond
	}, limit: 3216},
}

// consumer handles the messages of a queue until ctx ends.
type consumer struct {
	name string
	run  func(ctx context.Context, w *world) error
}

var consumers = []consumer{
	{"sqsbatch", longPoll},
	{"a loop with the SDK", byHand},
	{"gocloud.dev, defaults", gocloudDefaults},
	{"gocloud.dev, tuned", gocloudTuned},
}

// maxRequests is the bound of requests a message; 0.2 is what ten at a time cost.
const maxRequests = 0.21

// consume compares consumers, and reports whether the bound was kept.
func consume(args []string) error {
	flags := flag.NewFlagSet("consume", flag.ExitOnError)
	seconds := flags.Float64("seconds", 5, "how many seconds of messages to send, by the slots' limit")
	rounds := flags.Int("rounds", 3, "how often each is measured, in turns; medians are reported")
	_ = flags.Parse(args) // it exits at an error
	missed := false
	for _, l := range loads {
		limit := l.limit
		if limit == 0 {
			limit = 8000
		}
		messages := int(limit**seconds) / 10 * 10
		fmt.Printf("\n%s, %d messages\n\n| | messages/s | requests a message | most handlers at a time | most held | handled twice |\n| --- | --- | --- | --- | --- | --- |\n", l.name, messages)
		results := make([][]result, len(consumers))
		for range *rounds {
			for i, c := range consumers {
				r, err := measure(c, l, messages)
				if err != nil {
					return fmt.Errorf("%s, %s: %w", c.name, l.name, err)
				}
				results[i] = append(results[i], r)
			}
		}
		for i, c := range consumers {
			rate, requests := median(results[i], func(r result) float64 { return r.rate }), median(results[i], func(r result) float64 { return r.requests })
			ofLimit := ""
			if l.limit > 0 {
				ofLimit = fmt.Sprintf(" (%.0f %%)", 100*rate/l.limit)
			}
			fmt.Printf("| %s | %.0f%s | %.3f | %d | %d | %d |\n", c.name, rate, ofLimit, requests,
				most(results[i], func(r result) int { return r.running }), most(results[i], func(r result) int { return r.held }),
				most(results[i], func(r result) int { return r.twice }))
			missed = missed || i == 0 && requests > maxRequests
		}
	}
	if missed {
		return fmt.Errorf("sqsbatch takes more than %v requests a message", maxRequests)
	}
	return nil
}

func sorted[T cmp.Ordered](list []result, of func(result) T) []T {
	values := make([]T, len(list))
	for i, r := range list {
		values[i] = of(r)
	}
	slices.Sort(values)
	return values
}

func median(list []result, of func(result) float64) float64 { return sorted(list, of)[len(list)/2] }

func most(list []result, of func(result) int) int { return slices.Max(sorted(list, of)) }

func longPoll(ctx context.Context, w *world) error {
	h := batch.HandlerFunc(func(_ context.Context, r batch.Record) error {
		w.handle(r.MessageID, r.Body)
		return nil
	})
	return longpoll.New(h, longpoll.Config{Queue: w.url, SQS: w.client, Engine: runner.Config{Concurrency: slots}}).Run(ctx)
}

// byHand is what one writes with the SDK: as many loops as the slots take tens,
// each of which receives ten (the last one four), handles them side by side, and deletes them.
func byHand(ctx context.Context, w *world) error {
	var loops sync.WaitGroup
	for free := slots; free > 0; free -= 10 {
		most := int32(min(free, 10))
		loops.Go(func() {
			for ctx.Err() == nil {
				out, err := w.client.ReceiveMessage(ctx, &awssqs.ReceiveMessageInput{
					QueueUrl: &w.url, MaxNumberOfMessages: most, WaitTimeSeconds: 20,
				})
				if err != nil || len(out.Messages) == 0 {
					continue
				}
				entries := make([]types.DeleteMessageBatchRequestEntry, len(out.Messages))
				var ten sync.WaitGroup
				for i, m := range out.Messages {
					ten.Go(func() {
						w.handle(*m.MessageId, *m.Body)
						id := strconv.Itoa(i)
						entries[i] = types.DeleteMessageBatchRequestEntry{Id: &id, ReceiptHandle: m.ReceiptHandle}
					})
				}
				ten.Wait()
				_, _ = w.client.DeleteMessageBatch(context.WithoutCancel(ctx), &awssqs.DeleteMessageBatchInput{QueueUrl: &w.url, Entries: entries})
			}
		})
	}
	loops.Wait()
	return nil
}

func gocloudDefaults(ctx context.Context, w *world) error {
	return gocloud(ctx, w, &awssnssqs.SubscriptionOptions{Raw: true})
}

// gocloudTuned deletes full tens only, its best case: the last messages of a quiet
// queue would wait for a shutdown.
func gocloudTuned(ctx context.Context, w *world) error {
	return gocloud(ctx, w, &awssnssqs.SubscriptionOptions{
		Raw: true, WaitTime: 20 * time.Second,
		ReceiveBatcherOptions: batcher.Options{MaxBatchSize: 10, MaxHandlers: 32},
		AckBatcherOptions:     batcher.Options{MaxBatchSize: 10, MinBatchSize: 10, MaxHandlers: 32},
	})
}

func gocloud(ctx context.Context, w *world, o *awssnssqs.SubscriptionOptions) error {
	s := awssnssqs.OpenSubscription(ctx, w.client, w.url, o)
	var all sync.WaitGroup
	for range slots {
		all.Go(func() {
			for {
				m, err := s.Receive(ctx)
				if err != nil {
					return
				}
				w.handle(idOf(m), string(m.Body))
				m.Ack()
			}
		})
	}
	all.Wait()
	end, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	return s.Shutdown(end)
}

// idOf is the message's id, which tells one delivery's message from another's.
func idOf(m *pubsub.Message) string {
	var message types.Message
	if m.As(&message) {
		return *message.MessageId
	}
	return m.LoggableID
}

// world is a server with a queue full of messages, and what was made of them.
type world struct {
	client *awssqs.Client // of the consumer; its requests are counted
	url    string

	requests atomic.Int64
	load     load
	total    int
	done     chan struct{} // closed when every message was handled

	mu            sync.Mutex
	running, most int
	handled       map[string]int
	begun         time.Time // when a tenth was handled
	nearly        time.Time // when nine tenths were: the last slow ones would hide the rate
}

type result struct {
	rate, requests       float64
	running, held, twice int
}

// handle is what every consumer calls for a message.
func (w *world) handle(id, body string) {
	w.mu.Lock()
	w.running++
	w.most = max(w.most, w.running)
	w.mu.Unlock()
	number, _ := strconv.Atoi(body)
	time.Sleep(w.load.work(number))
	w.mu.Lock()
	defer w.mu.Unlock()
	w.running--
	if w.handled[id]++; w.handled[id] > 1 {
		return
	}
	switch len(w.handled) {
	case w.total / 10:
		w.begun = time.Now()
	case w.total * 9 / 10:
		w.nearly = time.Now()
	case w.total:
		close(w.done)
	}
}

// measure has a consumer empty a queue.
func measure(c consumer, l load, messages int) (_ result, err error) {
	defer must.Return(&err)
	server := must.Get(sqs.Serve("127.0.0.1:0", sqs.Config{History: -1}))
	defer server.Close()
	w := &world{load: l, handled: make(map[string]int, messages), total: messages, done: make(chan struct{})}
	quiet := server.Client()
	w.url = fill(quiet, messages)
	must.Do(server.Inject(sqs.Fault{Kind: sqs.Latency, Latency: latency}))
	transport := &http.Transport{MaxIdleConnsPerHost: slots}
	defer transport.CloseIdleConnections()
	w.client = server.Client(func(o *awssqs.Options) { o.HTTPClient = counting{transport, &w.requests} })

	ctx, stop := context.WithCancel(context.Background())
	defer stop()
	ended := make(chan error, 1)
	go func() { ended <- c.run(ctx, w) }()
	held := w.wait(quiet)
	requests := w.requests.Load()
	stop()
	must.Do(<-ended)
	twice := 0
	for _, n := range w.handled {
		twice += n - 1
	}
	return result{
		rate: 0.8 * float64(messages) / w.nearly.Sub(w.begun).Seconds(), requests: float64(requests) / float64(messages),
		running: w.most, held: held, twice: twice,
	}, nil
}

// wait returns when the queue is empty: what was handled is deleted too. It
// reports the most messages that were in flight, as the server counts them.
func (w *world) wait(client *awssqs.Client) (held int) {
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	done := w.done
	limit := time.After(2 * time.Minute)
	for {
		select {
		case <-done:
			done = nil
		case <-limit:
			must.Failf("the queue is not empty after two minutes")
		case <-tick.C:
			visible, hidden := must.Get2(harness.Depth(context.Background(), client, w.url))
			held = max(held, hidden)
			if done == nil && visible+hidden == 0 {
				return held
			}
		}
	}
}

// fill makes a queue and sends the messages.
func fill(client *awssqs.Client, messages int) (url string) {
	ctx := context.Background()
	url = must.Get(harness.MakeQueue(ctx, client, "work", map[string]string{"VisibilityTimeout": "60"}))
	for n := 0; n < messages; n += 10 {
		in := &awssqs.SendMessageBatchInput{QueueUrl: &url}
		for i := n; i < n+10; i++ {
			in.Entries = append(in.Entries, types.SendMessageBatchRequestEntry{Id: aws.String(strconv.Itoa(i)), MessageBody: aws.String(strconv.Itoa(i))})
		}
		must.Get(client.SendMessageBatch(ctx, in))
	}
	return url
}
