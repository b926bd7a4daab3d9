// Command throughput compares the emulator with ElasticMQ: messages a second
// over loopback. It also measures what a waiting message costs the emulator in
// memory. Both servers are processes of their own, both get the same requests
// over the same number of connections, and take turns within the same minutes,
// since a shared machine is not the same from one minute to the next.
//
//	go run ./test/throughput -elasticmq
//	go run ./test/throughput            (the emulator alone, without Java)
//
// The requests come from a client of its own that keeps to what the network
// needs (client.go): the SDK's work for each call is the same for both servers,
// and would hide what they differ in.
//
// It ends with 1 when a bound is missed: with -elasticmq, four times ElasticMQ's
// rates at batches of ten; and 1 KiB besides its body for a waiting message.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"runtime"
	"syscall"
	"time"
)

type options struct {
	elasticmq bool
	rounds    int
	duration  time.Duration // of one measurement
	warmup    time.Duration // of each kind of call, before the first
}

const (
	connections = 8    // that call at a time
	body        = 1024 // bytes of a message's body, for throughput
)

func main() {
	var o options
	flag.BoolVar(&o.elasticmq, "elasticmq", false, "measure ElasticMQ too (needs Java, and Maven for the first time)")
	flag.IntVar(&o.rounds, "rounds", 7, "how often each rate is measured; medians are reported; 0 leaves the rates out")
	flag.DurationVar(&o.duration, "duration", 2*time.Second, "how long one measurement takes")
	flag.DurationVar(&o.warmup, "warmup", 30*time.Second, "how long each server is called before anything is measured: Java compiles what is called often")
	flag.Parse()
	// A closed output ends it too (SIGPIPE): the servers must be stopped.
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM, syscall.SIGPIPE)
	defer stop()
	if err := run(ctx, o); err != nil {
		fmt.Fprintln(os.Stderr, "throughput:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, o options) error {
	if o.rounds < 0 || o.duration <= 0 {
		return errors.New("-duration must be positive, -rounds not negative")
	}
	fmt.Printf("%s/%s, %d CPUs, %s\n", runtime.GOOS, runtime.GOARCH, runtime.NumCPU(), runtime.Version())
	var missed error
	if o.rounds > 0 {
		missed = compareRates(ctx, o)
	}
	if ctx.Err() == nil {
		missed = errors.Join(missed, measureWaiting(ctx))
	}
	return missed
}
