package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net/http"
	"runtime"

	"github.com/sqsbatch/sqsbatch/emulator/sqs"
)

const (
	// waitingBody is how large the messages are that wait.
	waitingBody = 100
	// waiting is how many wait, at most.
	waiting = 1_000_000
	// memoryBound is what one may cost beside its body.
	memoryBound = 1 << 10
)

// compareWaiting measures what memory waiting messages take. Each server is a new
// process, so that nothing of the rates is left in it.
func compareWaiting(ctx context.Context, o options, starters []starter) error {
	fmt.Printf("\nmessages of %d bytes that wait\n\n| | messages waiting | resident memory | a message, with its body |\n| --- | --- | --- | --- |\n", waitingBody)
	for _, s := range starters {
		if err := waitingOn(ctx, o, s); err != nil {
			return fmt.Errorf("%s: %w", s.name, err)
		}
	}
	fmt.Printf("\nlive heap of the emulator after a collection, in this process:\n\n| messages waiting | a message, with its body |\n| --- | --- |\n")
	var missed []error
	for _, n := range []int{100_000, waiting} {
		perMessage, err := heapEach(n)
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

// waitingOn fills one server step by step.
func waitingOn(ctx context.Context, o options, start starter) error {
	s, err := start.start(ctx)
	if err != nil {
		return err
	}
	defer s.stop()
	// So that buffers, pools and compiled code are not counted as messages. The
	// connections come after it: a server need not keep one that says nothing.
	if err := warm(ctx, s, o, waitingBody); err != nil {
		return err
	}
	queue, remove, err := newQueue(s.url)
	if err != nil {
		return err
	}
	clients, hangUp, err := connect(s, queue, connections, waitingBody)
	if err != nil {
		return err
	}
	defer hangUp()
	empty := resident(s.pid)
	have := 0
	for _, n := range []int{1000, 100_000, waiting} {
		if err := fill(ctx, clients, n-have); err != nil {
			return err
		}
		have = n
		memory := "?"
		perMessage := "?"
		if now := resident(s.pid); now >= 0 && empty >= 0 {
			memory = fmt.Sprintf("%d MiB", now>>20)
			if n >= 100_000 { // fewer are lost in what the process needs anyway
				perMessage = fmt.Sprintf("%d bytes", (now-empty)/int64(n))
			} else {
				perMessage = ""
			}
		}
		fmt.Printf("| %s | %d | %s | %s |\n", start.name, n, memory, perMessage)
	}
	return remove()
}

// warm makes batch calls for the time of the warm-up, on a queue that is deleted again.
func warm(ctx context.Context, s *process, o options, body int) error {
	queue, remove, err := newQueue(s.url)
	if err != nil {
		return err
	}
	clients, hangUp, err := connect(s, queue, connections, body)
	if err != nil {
		return err
	}
	defer hangUp()
	_, _, err = load(ctx, clients, o.warmup, func(c *client) (int, error) {
		if err := c.send(10); err != nil {
			return 0, err
		}
		return c.take(10)
	})
	return errors.Join(err, remove())
}

// heapEach returns the bytes that n waiting messages add to the live heap of a
// server with default options, by message.
func heapEach(n int) (int64, error) {
	server := sqs.New(sqs.Options{})
	defer server.Close()
	call := func(operation, body string) error {
		r, err := http.NewRequest(http.MethodPost, server.URL(), bytes.NewReader([]byte(body)))
		if err != nil {
			return err
		}
		r.Header.Set("X-Amz-Target", "AmazonSQS."+operation)
		res, err := server.HTTPClient().Do(r)
		if err != nil {
			return err
		}
		defer res.Body.Close()
		if res.StatusCode != http.StatusOK {
			return fmt.Errorf("%s: status %s", operation, res.Status)
		}
		return nil
	}
	if err := call("CreateQueue", `{"QueueName":"waiting"}`); err != nil {
		return 0, err
	}
	l := client{queue: server.QueueURL("waiting"), text: string(bytes.Repeat([]byte("b"), waitingBody))}
	batch := string(l.sendRequest(10))
	before := liveHeap()
	for range n / 10 {
		if err := call("SendMessageBatch", batch); err != nil {
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
