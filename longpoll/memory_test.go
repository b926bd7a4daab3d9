package longpoll_test

import (
	"context"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/sqsbatch/sqsbatch/batch"
	"github.com/sqsbatch/sqsbatch/internal/testqueue"
	"github.com/sqsbatch/sqsbatch/longpoll"
)

// BenchmarkInFlight reports what a record that is being handled takes in
// memory, its body of 1,000 bytes and the handler's own stack included.
func BenchmarkInFlight(b *testing.B) {
	const n = 5_000
	for b.Loop() {
		q := testqueue.New(b, false)
		body := strings.Repeat("x", 1000)
		for range n {
			q.Send(body)
		}
		var handling atomic.Int32
		p, err := longpoll.New(batch.HandlerFunc(func(context.Context, batch.Record) error {
			handling.Add(1)
			time.Sleep(10 * time.Second)
			return nil
		}), longpoll.Config{Queue: q.URL, SQS: q.Client, Engine: batch.Config{Concurrency: n}, DrainLimit: time.Minute})
		if err != nil {
			b.Fatal(err)
		}
		before := inUse()
		ran := make(chan error, 1)
		go func() { ran <- p.Run(context.Background()) }()
		for handling.Load() < n {
			time.Sleep(time.Millisecond)
		}
		after := inUse()
		b.ReportMetric(float64(after-before)/n-float64(len(body)), "B/record")
		if err := p.Shutdown(context.Background()); err != nil {
			b.Fatal(err)
		}
		if err := <-ran; err != nil {
			b.Fatal(err)
		}
	}
}

// inUse is what heap and stacks take after a collection.
func inUse() uint64 {
	runtime.GC()
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.HeapAlloc + m.StackInuse
}
