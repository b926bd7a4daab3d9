package main

import (
	"context"
	"fmt"
	"runtime"
	"strconv"
	"strings"

	awssqs "github.com/aws/aws-sdk-go-v2/service/sqs"
	"github.com/aws/aws-sdk-go-v2/service/sqs/types"
	"github.com/sqsbatch/sqsbatch/emulator/sqs"
	"github.com/sqsbatch/sqsbatch/test/internal/harness"
	"github.com/sqsbatch/sqsbatch/test/internal/must"
)

const (
	// waitingBody is how large the messages are that wait.
	waitingBody = 100
	// waitingBound is what one may cost besides its body.
	waitingBound = 1 << 10
)

// waiting prints what waiting messages take of the emulator's live heap. It fails when one takes more
// than 1 KiB besides its body.
func waiting(ctx context.Context, _ []string) (err error) {
	defer must.Return(&err)
	fmt.Printf("live heap of the emulator after a collection, messages of %d bytes:\n\n| messages waiting | a message, with its body |\n| --- | --- |\n", waitingBody)
	for _, n := range []int{100_000, 1_000_000} {
		perMessage := heapEach(ctx, n)
		fmt.Printf("| %d | %d bytes |\n", n, perMessage)
		if perMessage > waitingBound+waitingBody {
			must.Failf("a waiting message costs %d bytes, the bound is %d and its body", perMessage, waitingBound)
		}
	}
	return nil
}

// heapEach returns the bytes of live heap that each of n waiting messages adds.
func heapEach(ctx context.Context, n int) int64 {
	server := sqs.New(sqs.Config{})
	defer server.Close()
	client := server.Client()
	queue := must.Get(harness.MakeQueue(ctx, client, "waiting", nil))
	before := liveHeap()
	for range n / 10 {
		in := &awssqs.SendMessageBatchInput{QueueUrl: &queue}
		for i := range 10 {
			id, body := strconv.Itoa(i), strings.Repeat("b", waitingBody)
			in.Entries = append(in.Entries, types.SendMessageBatchRequestEntry{Id: &id, MessageBody: &body})
		}
		must.Get(client.SendMessageBatch(ctx, in))
	}
	after := liveHeap()
	runtime.KeepAlive(server)
	return (after - before) / int64(n/10*10)
}

func liveHeap() int64 {
	runtime.GC()
	runtime.GC() // what the first one's finalizers let go of
	var stats runtime.MemStats
	runtime.ReadMemStats(&stats)
	return int64(stats.HeapAlloc)
}
