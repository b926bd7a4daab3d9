package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"sync"
	"time"

	"github.com/sqsbatch/sqsbatch/batch"
	"github.com/sqsbatch/sqsbatch/handler"
	"github.com/sqsbatch/sqsbatch/partialfailure"
	"github.com/sqsbatch/sqsbatch/sender"
	"github.com/sqsbatch/sqsbatch/test/internal/harness"
	"github.com/sqsbatch/sqsbatch/test/internal/must"
	"github.com/sqsbatch/sqsbatch/test/internal/tools"
)

// checkElasticMQ has package sender and the long poll work with ElasticMQ, a server that others wrote: on
// a standard and on a FIFO queue, with messages that fail at first or for good, and with two stops on the
// way. It needs Java 11 or newer, and on the first use Maven and Maven Central.
func checkElasticMQ(ctx context.Context, s *tools.Stage) error {
	server, err := harness.StartElasticMQ(ctx)
	if err != nil {
		return fmt.Errorf("%w: %w", tools.ErrNotRun, err)
	}
	defer func() { _ = server.Stop() }()
	for _, queue := range []string{"orders", "orders.fifo"} {
		s.Step(queue, func() error { return must.Run(func() { consumeAll(ctx, s, server.URL, queue) }) })
	}
	return nil
}

// consumeAll wants each message to be done once: ElasticMQ delivers none twice by itself, and a stop
// leaves none to be done again. Those of a group are done in their order. A dead letter whose answer is
// lost is sent once more.
func consumeAll(ctx context.Context, s *tools.Stage, url, name string) {
	const messages, groups = 1000, 40
	client, fifo := harness.SQSClient(url), name == "orders.fifo"
	queue, dead := must.Get2(harness.MakeQueues(ctx, client, name, "dead-"+name, 1000))
	send := must.Get(sender.New(client, sender.Config{Queue: queue}))
	for n := range messages {
		m := sender.Text(strconv.Itoa(n))
		if fifo {
			m.Group, m.DeduplicationID = strconv.Itoa(n%groups), m.Body
		}
		must.Do(send.Enqueue(ctx, m, func(r sender.Result) {
			if r.Err != nil {
				fmt.Fprintf(s.Log, "message %d: %v\n", n, r.Err) // it is not done, either
			}
		}))
	}
	send.Close(ctx)

	var mu sync.Mutex
	var done []int
	stop := func() {} // the consumer
	handle := batch.HandlerFunc(func(_ context.Context, r batch.Record) error {
		time.Sleep(2 * time.Millisecond)
		mu.Lock()
		defer mu.Unlock()
		n, err := strconv.Atoi(r.Body)
		switch {
		case err != nil || n%100 == 7:
			return batch.Permanent(errors.New("an order that cannot be filled"))
		case n%50 == 3 && r.Attempt == 1:
			return errors.New("the first attempt fails")
		}
		if done = append(done, n); len(done)%300 == 0 {
			stop()
		}
		return nil
	})
	cfg := handler.Config{SQS: client, Logger: s.Logger(), Concurrency: 32, Failures: partialfailure.Config{Backoff: partialfailure.Exponential(time.Second, time.Second)}}
	cfg.Poll = handler.PollConfig{Queues: []string{queue}, Visibility: 10 * time.Second}
	for range 2 {
		var polling context.Context
		polling, stop = context.WithCancel(ctx)
		must.Do(handler.Poll(polling, handle, cfg))
	}
	stop = func() {}
	// ElasticMQ goes on with a long poll whose client has left, and hides what it gives it.
	polling, end := context.WithCancel(ctx)
	ended := make(chan error, 1)
	go func() { ended <- handler.Poll(polling, handle, cfg) }()
	err := harness.Until(ctx, time.Minute, func() error { return harness.RequireEmpty(ctx, client, queue) })
	end()
	must.Do(errors.Join(err, <-ended))

	letters, _ := must.Get2(harness.Depth(ctx, client, dead))
	last := map[int]int{}
	for _, n := range done {
		if before, some := last[n%groups]; fifo && some && before >= n {
			must.Failf("order %d of a group was done after order %d", n, before)
		}
		last[n%groups] = n
	}
	slices.Sort(done)
	if all := len(slices.Compact(slices.Clone(done))); all != messages-messages/100 || len(done) != all || letters < messages/100 {
		must.Failf("%d orders were done %d times, and %d are dead letters; want %d once, and at least %d", all, len(done), letters, messages-messages/100, messages/100)
	}
	fmt.Printf("%d orders done once, %d dead letters, over two stops\n", len(done), letters)
}
