package main

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"flag"
	"fmt"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	awssqs "github.com/aws/aws-sdk-go-v2/service/sqs"
	"github.com/sqsbatch/sqsbatch/emulator/sqs"
	"github.com/sqsbatch/sqsbatch/test/internal/harness"
	"golang.org/x/sync/errgroup"
)

type throughputOptions struct {
	elasticmq bool
	rounds    int
	duration  time.Duration // of one measurement
	warmup    time.Duration // of each kind of call, before the first
}

const (
	connections = 8    // that call at a time
	bodySize    = 1024 // bytes of a message's body, for throughput
)

// throughput compares the emulator with ElasticMQ: messages a second
// over loopback. It also measures what a waiting message costs the emulator in
// memory. Both servers are processes of their own, both get the same requests
// over the same number of connections, and take turns within the same minutes,
// since a shared machine is not the same from one minute to the next. Without
// -elasticmq it measures the emulator alone, without Java.
//
// The requests come from a client of its own that keeps to what the network
// needs (rawClient): the SDK's work for each call is the same for both servers,
// and would hide what they differ in.
//
// It fails when a bound is missed: with -elasticmq, four times ElasticMQ's
// rates at batches of ten; and 1 KiB besides its body for a waiting message.
func throughput(ctx context.Context, args []string) error {
	var o throughputOptions
	flags := flag.NewFlagSet("throughput", flag.ExitOnError)
	flags.BoolVar(&o.elasticmq, "elasticmq", false, "measure ElasticMQ too (needs Java, and Maven for the first time)")
	flags.IntVar(&o.rounds, "rounds", 7, "how often each rate is measured; medians are reported; 0 leaves the rates out")
	flags.DurationVar(&o.duration, "duration", 2*time.Second, "how long one measurement takes")
	flags.DurationVar(&o.warmup, "warmup", 30*time.Second, "how long each server is called before anything is measured: Java compiles what is called often")
	_ = flags.Parse(args) // it exits at an error
	if o.rounds < 0 || o.duration <= 0 {
		return errors.New("-duration must be positive, -rounds not negative")
	}
	fmt.Println(machine())
	var missed error
	if o.rounds > 0 {
		missed = compareRates(ctx, o)
	}
	if ctx.Err() == nil {
		missed = errors.Join(missed, measureWaiting(ctx))
	}
	return missed
}

// bound is how many times ElasticMQ's rate the emulator's must be.
const bound = 4.0

// rateKinds are what is measured.
var rateKinds = []struct {
	name  string
	batch int
	bound float64 // 0: none
}{
	{"batch of 10", 10, bound},
	{"single messages", 1, 0},
}

// compareRates measures all in turns. The error says which bounds were missed.
func compareRates(ctx context.Context, o throughputOptions) error {
	starters := []func(context.Context) (*comparedServer, error){startEmulator}
	if o.elasticmq {
		starters = append(starters, startElasticMQ)
	}
	var servers []*comparedServer
	for _, start := range starters {
		s, err := start(ctx)
		if err != nil {
			return err
		}
		defer s.stop()
		servers = append(servers, s)
	}
	fmt.Printf("\n%d connections, bodies of %d bytes; %v of warm-up for each server and %v for each line, then medians of %d rounds of %v (least to most)\n\n",
		connections, bodySize, o.warmup, 2*o.duration, o.rounds, o.duration)
	for _, s := range servers {
		if err := warm(ctx, s, o); err != nil {
			return fmt.Errorf("%s: %w", s.name, err)
		}
	}
	fmt.Printf("| | messages/s: %s", servers[0].name)
	for _, s := range servers[1:] {
		fmt.Printf(" | %s | ratio", s.name)
	}
	fmt.Printf(" |\n| --- |%s\n", strings.Repeat(" --- |", 2*len(servers)-1))
	var missed []error
	for _, kind := range rateKinds {
		results := make([][2][]float64, len(servers)) // messages a second, by server; sends, then receives with deletes
		for round := range o.rounds + 1 {             // the first is the warm-up
			for turn := range servers {
				i := (turn + round) % len(servers) // who begins changes
				d := o.duration
				if round == 0 {
					d *= 2
				}
				pair, err := measureRates(ctx, servers[i], kind.batch, d)
				if err != nil {
					return fmt.Errorf("%s: %w", servers[i].name, err)
				}
				if round > 0 {
					for j := range pair {
						results[i][j] = append(results[i][j], pair[j])
					}
				}
			}
		}
		for j, what := range []string{"send", "receive and delete"} {
			fmt.Printf("| %s, %s | %s", what, kind.name, spread(results[0][j]))
			for _, other := range results[1:] {
				ratio := medianRate(results[0][j]) / medianRate(other[j])
				fmt.Printf(" | %s | **%.1f ×**", spread(other[j]), ratio)
				if ratio < kind.bound {
					missed = append(missed, fmt.Errorf("%s, %s: %.1f × of ElasticMQ's rate, the bound is %.0f ×", what, kind.name, ratio, kind.bound))
				}
			}
			fmt.Println(" |")
		}
	}
	return errors.Join(missed...)
}

