package main

import (
	"cmp"
	"context"
	"flag"
	"fmt"
	"slices"
	"time"
)

// slots is how many messages each consumer handles at a time.
const slots = 64

// load is a kind of work.
type load struct {
	name  string
	work  func(n int) time.Duration // of the n-th message
	limit float64                   // messages a second that the slots allow; 0 for no limit
}

var loads = []load{
	{name: "no-op", work: func(int) time.Duration { return 0 }},
	{name: "10 ms", work: func(int) time.Duration { return 10 * time.Millisecond }, limit: 6400},
	{name: "10 ms, 1 % of them 1 s", work: func(n int) time.Duration {
		if n%100 == 50 {
			return time.Second
		}
		return 10 * time.Millisecond
	}, limit: 3216},
}

// consumer handles the messages of a queue until ctx ends.
type consumer struct {
	name string
	run  func(ctx context.Context, w *world) error
}

var consumers = []consumer{
	{"sqsbatch", longPoll},
	{"a loop with the SDK", byHand},
	{"gocloud.dev, defaults", gocloudDefaults},
	{"gocloud.dev, tuned", gocloudTuned},
}

// maxRequests is the bound of requests a message; 0.2 is what ten at a time cost.
const maxRequests = 0.21

// consume compares consumers, and reports whether the bound was kept.
func consume(args []string) error {
	flags := flag.NewFlagSet("consume", flag.ExitOnError)
	seconds := flags.Float64("seconds", 5, "how many seconds of messages to send, by the slots' limit")
	rounds := flags.Int("rounds", 3, "how often each is measured, in turns; medians are reported")
	_ = flags.Parse(args) // it exits at an error
	missed := false
	for _, l := range loads {
		limit := l.limit
		if limit == 0 {
			limit = 8000
		}
		messages := int(limit**seconds) / 10 * 10
		fmt.Printf("\n%s, %d messages\n\n| | messages/s | requests a message | most handlers at a time | most held | handled twice |\n| --- | --- | --- | --- | --- | --- |\n", l.name, messages)
		results := make([][]result, len(consumers))
		for range *rounds {
			for i, c := range consumers {
				r, err := measure(c, l, messages)
				if err != nil {
					return fmt.Errorf("%s, %s: %w", c.name, l.name, err)
				}
				results[i] = append(results[i], r)
			}
		}
		for i, c := range consumers {
			rate, requests := median(results[i], func(r result) float64 { return r.rate }), median(results[i], func(r result) float64 { return r.requests })
			ofLimit := ""
			if l.limit > 0 {
				ofLimit = fmt.Sprintf(" (%.0f %%)", 100*rate/l.limit)
			}
			fmt.Printf("| %s | %.0f%s | %.3f | %d | %d | %d |\n", c.name, rate, ofLimit, requests,
				most(results[i], func(r result) int { return r.running }), most(results[i], func(r result) int { return r.held }),
				most(results[i], func(r result) int { return r.twice }))
			missed = missed || i == 0 && requests > maxRequests
		}
	}
	if missed {
		return fmt.Errorf("sqsbatch takes more than %v requests a message", maxRequests)
	}
	return nil
}

func sorted[T cmp.Ordered](list []result, of func(result) T) []T {
	values := make([]T, len(list))
	for i, r := range list {
		values[i] = of(r)
	}
	slices.Sort(values)
	return values
}

func median(list []result, of func(result) float64) float64 { return sorted(list, of)[len(list)/2] }

func most(list []result, of func(result) int) int { return slices.Max(sorted(list, of)) }
