package handler_test

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"net/http"
	"strconv"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	awssqs "github.com/aws/aws-sdk-go-v2/service/sqs"
	"github.com/sqsbatch/sqsbatch/batch"
	"github.com/sqsbatch/sqsbatch/emulator/lambda"
	"github.com/sqsbatch/sqsbatch/emulator/sqs"
	"github.com/sqsbatch/sqsbatch/handler"
	"github.com/sqsbatch/sqsbatch/internal/longpoll"
	"github.com/sqsbatch/sqsbatch/internal/runner"
	"github.com/sqsbatch/sqsbatch/test/cases"
)

// A crash is a queue with one message that kills every process that handles it.
type crash struct {
	visibility, took, dies time.Duration // took: of a healthy record; dies: from the poison's start to the end of its process
	most                   int           // maxReceiveCount
	concurrency, replicas  int
	lambda, fifo           bool // fifo: each message has a group of its own
}

// errDead is what the calls of a process that was killed return.
var errDead = errors.New("the process was killed")

// A process is cut off from SQS when it dies.
type process struct {
	http.RoundTripper
	ctx context.Context
	die context.CancelFunc
}

func (p *process) RoundTrip(r *http.Request) (*http.Response, error) {
	if p.ctx.Err() != nil {
		return nil, errDead
	}
	ctx, cancel := context.WithCancel(r.Context())
	defer context.AfterFunc(p.ctx, cancel)()
	return p.RoundTripper.RoundTrip(r.WithContext(ctx))
}

// run returns how many of the healthy messages went to the dead-letter queue, and how
// often the function was killed.
func (c crash) run(t *testing.T, seed uint64, healthy int) (lost, kills int) {
	synctest.Test(t, func(t *testing.T) {
		random := rand.New(rand.NewPCG(seed, 1))
		server := sqs.New(sqs.Config{})
		defer server.Close()
		client := server.Client()
		create := func(name string, attributes map[string]string) string {
			out, err := client.CreateQueue(t.Context(), &awssqs.CreateQueueInput{QueueName: &name, Attributes: attributes})
			if err != nil {
				t.Fatal(err)
			}
			return *out.QueueUrl
		}
		suffix, attributes := "", map[string]string{}
		if c.fifo {
			suffix, attributes["FifoQueue"] = ".fifo", "true"
		}
		create("dead"+suffix, attributes)
		attributes["VisibilityTimeout"] = strconv.Itoa(int(c.visibility / time.Second))
		attributes["RedrivePolicy"] = fmt.Sprintf(`{"deadLetterTargetArn":%q,"maxReceiveCount":%d}`, server.QueueARN("dead"+suffix), c.most)
		url := create("orders"+suffix, attributes)
		poison := random.IntN(healthy + 1)
		for i := range healthy + 1 {
			body := strconv.Itoa(i)
			if i == poison {
				body = "poison"
			}
			in := &awssqs.SendMessageInput{QueueUrl: &url, MessageBody: &body}
			if c.fifo {
				in.MessageGroupId, in.MessageDeduplicationId = &body, &body
			}
			if _, err := client.SendMessage(t.Context(), in); err != nil {
				t.Fatal(err)
			}
		}
		start := func() (*process, batch.Handler) {
			p := &process{RoundTripper: server.HTTPClient().Transport}
			p.ctx, p.die = context.WithCancel(context.Background())
			return p, batch.HandlerFunc(func(ctx context.Context, r batch.Record) error {
				wait := c.took
				if r.Body == "poison" {
					wait = c.dies
				}
				select {
				case <-time.After(wait):
				case <-p.ctx.Done():
				}
				if r.Body == "poison" {
					p.die()
				}
				return p.ctx.Err()
			})
		}
		options := func(p *process) func(*awssqs.Options) {
			return func(o *awssqs.Options) {
				o.HTTPClient = &http.Client{Transport: p}
				o.RetryMaxAttempts = 1
			}
		}
		end, stop := context.WithCancel(context.Background())
		var running sync.WaitGroup
		if c.lambda {
			var mu sync.Mutex
			var warm []func(context.Context, []byte) ([]byte, error)
			fn, err := lambda.Start(lambda.Function{Timeout: c.visibility / 6, Concurrency: 10, Handler: func(ctx context.Context, payload []byte) ([]byte, error) {
				mu.Lock()
				var invoke func(context.Context, []byte) ([]byte, error)
				if n := len(warm); n > 0 {
					invoke, warm = warm[n-1], warm[:n-1]
				}
				mu.Unlock()
				if invoke == nil {
					p, h := start()
					l, err := handler.New(h, handler.Config{SQS: server.Client(options(p)), Logger: slog.New(slog.DiscardHandler)})
					if err != nil {
						return nil, err
					}
					invoke = func(ctx context.Context, payload []byte) ([]byte, error) {
						answer := make(chan []byte, 1)
						go func() {
							a, _ := l.Invoke(ctx, payload)
							answer <- a
						}()
						select {
						case <-p.ctx.Done():
							return nil, errDead
						case a := <-answer:
							return a, nil
						}
					}
				}
				a, err := invoke(ctx, payload)
				if err == nil {
					mu.Lock()
					warm = append(warm, invoke)
					mu.Unlock()
				} else {
					mu.Lock()
					kills++
					mu.Unlock()
				}
				return a, err
			}})
			if err != nil {
				t.Fatal(err)
			}
			defer fn.Close()
			m := lambda.Mapping{Function: fn, SQS: client, QueueURL: url, ReportBatchItemFailures: true, Pollers: 5}
			running.Go(func() { _ = m.Run(end) })
		} else {
			var mu sync.Mutex
			for range c.replicas {
				running.Go(func() {
					for end.Err() == nil {
						p, h := start()
						poller := longpoll.New(h, longpoll.Config{Queue: url, SQS: server.Client(options(p)), Engine: runner.Config{Concurrency: c.concurrency}})
						ctx, cancel := context.WithCancel(context.Background())
						context.AfterFunc(p.ctx, func() {
							stopped, cancel := context.WithCancel(context.Background())
							cancel()
							_ = poller.Shutdown(stopped)
						})
						context.AfterFunc(end, cancel)
						_ = poller.Run(ctx)
						cancel()
						if p.ctx.Err() != nil {
							mu.Lock()
							kills++
							mu.Unlock()
							time.Sleep(time.Second) // the platform starts it again
						}
					}
				})
			}
		}
		for range 24 * 60 {
			time.Sleep(time.Minute)
			in, deadIn := count(server, "orders"+suffix), count(server, "dead"+suffix)
			if in == 0 {
				lost = deadIn - 1
				break
			}
		}
		stop()
		running.Wait()
		time.Sleep(time.Hour)
	})
	return lost, kills
}

