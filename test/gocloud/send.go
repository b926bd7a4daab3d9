package main

import (
	"cmp"
	"context"
	"errors"
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
	"github.com/sqsbatch/sqsbatch/emulator/sqs"
	"github.com/sqsbatch/sqsbatch/sender"
	"github.com/sqsbatch/sqsbatch/test/internal/harness"
	"github.com/sqsbatch/sqsbatch/test/internal/must"
	"gocloud.dev/pubsub"
	"gocloud.dev/pubsub/awssnssqs"
	"golang.org/x/sync/errgroup"
)

const (
	linger      = 5 * time.Millisecond
	concurrency = 16
	groups      = 1000
)

// sending is a kind of work: a rate, a number of goroutines that send one message after
// another, or a stream of messages that nobody waits for.
type sending struct {
	name    string
	rate    int
	callers int
	fifo    bool
	stream  bool
	direct  bool // the server answers at once
}

var sendings = []sending{
	{name: "500/s", rate: 500},
	{name: "5,000/s", rate: 5000},
	{name: "full, 2,000 callers", callers: 2000},
	{name: "FIFO, 500/s", rate: 500, fifo: true},
	{name: "FIFO, 5,000/s", rate: 5000, fifo: true},
	{name: "FIFO, full, 1,000 callers", callers: groups, fifo: true},
	{name: "stream", stream: true},
	{name: "stream, no latency", stream: true, direct: true},
}

// producers have the sender first, which has bounds.
var producers = []producer{
	{name: "sender.Send", start: bySender},
	{name: "SDK, SendMessage", start: bySDK},
	{name: "by hand, SendMessageBatch", start: sendByHand},
	{name: "gocloud.dev topic", start: byGocloud},
}

var streams = []producer{
	{name: "sender.Enqueue", stream: enqueue},
	{name: "bare loops of full batches", stream: bareLoops},
}

// send compares producers, and reports whether the bounds were kept.
func send(args []string) error {
	flags := flag.NewFlagSet("send", flag.ExitOnError)
	seconds := flags.Float64("seconds", 3, "how long one measurement takes")
	rounds := flags.Int("rounds", 3, "how often each is measured; the one with the median p99 is reported, of streams the one with the median rate")
	_ = flags.Parse(args) // it exits at an error
	missed := false
	for _, l := range sendings {
		list := producers
		if l.stream {
			list = streams
		}
		results, err := compare(l, list, *rounds, time.Duration(*seconds*float64(time.Second)))
		if err != nil {
			return err
		}
		report(l, list, results)
		missed = missed || l.misses(results[0])
	}
	if missed {
		return errors.New("a bound was missed")
	}
	return nil
}

// compare measures producers in turns, since a shared machine changes, and returns a median
// sent of each.
func compare(l sending, list []producer, rounds int, duration time.Duration) ([]sent, error) {
	results := make([][]sent, len(list))
	for range rounds {
		for i, p := range list {
			r, err := measureSends(p, l, duration)
			if err != nil {
				return nil, fmt.Errorf("%s, %s: %w", p.name, l.name, err)
			}
			results[i] = append(results[i], r)
		}
	}
	medians := make([]sent, len(list))
	for i := range list {
		slices.SortFunc(results[i], func(a, b sent) int { return cmp.Or(cmp.Compare(a.p99, b.p99), cmp.Compare(a.rate, b.rate)) })
		medians[i] = results[i][rounds/2]
	}
	return medians, nil
}

func report(l sending, list []producer, results []sent) {
	fmt.Printf("\n%-26s %10s %14s %16s %9s %9s\n", l.name, "messages/s", "messages/call", "requests/message", "p50", "p99")
	for i, p := range list {
		r := results[i]
		fmt.Printf("%-26s %10.0f %14.2f %16.3f %9s %9s\n", p.name, r.rate, r.fill, 1/r.fill, brief(r.p50), brief(r.p99))
	}
	if l.stream {
		fmt.Printf("%.2f of the bare loops' rate, %.2f of their processor time a message\n", results[0].rate/results[1].rate,
			results[0].processor.Seconds()/results[1].processor.Seconds())
	}
}

// misses reports whether the sender has missed a bound.
func (l sending) misses(r sent) bool {
	switch l.rate {
	case 0:
		return 1/r.fill > 0.105
	case 5000:
		return r.fill < 9.5
	}
	return false
}

func brief(d time.Duration) string {
	if d == 0 {
		return "-"
	}
	return fmt.Sprintf("%.1f ms", d.Seconds()*1000)
}

// producer sends messages. start returns a function that sends one and waits for its
// confirmation, and one that stops. stream sends messages until end, and returns how many
// were confirmed.
type producer struct {
	name   string
	start  func(ctx context.Context, w *outbox) (send func(body, group string) error, stop func(), err error)
	stream func(ctx context.Context, w *outbox, end time.Time) (confirmed int, err error)
}

func bySender(ctx context.Context, w *outbox) (func(body, group string) error, func(), error) {
	s, err := sender.New(w.client, sender.Config{Queue: w.url, Linger: linger, Concurrency: concurrency})
	if err != nil {
		return nil, nil, err
	}
	return func(body, group string) error { return s.Send(ctx, sender.Message{Body: body, Group: group}) }, func() { s.Close(ctx) }, nil
}

var numbers atomic.Int64

