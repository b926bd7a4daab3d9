package main

import (
	"bytes"
	"errors"
	"fmt"
	"net/http"
	"runtime"

	"github.com/sqsbatch/sqsbatch/emulator/sqs"
)

const (
	// waitingBody is how large the messages are that wait.
	waitingBody = 100
	// memoryBound is what one may cost besides its body.
	memoryBound = 1 << 10
)

// measureWaiting prints what waiting messages take of the emulator's live heap.
func measureWaiting() error {
	fmt.Printf("\nlive heap of the emulator after a collection, messages of %d bytes:\n\n| messages waiting | a message, with its body |\n| --- | --- |\n", waitingBody)
	var missed []error
	for _, n := range []int{100_000, 1_000_000} {
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

// heapEach returns the bytes of live heap that each of n waiting messages adds.
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
