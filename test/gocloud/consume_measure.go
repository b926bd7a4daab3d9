package main

import (
	"context"
	"errors"
	"net/http"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	awssqs "github.com/aws/aws-sdk-go-v2/service/sqs"
	"github.com/aws/aws-sdk-go-v2/service/sqs/types"
	"github.com/sqsbatch/sqsbatch/emulator/sqs"
	"github.com/sqsbatch/sqsbatch/test/internal/harness"
)

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
func measure(c consumer, l load, messages int) (result, error) {
	server, err := sqs.Serve("127.0.0.1:0", sqs.Config{History: -1})
	if err != nil {
		return result{}, err
	}
	defer server.Close()
	w := &world{load: l, handled: make(map[string]int, messages), total: messages, done: make(chan struct{})}
	quiet := server.Client()
	if w.url, err = fill(quiet, messages); err != nil {
		return result{}, err
	}
	if err := server.Inject(sqs.Fault{Kind: sqs.Latency, Latency: latency}); err != nil {
		return result{}, err
	}
	transport := &http.Transport{MaxIdleConnsPerHost: slots}
	defer transport.CloseIdleConnections()
	w.client = server.Client(func(o *awssqs.Options) { o.HTTPClient = counting{transport, &w.requests} })

	ctx, stop := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- c.run(ctx, w) }()
	held, err := w.wait(quiet)
	if err != nil {
		stop()
		return result{}, err
	}
	requests := w.requests.Load()
	stop()
	if err := <-ended; err != nil {
		return result{}, err
	}
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
func (w *world) wait(client *awssqs.Client) (held int, err error) {
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	done := w.done
	limit := time.After(2 * time.Minute)
	for {
		select {
		case <-done:
			done = nil
		case <-limit:
			return 0, errors.New("the queue is not empty after two minutes")
		case <-tick.C:
			visible, hidden, err := harness.Depth(context.Background(), client, w.url)
			if err != nil {
				return 0, err
			}
			held = max(held, hidden)
			if done == nil && visible+hidden == 0 {
				return held, nil
			}
		}
	}
}

// fill makes a queue and sends the messages.
func fill(client *awssqs.Client, messages int) (url string, err error) {
	ctx := context.Background()
	if url, err = harness.MakeQueue(ctx, client, "work", map[string]string{"VisibilityTimeout": "60"}); err != nil {
		return "", err
	}
	for n := 0; n < messages; n += 10 {
		in := &awssqs.SendMessageBatchInput{QueueUrl: &url}
		for i := n; i < n+10; i++ {
			in.Entries = append(in.Entries, types.SendMessageBatchRequestEntry{Id: aws.String(strconv.Itoa(i)), MessageBody: aws.String(strconv.Itoa(i))})
		}
		if _, err := client.SendMessageBatch(ctx, in); err != nil {
			return "", err
		}
	}
	return url, nil
}