// nextID returns a new deduplication id.
func nextID() string { return strconv.FormatInt(numbers.Add(1), 10) }

func bySDK(ctx context.Context, w *outbox) (func(body, group string) error, func(), error) {
	send := func(body, group string) error {
		in := &awssqs.SendMessageInput{QueueUrl: &w.url, MessageBody: &body}
		if w.fifo {
			in.MessageGroupId, in.MessageDeduplicationId = &group, aws.String(nextID())
		}
		_, err := w.client.SendMessage(ctx, in)
		return err
	}
	return send, func() {}, nil
}

// sendByHand is what one writes with the SDK: as many loops as calls may be in flight, each of
// which takes up to ten messages, waiting for at most linger after the first.
func sendByHand(ctx context.Context, w *outbox) (func(body, group string) error, func(), error) {
	type message struct {
		body, group string
		done        chan error
	}
	messages := make(chan message)
	var loops sync.WaitGroup
	for range concurrency {
		loops.Go(func() {
			for first := range messages {
				ten := []message{first}
				limit := time.After(linger)
			gather:
				for len(ten) < 10 {
					select {
					case m, ok := <-messages:
						if !ok {
							break gather
						}
						ten = append(ten, m)
					case <-limit:
						break gather
					}
				}
				in := &awssqs.SendMessageBatchInput{QueueUrl: &w.url}
				for i := range ten {
					e := types.SendMessageBatchRequestEntry{Id: aws.String(strconv.Itoa(i)), MessageBody: &ten[i].body}
					if w.fifo {
						e.MessageGroupId, e.MessageDeduplicationId = &ten[i].group, aws.String(nextID())
					}
					in.Entries = append(in.Entries, e)
				}
				out, err := w.client.SendMessageBatch(ctx, in)
				if err == nil && len(out.Failed) > 0 {
					err = fmt.Errorf("%d messages failed", len(out.Failed))
				}
				for _, m := range ten {
					m.done <- err
				}
			}
		})
	}
	send := func(body, group string) error {
		m := message{body, group, make(chan error, 1)}
		messages <- m
		return <-m.done
	}
	return send, func() { close(messages); loops.Wait() }, nil
}

func byGocloud(ctx context.Context, w *outbox) (func(body, group string) error, func(), error) {
	topic := awssnssqs.OpenSQSTopic(ctx, w.client, w.url, nil)
	send := func(body, group string) error {
		m := &pubsub.Message{Body: []byte(body)}
		if w.fifo {
			m.Metadata = map[string]string{awssnssqs.MetadataKeyMessageGroupID: group, awssnssqs.MetadataKeyDeduplicationID: nextID()}
		}
		return topic.Send(ctx, m)
	}
	return send, func() { _ = topic.Shutdown(ctx) }, nil
}

// enqueue is a loop of Enqueue.
func enqueue(ctx context.Context, w *outbox, end time.Time) (confirmed int, err error) {
	s, err := sender.New(w.client, sender.Config{Queue: w.url, Linger: linger, Concurrency: concurrency})
	if err != nil {
		return 0, err
	}
	var n atomic.Int64
	for time.Now().Before(end) {
		if err := s.Enqueue(ctx, sender.Text(body), func(r sender.Result) {
			if r.Err == nil {
				n.Add(1)
			}
		}); err != nil {
			return 0, err
		}
	}
	left := s.Close(ctx)
	if len(left) > 0 {
		return 0, left[0].Err
	}
	return int(n.Load()), nil
}

// bareLoops send batches of ten, as many at a time as the sender.
func bareLoops(ctx context.Context, w *outbox, end time.Time) (int, error) {
	var n atomic.Int64
	var loops errgroup.Group
	for range concurrency {
		loops.Go(func() error {
			for time.Now().Before(end) {
				in := &awssqs.SendMessageBatchInput{QueueUrl: &w.url}
				for i := range 10 {
					in.Entries = append(in.Entries, types.SendMessageBatchRequestEntry{Id: aws.String(strconv.Itoa(i)), MessageBody: aws.String(body)})
				}
				out, err := w.client.SendMessageBatch(ctx, in)
				if err != nil {
					return err
				}
				n.Add(int64(len(out.Successful)))
			}
			return nil
		})
	}
	err := loops.Wait()
	return int(n.Load()), err
}

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

func measureSends(p producer, l sending, duration time.Duration) (_ sent, err error) {
	defer must.Return(&err)
	server := must.Get(sqs.Serve("127.0.0.1:0", sqs.Config{History: -1}))
	defer server.Close()
	w := &outbox{fifo: l.fifo}
	ctx := context.Background()
	transport := &http.Transport{MaxIdleConnsPerHost: 2 * groups}
	defer transport.CloseIdleConnections()
	w.client = server.Client(func(o *awssqs.Options) { o.HTTPClient = counting{transport, &w.requests} })
	name := "orders"
	if l.fifo {
		name += ".fifo"
	}
	w.url = must.Get(harness.MakeQueue(ctx, w.client, name, nil))
	if !l.direct {
		must.Do(server.Inject(sqs.Fault{Kind: sqs.Latency, Latency: latency}))
	}
	m := &meter{}
	work := func(began time.Time) (confirmed int, err error) { return p.stream(ctx, w, began.Add(duration)) }
	if !l.stream {
		send, stop := must.Get2(p.start(ctx, w))
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
	must.Do(err)
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