// measureRates sends for the duration to a new queue, and then receives for as long. It returns
// the messages a second of both.
func measureRates(ctx context.Context, s *comparedServer, batch int, d time.Duration) (pair [2]float64, err error) {
	err = onQueue(ctx, s, func(clients []*rawClient) (err error) {
		if pair[0], err = loadClients(ctx, clients, d, func(c *rawClient) (int, error) { return batch, c.send(batch) }); err != nil {
			return err
		}
		if pair[1], err = loadClients(ctx, clients, d, func(c *rawClient) (int, error) { return c.take(batch) }); err == nil && pair[0]*pair[1] == 0 {
			err = errors.New("no message came through")
		}
		return err
	})
	return pair, err
}

// warm makes batch calls for the time of the warm-up.
func warm(ctx context.Context, s *comparedServer, o throughputOptions) error {
	return onQueue(ctx, s, func(clients []*rawClient) error {
		_, err := loadClients(ctx, clients, o.warmup, func(c *rawClient) (int, error) {
			if err := c.send(10); err != nil {
				return 0, err
			}
			return c.take(10)
		})
		return err
	})
}

func medianRate(all []float64) float64 {
	slices.Sort(all)
	n := len(all)
	return (all[(n-1)/2] + all[n/2]) / 2
}

func spread(rates []float64) string {
	return fmt.Sprintf("%.0f (%.0f to %.0f)", medianRate(rates), slices.Min(rates), slices.Max(rates))
}

// onQueue opens the connections to a queue that lasts as long as do takes.
func onQueue(ctx context.Context, s *comparedServer, do func([]*rawClient) error) error {
	admin := harness.SQSClient(s.url)
	queues++ // a deleted queue's name may not be used again within a minute
	queue, err := harness.MakeQueue(ctx, admin, fmt.Sprintf("q%d", queues), map[string]string{"VisibilityTimeout": "600"})
	if err != nil {
		return err
	}
	var clients []*rawClient
	for range connections {
		c, err := newRawClient(s.url, queue, bodySize)
		if err != nil {
			return err
		}
		defer c.close()
		clients = append(clients, c)
	}
	if err := do(clients); err != nil {
		return err
	}
	_, err = admin.DeleteQueue(ctx, &awssqs.DeleteQueueInput{QueueUrl: &queue})
	return err
}

var queues int

// loadClients has all clients work side by side for that long, and returns the messages a second
// until the last one had finished. work is one call, or a receive with its delete; it returns
// how many messages it was about, and with 0 its client ends.
func loadClients(ctx context.Context, clients []*rawClient, d time.Duration, work func(*rawClient) (int, error)) (rate float64, err error) {
	var total atomic.Int64
	var group errgroup.Group
	began := time.Now()
	for _, c := range clients {
		group.Go(func() error {
			for time.Since(began) < d && ctx.Err() == nil {
				n, err := work(c)
				if n == 0 || err != nil {
					return err
				}
				total.Add(int64(n))
			}
			return ctx.Err()
		})
	}
	err = group.Wait()
	return float64(total.Load()) / time.Since(began).Seconds(), err
}

