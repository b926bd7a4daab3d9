package main

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/aws/aws-sdk-go-v2/credentials"
	awssqs "github.com/aws/aws-sdk-go-v2/service/sqs"
	"github.com/sqsbatch/sqsbatch/emulator/sqs"
)

// world is a server with a queue, and a client whose requests are counted.
type world struct {
	client   *awssqs.Client
	url      string
	requests atomic.Int64
}

type result struct {
	rate, fill float64
	p50, p99   time.Duration
}

func measure(p producer, l load, duration time.Duration) (result, error) {
	server, err := sqs.Serve("127.0.0.1:0", sqs.Options{History: -1})
	if err != nil {
		return result{}, err
	}
	defer server.Close()
	w := &world{}
	ctx := context.Background()
	transport := &http.Transport{MaxIdleConnsPerHost: 2 * groups}
	defer transport.CloseIdleConnections()
	w.client = server.Client(func(o *awssqs.Options) {
		o.Credentials = credentials.NewStaticCredentialsProvider("id", "secret", "")
		o.HTTPClient = counting{transport, &w.requests}
	})
	name := "orders"
	in := &awssqs.CreateQueueInput{QueueName: &name}
	if l.fifo {
		name += ".fifo"
		in.Attributes = map[string]string{"FifoQueue": "true"}
	}
	out, err := w.client.CreateQueue(ctx, in)
	if err != nil {
		return result{}, err
	}
	w.url = *out.QueueUrl
	if err := server.Inject(sqs.Fault{Kind: sqs.Latency, Latency: latency}); err != nil {
		return result{}, err
	}
	send, stop, err := p.start(ctx, w)
	if err != nil {
		return result{}, err
	}
	defer stop()
	w.requests.Store(0)
	m := &meter{send: send}
	began := time.Now()
	if l.rate > 0 {
		m.atRate(l.rate, duration)
	} else {
		m.full(l, duration)
	}
	took := time.Since(began)
	n := len(m.waits)
	if have := len(server.Snapshot()[0].Messages); m.err == nil && have != n {
		m.err = fmt.Errorf("%d messages were confirmed, and the queue has %d", n, have)
	}
	if m.err != nil || n == 0 {
		return result{}, errors.Join(m.err, errors.New("no result"))
	}
	slices.Sort(m.waits)
	return result{
		rate: float64(n) / took.Seconds(), fill: float64(n) / float64(w.requests.Load()),
		p50: m.waits[n/2], p99: m.waits[n*99/100],
	}, nil
}

type counting struct {
	http.RoundTripper
	requests *atomic.Int64
}

func (c counting) Do(r *http.Request) (*http.Response, error) {
	c.requests.Add(1)
	return c.RoundTrip(r)
}

// meter sends and measures how long that takes.
type meter struct {
	send func(body, group string) error

	mu    sync.Mutex
	waits []time.Duration
	err   error
}

const body = "the quick brown fox jumps over the lazy dog, and then it does it again and again for 100 bytes......"

func (m *meter) one(due time.Time, group string) {
	err := m.send(body, group)
	wait := time.Since(due)
	m.mu.Lock()
	defer m.mu.Unlock()
	m.waits = append(m.waits, wait)
	m.err = errors.Join(m.err, err)
}

// atRate sends at regular intervals, however long a send takes.
func (m *meter) atRate(rate int, duration time.Duration) {
	var all sync.WaitGroup
	began := time.Now()
	for i := range int(float64(rate) * duration.Seconds()) {
		due := began.Add(time.Duration(i) * time.Second / time.Duration(rate))
		time.Sleep(time.Until(due))
		all.Go(func() { m.one(due, "") })
	}
	all.Wait()
}

// full has callers send one message after another.
func (m *meter) full(l load, duration time.Duration) {
	var all sync.WaitGroup
	end := time.Now().Add(duration)
	for i := range l.callers {
		group := ""
		if l.fifo {
			group = fmt.Sprint("group-", i)
		}
		all.Go(func() {
			for time.Now().Before(end) {
				m.one(time.Now(), group)
			}
		})
	}
	all.Wait()
}
