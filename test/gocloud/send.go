package main

import (
	"cmp"
	"context"
	"errors"
	"flag"
	"fmt"
	"slices"
	"time"
)

const (
	linger      = 5 * time.Millisecond
	concurrency = 16
	groups      = 1000
)

// sending is a kind of work: a rate, a number of goroutines that send one message after
// another, or a stream of messages that nobody waits for.
type sending struct {
	name    string
	rate    int
	callers int
	fifo    bool
	stream  bool
	direct  bool // the server answers at once
}

var sendings = []sending{
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
	{name: "by hand, SendMessageBatch", start: sendByHand},
	{name: "gocloud.dev topic", start: byGocloud},
}

var streams = []producer{
	{name: "sender.Enqueue", stream: enqueue},
	{name: "bare loops of full batches", stream: bareLoops},
}

// send compares producers, and reports whether the bounds were kept.
func send(args []string) error {
	flags := flag.NewFlagSet("send", flag.ExitOnError)
	seconds := flags.Float64("seconds", 3, "how long one measurement takes")
	rounds := flags.Int("rounds", 3, "how often each is measured; the one with the median p99 is reported, of streams the one with the median rate")
	_ = flags.Parse(args) // it exits at an error
	missed := false
	for _, l := range sendings {
		list := producers
		if l.stream {
			list = streams
		}
		results, err := compare(l, list, *rounds, time.Duration(*seconds*float64(time.Second)))
		if err != nil {
			return err
		}
		report(l, list, results)
		missed = missed || l.misses(results[0])
	}
	if missed {
		return errors.New("a bound was missed")
	}
	return nil
}

// compare measures producers in turns, since a shared machine changes, and returns a median
// sent of each.
func compare(l sending, list []producer, rounds int, duration time.Duration) ([]sent, error) {
	results := make([][]sent, len(list))
	for range rounds {
		for i, p := range list {
			r, err := measureSends(p, l, duration)
			if err != nil {
				return nil, fmt.Errorf("%s, %s: %w", p.name, l.name, err)
			}
			results[i] = append(results[i], r)
		}
	}
	medians := make([]sent, len(list))
	for i := range list {
		slices.SortFunc(results[i], func(a, b sent) int { return cmp.Or(cmp.Compare(a.p99, b.p99), cmp.Compare(a.rate, b.rate)) })
		medians[i] = results[i][rounds/2]
	}
	return medians, nil
}

func report(l sending, list []producer, results []sent) {
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
func (l sending) misses(r sent) bool {
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
	start  func(ctx context.Context, w *outbox) (send func(body, group string) error, stop func(), err error)
	stream func(ctx context.Context, w *outbox, end time.Time) (confirmed int, err error)
}
