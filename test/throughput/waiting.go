package main

import (
	"context"
	"errors"
	"fmt"
	"runtime"

	"github.com/sqsbatch/sqsbatch/emulator/sqs"
	"github.com/sqsbatch/sqsbatch/test/internal/harness"
)

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
	c, err := newClient(server.URL(), queue, waitingBody)
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
