package main

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"sync"
	"time"

	"github.com/sqsbatch/sqsbatch/emulator/lambda"
	"github.com/sqsbatch/sqsbatch/emulator/sqs"
	"github.com/sqsbatch/sqsbatch/test/internal/harness"
	"github.com/sqsbatch/sqsbatch/test/internal/must"
	"golang.org/x/sync/errgroup"
)

// deadline measures whether a function answers before its deadline
// whatever its records do: real processes of examples/orders under the
// emulated Runtime API and a real queue protocol, with timeouts of 1, 2 and
// 3 s side by side, and orders that hang for random times.
//
// It prints how many invocations were answered in time and the least margin
// for each timeout, and fails unless all were.
func deadline(ctx context.Context, args []string) (err error) {
	defer must.Return(&err)
	flags := flag.NewFlagSet("deadline", flag.ExitOnError)
	n := flags.Int("n", 1000, "how many invocations")
	parallel := flags.Int("parallel", 4, "how many at a time for each timeout")
	seed := flags.Uint64("seed", 1, "seed of the orders")
	_ = flags.Parse(args) // it exits at an error
	dir := must.Get(os.MkdirTemp("", "deadline"))
	defer func() { _ = os.RemoveAll(dir) }()
	bootstrap := filepath.Join(dir, "bootstrap")
	must.Do(harness.Build(ctx, bootstrap, "./examples/orders"))
	server := must.Get(sqs.Serve("127.0.0.1:0", sqs.Config{}))
	defer func() { _ = server.Close() }()

	// The calls of the functions are answered, though the handles of these records are of no message.
	must.Get2(harness.MakeQueues(ctx, server.Client(), "orders", "orders-dead", 5))
	timeouts := []time.Duration{time.Second, 2 * time.Second, 3 * time.Second}
	tallies := make([]deadlineTally, len(timeouts))
	var all errgroup.Group
	for i, timeout := range timeouts {
		count := *n / len(timeouts)
		if i < *n%len(timeouts) {
			count++
		}
		rng := rand.New(rand.NewPCG(*seed, uint64(i)))
		all.Go(func() error { return tallies[i].measure(bootstrap, server, timeout, count, *parallel, rng) })
	}
	must.Do(all.Wait())
	failed := 0
	for i := range tallies {
		t := &tallies[i]
		fmt.Printf("timeout %v: %d of %d answered in time, least margin %v, mean %v %s\n", timeouts[i], t.answered, t.answered+t.failed,
			t.leastMargin.Round(time.Millisecond), (t.mean / time.Duration(max(t.answered, 1))).Round(time.Millisecond), t.firstFailure)
		failed += t.failed
	}
	if failed > 0 {
		return fmt.Errorf("%d invocations were not answered in time", failed)
	}
	return nil
}

// deadlineTally is what happened to the invocations with one timeout.
type deadlineTally struct {
	mu                sync.Mutex
	answered, failed  int
	leastMargin, mean time.Duration
	firstFailure      string
}

func (t *deadlineTally) measure(bootstrap string, server *sqs.Server, timeout time.Duration, n, parallel int, rng *rand.Rand) error {
	function, err := lambda.Start(lambda.Function{
		Name:        fmt.Sprintf("orders-%s", timeout),
		Timeout:     timeout,
		Command:     []string{bootstrap},
		Concurrency: parallel,
		Env:         map[string]string{"AWS_ENDPOINT_URL_SQS": server.URL(), "SQSBATCH_DEAD_LETTER_QUEUE": server.QueueURL("orders-dead")},
	})
	if err != nil {
		return err
	}
	defer func() { _ = function.Close() }()
	t.leastMargin = timeout
	var invocations errgroup.Group
	invocations.SetLimit(parallel)
	for range n {
		payload := hangingEvent(rng, server.QueueARN("orders"))
		invocations.Go(func() error {
			result, err := function.Invoke(context.Background(), payload)
			t.add(timeout, result, err)
			return nil
		})
	}
	return invocations.Wait()
}

func (t *deadlineTally) add(timeout time.Duration, result lambda.Result, err error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if err == nil && result.Error != nil {
		err = result.Error
	}
	if err != nil {
		t.failed++
		if t.firstFailure == "" {
			t.firstFailure = "(" + err.Error() + ")"
		}
		return
	}
	margin := timeout - result.Duration
	t.answered++
	t.leastMargin = min(t.leastMargin, margin)
	t.mean += margin
}

// hangingEvent is a batch of 1 to 10 orders of which about a third hang.
func hangingEvent(rng *rand.Rand, arn string) []byte {
	var records []map[string]any
	for i := range 1 + rng.IntN(10) {
		sku := "ok"
		switch rng.IntN(6) {
		case 0, 1:
			sku = fmt.Sprintf("hang:%dms", rng.IntN(5000))
		case 2:
			sku = fmt.Sprintf("slow:%dms", rng.IntN(5000))
		case 3:
			sku = "down"
		}
		records = append(records, map[string]any{
			"messageId": fmt.Sprintf("%016x-%d", rng.Uint64(), i), "receiptHandle": "handle",
			"body":        fmt.Sprintf(`{"id":"o-%d","sku":%q,"quantity":1}`, i, sku),
			"attributes":  map[string]string{"ApproximateReceiveCount": "1"},
			"eventSource": "aws:sqs", "eventSourceARN": arn, "awsRegion": "us-east-1",
		})
	}
	b, _ := json.Marshal(map[string]any{"Records": records})
	return b
}
