// Command send measures what it costs to send messages to a queue: messages a second,
// messages a call, and how long a caller waits, by sqsbatch's sender compared with single
// sends of AWS's SDK, a batching loop written by hand, and gocloud.dev's pubsub/awssnssqs.
// All have the same server: emulator/sqs over loopback, which answers each call after 5 ms.
// On the FIFO queue each message is of one of 1,000 groups.
//
//	go run ./send
//
// Every message is sent by a goroutine that waits for its confirmation. At a rate, the wait
// counts from when the message was due. The last two loads have no such goroutines: what the
// server takes from bare loops of full batches, and from Enqueue. In the last one the server
// answers at once, so that the processor is the limit. The server shares it.
//
// It ends with 1 when the sender puts fewer than 9.5 messages into a call at 5,000 messages
// a second, or takes more than 0.105 requests a message at full load. Rates and waits depend
// on the machine, and are for people to read.
package main

import (
	"cmp"
	"context"
	"flag"
	"fmt"
	"os"
	"runtime"
	"slices"
	"time"
)

const (
	latency     = 5 * time.Millisecond // of a call
	linger      = 5 * time.Millisecond
	concurrency = 16
	groups      = 1000
)

// load is a kind of work: a rate, a number of goroutines that send one message after
// another, or a stream of messages that nobody waits for.
type load struct {
	name    string
	rate    int
	callers int
	fifo    bool
	stream  bool
	direct  bool // the server answers at once
}

var loads = []load{
	{name: "500/s", rate: 500},
	{name: "5,000/s", rate: 5000},
	{name: "full, 2,000 callers", callers: 2000},
	{name: "FIFO, 500/s", rate: 500, fifo: true},
	{name: "FIFO, 5,000/s", rate: 5000, fifo: true},
	{name: "FIFO, full, 1,000 callers", callers: groups, fifo: true},
	{name: "stream", stream: true},
	{name: "stream, no latency", stream: true, direct: true},
}

// producers have the sender first, which has bounds.
var producers = []producer{
	{name: "sender.Send", start: bySender},
	{name: "SDK, SendMessage", start: bySDK},
	{name: "by hand, SendMessageBatch", start: byHand},
	{name: "gocloud.dev topic", start: byGocloud},
}

var streams = []producer{
	{name: "sender.Enqueue", stream: enqueue},
	{name: "bare loops of full batches", stream: bareLoops},
}

func main() {
	seconds := flag.Float64("seconds", 3, "how long one measurement takes")
	rounds := flag.Int("rounds", 3, "how often each is measured; the one with the median p99 is reported, of streams the one with the median rate")
	flag.Parse()
	fmt.Printf("%s/%s, %d CPUs, %s\n", runtime.GOOS, runtime.GOARCH, runtime.NumCPU(), runtime.Version())
	missed := false
	for _, l := range loads {
		list := producers
		if l.stream {
			list = streams
		}
		results, err := compare(l, list, *rounds, time.Duration(*seconds*float64(time.Second)))
		if err != nil {
			fmt.Fprintf(os.Stderr, "send: %v\n", err)
			os.Exit(2)
		}
		report(l, list, results)
		missed = missed || l.misses(results[0])
	}
	if missed {
		fmt.Println("\na bound was missed")
		os.Exit(1)
	}
}

// compare measures producers in turns, since a shared machine changes, and returns a median
// result of each.
func compare(l load, list []producer, rounds int, duration time.Duration) ([]result, error) {
	results := make([][]result, len(list))
	for range rounds {
		for i, p := range list {
			r, err := measure(p, l, duration)
			if err != nil {
				return nil, fmt.Errorf("%s, %s: %w", p.name, l.name, err)
			}
			results[i] = append(results[i], r)
		}
	}
	medians := make([]result, len(list))
	for i := range list {
		slices.SortFunc(results[i], func(a, b result) int { return cmp.Or(cmp.Compare(a.p99, b.p99), cmp.Compare(a.rate, b.rate)) })
		medians[i] = results[i][rounds/2]
	}
	return medians, nil
}

func report(l load, list []producer, results []result) {
	fmt.Printf("\n%-26s %10s %14s %16s %9s %9s\n", l.name, "messages/s", "messages/call", "requests/message", "p50", "p99")
	for i, p := range list {
		r := results[i]
		fmt.Printf("%-26s %10.0f %14.2f %16.3f %9s %9s\n", p.name, r.rate, r.fill, 1/r.fill, brief(r.p50), brief(r.p99))
	}
	if l.stream {
		fmt.Printf("%.2f of the bare loops' rate, %.2f of their processor time a message\n", results[0].rate/results[1].rate,
			results[0].processor.Seconds()/results[1].processor.Seconds())
	}
}

// misses reports whether the sender has missed a bound.
func (l load) misses(r result) bool {
	switch l.rate {
	case 0:
		return 1/r.fill > 0.105
	case 5000:
		return r.fill < 9.5
	}
	return false
}

func brief(d time.Duration) string {
	if d == 0 {
		return "-"
	}
	return fmt.Sprintf("%.1f ms", d.Seconds()*1000)
}

// producer sends messages. start returns a function that sends one and waits for its
// confirmation, and one that stops. stream sends messages until end, and returns how many
// were confirmed.
type producer struct {
	name   string
	start  func(ctx context.Context, w *world) (send func(body, group string) error, stop func(), err error)
	stream func(ctx context.Context, w *world, end time.Time) (confirmed int, err error)
}