type comparedServer struct {
	name, url string
	stop      func()
}

func startElasticMQ(ctx context.Context) (*comparedServer, error) {
	s, err := harness.StartElasticMQ(ctx)
	if err != nil {
		return nil, err
	}
	return &comparedServer{"ElasticMQ", s.URL, func() { _ = s.Stop() }}, nil
}

// startEmulator starts "sqsbatch sqs" as a user would, on a free port.
func startEmulator(ctx context.Context) (*comparedServer, error) {
	dir, err := os.MkdirTemp("", "sqsbatch-throughput-")
	if err != nil {
		return nil, err
	}
	program := filepath.Join(dir, "sqsbatch.exe")
	var s *harness.Server
	if err = harness.Build(ctx, program, "./cmd/sqsbatch"); err == nil {
		s, err = harness.StartSQS(ctx, program)
	}
	if err != nil {
		return nil, errors.Join(err, os.RemoveAll(dir))
	}
	return &comparedServer{"emulator", s.URL, func() {
		_ = s.Stop() // what was measured stands
		_ = os.RemoveAll(dir)
	}}, nil
}

// rawClient calls on one connection and queue. It writes its requests by hand; no server checks
// a signature.
type rawClient struct {
	conn    net.Conn
	in      *bufio.Reader
	host    string
	queue   string
	sends   map[int][]byte // SendMessageBatch requests by their number of entries; 1 is SendMessage
	text    string
	request []byte
	out     []byte
	answer  bytes.Buffer
}

func newRawClient(url, queue string, body int) (*rawClient, error) {
	host := strings.TrimPrefix(url, "http://")
	conn, err := net.Dial("tcp", host)
	if err != nil {
		return nil, err
	}
	return &rawClient{conn: conn, in: bufio.NewReaderSize(conn, 64<<10), host: host,
		queue: queue, sends: map[int][]byte{}, text: strings.Repeat("b", body)}, nil
}

func (c *rawClient) close() { _ = c.conn.Close() }

// send sends n messages.
func (c *rawClient) send(n int) error {
	operation := "SendMessageBatch"
	if n == 1 {
		operation = "SendMessage"
	}
	if c.sends[n] == nil {
		c.sends[n] = c.sendRequest(n)
	}
	answer, err := c.call(operation, c.sends[n])
	if err != nil {
		return err
	}
	if sent := bytes.Count(answer, []byte(`"MessageId"`)); sent != n {
		return fmt.Errorf("%s: %d of %d messages were sent: %.300s", operation, sent, n, answer)
	}
	return nil
}

func (c *rawClient) sendRequest(n int) []byte {
	if n == 1 {
		return fmt.Appendf(nil, `{"QueueUrl":%q,"MessageBody":%q}`, c.queue, c.text)
	}
	var entries []string
	for i := range n {
		entries = append(entries, fmt.Sprintf(`{"Id":"%d","MessageBody":%q}`, i, c.text))
	}
	return fmt.Appendf(nil, `{"QueueUrl":%q,"Entries":[%s]}`, c.queue, strings.Join(entries, ","))
}

var errEscaped = errors.New("a receipt handle has escaped characters, which this client does not read")

// take receives up to n messages, deletes them, and returns how many.
func (c *rawClient) take(n int) (int, error) {
	c.request = fmt.Appendf(c.request[:0], `{"QueueUrl":%q,"MaxNumberOfMessages":%d}`, c.queue, n)
	answer, err := c.call("ReceiveMessage", c.request)
	if err != nil {
		return 0, err
	}
	handles, err := handlesIn(answer)
	if err != nil || len(handles) == 0 {
		return 0, err
	}
	if n == 1 {
		_, err = c.call("DeleteMessage", fmt.Appendf(c.request[:0], `{"QueueUrl":%q,"ReceiptHandle":"%s"}`, c.queue, handles[0]))
		return 1, err
	}
	c.request = fmt.Appendf(c.request[:0], `{"QueueUrl":%q,"Entries":[`, c.queue)
	for i, handle := range handles {
		c.request = fmt.Appendf(c.request, `{"Id":"%d","ReceiptHandle":"%s"},`, i, handle)
	}
	c.request[len(c.request)-1] = ']' // the last comma
	answer, err = c.call("DeleteMessageBatch", append(c.request, '}'))
	if err != nil {
		return 0, err
	}
	if deleted := bytes.Count(answer, []byte(`"Id"`)); deleted != len(handles) || bytes.Contains(answer, []byte(`"Code"`)) {
		return 0, fmt.Errorf("DeleteMessageBatch: not all of %d messages were deleted: %.300s", len(handles), answer)
	}
	return len(handles), nil
}