// TestCrash runs a queue with one message that kills its process, and 49 others. All ten that
// a process holds at the first crash come back together; without Policy.Apart they died together.
func TestCrash(t *testing.T) {
	for name, c := range map[string]crash{
		"at once":            {most: 5, took: 50 * time.Millisecond},
		"later":              {most: 5, took: 5 * time.Second, dies: 2 * time.Second},
		"slow handlers":      {most: 5, took: 20 * time.Second, dies: time.Second},
		"few attempts":       {most: 3, took: time.Second},
		"many slots":         {most: 5, took: time.Second, concurrency: 50},
		"three replicas":     {most: 5, took: time.Second, replicas: 3},
		"FIFO":               {most: 5, took: time.Second, fifo: true},
		"Lambda":             {most: 5, took: 50 * time.Millisecond, lambda: true},
		"Lambda, 3 attempts": {most: 3, took: time.Second, lambda: true},
	} {
		t.Run(name, func(t *testing.T) {
			c.visibility, c.concurrency, c.replicas = 30*time.Second, cmp.Or(c.concurrency, 10), max(1, c.replicas)
			if c.lambda {
				c.visibility = 3 * time.Minute
			}
			runs := cases.Of(4, 10)
			all := 0
			for seed := range uint64(runs) {
				lost, kills := c.run(t, seed, 49)
				if all += lost; kills != c.most {
					t.Errorf("seed %d: the message killed %d processes, want %d", seed, kills, c.most)
				}
				t.Logf("seed %d: %d of 49 healthy messages are in the dead-letter queue", seed, lost)
			}
			if all > runs {
				t.Errorf("%d healthy messages were dead-lettered in %d runs, want at most one in each", all, runs)
			}
		})
	}
}

func count(server *sqs.Server, name string) int {
	for _, q := range server.Snapshot() {
		if q.Name == name {
			return len(q.Messages)
		}
	}
	return 0
}
