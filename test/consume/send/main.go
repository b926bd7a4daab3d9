// Command send measures what it costs to send messages to a queue: messages a second,
// messages a call, and how long a caller waits, by sqsbatch's sender compared with single
// sends of AWS's SDK, a batching loop written by hand, and gocloud.dev's pubsub/awssnssqs.
// All have the same server: emulator/sqs over loopback, which answers each call after 5 ms.
//
//	go run ./send
//
// Every message is sent by a goroutine that waits for its confirmation. At a rate, the
// wait counts from when the message was due. It ends with 1 when the sender puts fewer than
// 9.5 messages into a call at 5,000 messages a second, or takes more than 0.105 requests a
// message at full load. Rates and waits depend on the machine, and are for people to read.
package main

import (
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

// load is a kind of work: a rate, or if that is 0 a number of goroutines that send one
// message after another.
type load struct {
	name    string
	rate    int
	callers int
	fifo    bool // each caller has a group
}

var loads = []load{
	{name: "500/s", rate: 500},
	{name: "5,000/s", rate: 5000},
	{name: "full, 2,000 callers", callers: 2000},
	{name: "FIFO, 1,000 groups", callers: groups, fifo: true},
}

var producers = []producer{
	{name: "sender.Send", start: bySender},
	{name: "SDK, SendMessage", start: bySDK},
	{name: "by hand, SendMessageBatch", start: byHand, standardOnly: true},
	{name: "gocloud.dev topic", start: byGocloud, standardOnly: true},
}

func main() {
	seconds := flag.Float64("seconds", 3, "how long one measurement takes")
	rounds := flag.Int("rounds", 3, "how often each is measured; the one with the median p99 is reported")
	flag.Parse()
	fmt.Printf("%s/%s, %d CPUs, %s\n", runtime.GOOS, runtime.GOARCH, runtime.NumCPU(), runtime.Version())
	missed := false
	for _, l := range loads {
		fmt.Printf("\n%-26s %10s %14s %16s %8s %8s\n", l.name, "messages/s", "messages/call", "requests/message", "p50", "p99")
		results := make([][]result, len(producers))
		for range *rounds { // in turns, since a shared machine changes
			for i, p := range producers {
				if l.fifo && p.standardOnly {
					continue
				}
				r, err := measure(p, l, time.Duration(*seconds*float64(time.Second)))
				if err != nil {
					fmt.Fprintf(os.Stderr, "send: %s, %s: %v\n", p.name, l.name, err)
					os.Exit(1)
				}
				results[i] = append(results[i], r)
			}
		}
		for i, p := range producers {
			if len(results[i]) == 0 {
				continue
			}
			slices.SortFunc(results[i], func(a, b result) int { return int(a.p99 - b.p99) })
			r := results[i][len(results[i])/2]
			fmt.Printf("%-26s %10.0f %14.2f %16.3f %8s %8s\n", p.name, r.rate, r.fill, 1/r.fill, brief(r.p50), brief(r.p99))
			missed = missed || i == 0 && (l.rate == 5000 && r.fill < 9.5 || l.rate == 0 && 1/r.fill > 0.105)
		}
	}
	if missed {
		fmt.Println("\na bound was missed")
		os.Exit(1)
	}
}

func brief(d time.Duration) string { return fmt.Sprintf("%.1f ms", d.Seconds()*1000) }

// producer sends messages. start returns a function that sends one and waits for its
// confirmation, and one that stops.
type producer struct {
	name         string
	start        func(ctx context.Context, w *world) (send func(body, group string) error, stop func(), err error)
	standardOnly bool
}