func handlesIn(answer []byte) (list [][]byte, err error) {
	for {
		_, after, found := bytes.Cut(answer, []byte(`"ReceiptHandle":"`))
		if !found {
			return list, nil
		}
		handle, rest, whole := bytes.Cut(after, []byte(`"`))
		if !whole || bytes.IndexByte(handle, '\\') >= 0 {
			return nil, errEscaped
		}
		list, answer = append(list, handle), rest
	}
}

// call returns the answer's body, until the next call. All but 200 is an error.
func (c *rawClient) call(operation string, body []byte) ([]byte, error) {
	c.out = fmt.Appendf(c.out[:0], "POST / HTTP/1.1\r\nHost: %s\r\nContent-Type: application/x-amz-json-1.0\r\n"+
		"X-Amz-Target: AmazonSQS.%s\r\nContent-Length: %d\r\n\r\n%s", c.host, operation, len(body), body)
	if _, err := c.conn.Write(c.out); err != nil {
		return nil, fmt.Errorf("%s: %w", operation, err)
	}
	answer, err := http.ReadResponse(c.in, nil)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", operation, err)
	}
	c.answer.Reset()
	if _, err := c.answer.ReadFrom(answer.Body); err != nil {
		return nil, fmt.Errorf("%s: %w", operation, err)
	}
	if answer.StatusCode != http.StatusOK {
		return nil, fmt.Errorf("%s: status %d: %.300s", operation, answer.StatusCode, c.answer.Bytes())
	}
	return c.answer.Bytes(), nil
}

const (
	// waitingBody is how large the messages are that wait.
	waitingBody = 100
	// memoryBound is what one may cost besides its body.
	memoryBound = 1 << 10
)

// measureWaiting prints what waiting messages take of the emulator's live heap.
func measureWaiting(ctx context.Context) error {
	fmt.Printf("\nlive heap of the emulator after a collection, messages of %d bytes:\n\n| messages waiting | a message, with its body |\n| --- | --- |\n", waitingBody)
	var missed []error
	for _, n := range []int{100_000, 1_000_000} {
		perMessage, err := heapEach(ctx, n)
		if err != nil {
			return err
		}
		fmt.Printf("| %d | %d bytes |\n", n, perMessage)
		if perMessage > memoryBound+waitingBody {
			missed = append(missed, fmt.Errorf("a waiting message costs %d bytes, the bound is %d and its body", perMessage, memoryBound))
		}
	}
	return errors.Join(missed...)
}

// heapEach returns the bytes of live heap that each of n waiting messages adds.
func heapEach(ctx context.Context, n int) (int64, error) {
	server, err := sqs.Serve("127.0.0.1:0", sqs.Config{})
	if err != nil {
		return 0, err
	}
	defer server.Close()
	queue, err := harness.MakeQueue(ctx, server.Client(), "waiting", nil)
	if err != nil {
		return 0, err
	}
	c, err := newRawClient(server.URL(), queue, waitingBody)
	if err != nil {
		return 0, err
	}
	defer c.close()
	before := liveHeap()
	for range n / 10 {
		if err := c.send(10); err != nil {
			return 0, err
		}
	}
	after := liveHeap()
	runtime.KeepAlive(server)
	return (after - before) / int64(n/10*10), nil
}

func liveHeap() int64 {
	runtime.GC()
	runtime.GC() // what the first one's finalizers let go of
	var stats runtime.MemStats
	runtime.ReadMemStats(&stats)
	return int64(stats.HeapAlloc)
}
