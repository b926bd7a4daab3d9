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

	awssqs "github.com/aws/aws-sdk-go-v2/service/sqs"
	"github.com/sqsbatch/sqsbatch/emulator/sqs"
	"github.com/sqsbatch/sqsbatch/test/internal/harness"
)

// outbox is a server with a queue, and a client whose requests are counted.
type outbox struct {
	client   *awssqs.Client
	url      string
	fifo     bool
	requests atomic.Int64
}

type sent struct {
	rate, fill float64
	p50, p99   time.Duration
	processor  time.Duration // a message, the server's included
}

func measureSends(p producer, l sending, duration time.Duration) (sent, error) {
	server, err := sqs.Serve("127.0.0.1:0", sqs.Config{History: -1})
	if err != nil {
		return sent{}, err
	}
	defer server.Close()
	w := &outbox{fifo: l.fifo}
	ctx := context.Background()
	transport := &http.Transport{MaxIdleConnsPerHost: 2 * groups}
	defer transport.CloseIdleConnections()
	w.client = server.Client(func(o *awssqs.Options) {
		o.HTTPClient = counting{transport, &w.requests}
	})
	name := "orders"
	if l.fifo {
		name += ".fifo"
	}
	if w.url, err = harness.MakeQueue(ctx, w.client, name, nil); err != nil {
		return sent{}, err
	}
	if !l.direct {
		if err := server.Inject(sqs.Fault{Kind: sqs.Latency, Latency: latency}); err != nil {
			return sent{}, err
		}
	}
	m := &meter{}
	work := func(began time.Time) (confirmed int, err error) { return p.stream(ctx, w, began.Add(duration)) }
	if !l.stream {
		send, stop, err := p.start(ctx, w)
		if err != nil {
			return sent{}, err
		}
		defer stop()
		m.send = send
		work = func(began time.Time) (int, error) {
			if l.rate > 0 {
				m.atRate(l, began, duration)
			} else {
				m.full(l, began.Add(duration))
			}
			return len(m.waits), m.err
		}
	}
	w.requests.Store(0)
	began, before := time.Now(), processorTime()
	n, err := work(began)
	took, used := time.Since(began), processorTime()-before
	if have := len(server.Snapshot()[0].Messages); have != n || n == 0 {
		err = errors.Join(err, fmt.Errorf("%d messages were confirmed, and the queue has %d", n, have))
	}
	if err != nil {
		return sent{}, err
	}
	r := sent{rate: float64(n) / took.Seconds(), fill: float64(n) / float64(w.requests.Load()), processor: used / time.Duration(n)}
	if !l.stream {
		slices.Sort(m.waits)
		r.p50, r.p99 = m.waits[n/2], m.waits[n*99/100]
	}
	return r, nil
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
func (m *meter) atRate(l sending, began time.Time, duration time.Duration) {
	var all sync.WaitGroup
	for i := range int(float64(l.rate) * duration.Seconds()) {
		due := began.Add(time.Duration(i) * time.Second / time.Duration(l.rate))
		time.Sleep(time.Until(due))
		all.Go(func() { m.one(due, l.group(i)) })
	}
	all.Wait()
}

// full has callers send one message after another.
func (m *meter) full(l sending, end time.Time) {
	var all sync.WaitGroup
	for i := range l.callers {
		group := l.group(i)
		all.Go(func() {
			for time.Now().Before(end) {
				m.one(time.Now(), group)
			}
		})
	}
	all.Wait()
}

func (l sending) group(i int) string {
	if !l.fifo {
		return ""
	}
	return fmt.Sprint("group-", i%groups)
}
