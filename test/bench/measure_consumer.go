package main

import (
	"context"
	"encoding/json"
	"io"
	"log/slog"
	"os"
	"runtime"
	"runtime/metrics"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"github.com/sqsbatch/sqsbatch/batch"
	"github.com/sqsbatch/sqsbatch/handler"
)

const sampleRecord = `{"messageId":"1","receiptHandle":"handle","body":"body","attributes":{"ApproximateReceiveCount":"1"},` +
	`"messageAttributes":{},"eventSource":"aws:sqs","eventSourceARN":"arn:aws:sqs:us-east-1:000000000000:work","awsRegion":"us-east-1"}`

// figures are the process's. Heap counts for inflight only: it follows a collection.
type figures struct{ Goroutines, Started, Allocations, Heap float64 }

// consumer is the process that measure measures. It writes what it has measured to standard
// output, as JSON.
//
//	consumer lambda N      an invocation with N records, at most one
//	consumer busy N        polls with 64 slots until standard input ends
//	consumer inflight N    the same with N slots; no handler returns before N records are in their handlers
func consumer(_ context.Context, args []string) error {
	n, err := strconv.Atoi(args[1])
	if err != nil {
		return err
	}
	now := func() figures { return figuresNow(args[0] == "inflight") }
	var handled atomic.Int64
	var from, to figures
	switch args[0] {
	case "lambda":
		err = invokeRecords(n)
	case "busy": // the middle eight tenths
		err = pollRecords(64, func(context.Context, batch.Record) error {
			switch int(handled.Add(1)) {
			case n / 10:
				from = now()
			case n * 9 / 10:
				to = now()
			}
			return nil
		})
	case "inflight":
		from = now()
		all := make(chan struct{})
		err = pollRecords(n, func(context.Context, batch.Record) error {
			if int(handled.Add(1)) == n {
				to = now()
				close(all)
			}
			<-all
			return nil
		})
	}
	if err != nil {
		return err
	}
	return json.NewEncoder(os.Stdout).Encode([]figures{from, to})
}

func figuresNow(collected bool) figures {
	started := []metrics.Sample{{Name: "/sched/goroutines-created:goroutines"}}
	metrics.Read(started)
	if collected {
		runtime.GC()
		runtime.GC()
	}
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return figures{float64(runtime.NumGoroutine()), float64(started[0].Value.Uint64()), float64(m.Mallocs), float64(m.HeapAlloc)}
}

func invokeRecords(n int) error {
	h, err := handler.New(batch.HandlerFunc(func(context.Context, batch.Record) error { return nil }), consumerConfig(0))
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
	defer cancel()
	_, err = h.Invoke(ctx, []byte(`{"Records":[`+strings.Repeat(sampleRecord, n)+`]}`))
	return err
}

func pollRecords(slots int, h batch.HandlerFunc) error {
	ctx, stop := context.WithCancel(context.Background())
	go func() {
		_, _ = io.Copy(io.Discard, os.Stdin)
		stop()
	}()
	return handler.Poll(ctx, h, consumerConfig(slots))
}

func consumerConfig(slots int) handler.Config {
	logger := slog.New(slog.NewJSONHandler(io.Discard, nil))
	return handler.Config{Concurrency: slots, Logger: logger, Poll: handler.PollConfig{Wait: time.Second}}
}
