package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"
)

// bound is how many times ElasticMQ's rate the emulator's must be.
const bound = 4.0

// kinds are what is measured, each with a client of its own sort.
var kinds = []struct {
	name  string
	sdk   bool
	batch int
	bound float64 // 0: none
}{
	{"batch of 10", false, 10, bound},
	{"single messages", false, 1, 0},
	{"batch of 10, through the SDK", true, 10, 0},
	{"single messages, through the SDK", true, 1, 0},
}

// rate is one measurement.
type rate struct {
	perSecond float64
	// server and client are the CPU time of either process by message; negative
	// where the system does not tell.
	server, client time.Duration
}

// compareRates measures every kind on every server, in turns, and prints a
// table. The error says which bounds were missed.
func compareRates(ctx context.Context, o options, starters []starter) error {
	servers, stop, err := startAll(ctx, starters)
	if err != nil {
		return err
	}
	defer stop()
	fmt.Printf("\n%d connections, bodies of %d bytes; %v of warm-up for each server and %v for each line, then medians of %d rounds of %v (least to most)\n\n",
		o.connections, o.body, o.warmup, 2*o.duration, o.rounds, o.duration)
	for _, s := range servers {
		if err := warm(ctx, s, o, o.body); err != nil {
			return fmt.Errorf("%s: %w", s.name, err)
		}
	}
	fmt.Printf("| | messages/s: %s", servers[0].name)
	for _, s := range servers[1:] {
		fmt.Printf(" | %s | ratio", s.name)
	}
	fmt.Printf(" | CPU of the server, µs a message | CPU of the client |\n| --- |%s --- | --- |\n", repeat(" --- |", 2*len(servers)-1))
	var missed []error
	for _, kind := range kinds {
		results := make([][2][]rate, len(servers)) // by server; sends, then receives with deletes
		for round := range o.rounds + 1 {          // the first is the warm-up
			for turn := range servers {
				i := (turn + round) % len(servers) // who begins changes
				d := o.duration
				if round == 0 {
					d *= 2
				}
				pair, err := measure(ctx, servers[i], o, kind.sdk, kind.batch, d)
				if err != nil {
					return fmt.Errorf("%s: %w", servers[i].name, err)
				}
				if round > 0 {
					for j := range pair {
						results[i][j] = append(results[i][j], pair[j])
					}
				}
			}
		}
		for j, what := range []string{"send", "receive and delete"} {
			fmt.Printf("| %s, %s | %s", what, kind.name, spread(results[0][j]))
			for _, other := range results[1:] {
				ratio := medianRate(results[0][j]) / medianRate(other[j])
				fmt.Printf(" | %s | **%.1f ×**", spread(other[j]), ratio)
				if ratio < kind.bound {
					missed = append(missed, fmt.Errorf("%s, %s: %.1f × of ElasticMQ's rate, the bound is %.0f ×", what, kind.name, ratio, kind.bound))
				}
			}
			fmt.Print(" |")
			for i := range results {
				fmt.Printf(" %s", micros(results[i][j], func(r rate) time.Duration { return r.server }))
			}
			fmt.Print(" |")
			for i := range results {
				fmt.Printf(" %s", micros(results[i][j], func(r rate) time.Duration { return r.client }))
			}
			fmt.Println(" |")
		}
	}
	return errors.Join(missed...)
}

// measure sends for the duration to a new queue, and then takes out what is in
// it, for as long.
func measure(ctx context.Context, s *process, o options, sdk bool, batch int, d time.Duration) (pair [2]rate, err error) {
	queue, remove, err := newQueue(s.url)
	if err != nil {
		return pair, err
	}
	clients, hangUp, err := connect(ctx, s, queue, o.connections, o.body, sdk)
	if err != nil {
		return pair, err
	}
	defer hangUp()
	for j, do := range []work{sending(batch), taking(batch)} {
		server, client := cpuTime(s.pid), ownCPUTime()
		n, took, err := load(ctx, clients, d, do)
		if err != nil {
			return pair, err
		}
		if n == 0 {
			return pair, errors.New("no message came through")
		}
		pair[j] = rate{float64(n) / took.Seconds(), each(cpuTime(s.pid), server, n), each(ownCPUTime(), client, n)}
	}
	return pair, remove()
}

// connect opens the connections, and returns what closes them.
func connect(ctx context.Context, s *process, queue string, n, body int, sdk bool) (clients []client, hangUp func(), err error) {
	hangUp = func() {
		for _, c := range clients {
			c.close()
		}
	}
	for range n {
		if sdk {
			clients = append(clients, newSDK(ctx, s.url, queue, body))
			continue
		}
		c, err := newLean(s.url, queue, body)
		if err != nil {
			hangUp()
			return nil, nil, err
		}
		clients = append(clients, c)
	}
	return clients, hangUp, nil
}

// each is the CPU time between two readings by message.
func each(after, before time.Duration, n int) time.Duration {
	if after < 0 || before < 0 {
		return -1
	}
	return (after - before) / time.Duration(n)
}

func medianRate(rates []rate) float64 {
	var all []float64
	for _, r := range rates {
		all = append(all, r.perSecond)
	}
	return median(all)
}

func median(all []float64) float64 {
	slices.Sort(all)
	n := len(all)
	return (all[(n-1)/2] + all[n/2]) / 2
}

func spread(rates []rate) string {
	least := slices.MinFunc(rates, func(a, b rate) int { return int(a.perSecond - b.perSecond) })
	most := slices.MaxFunc(rates, func(a, b rate) int { return int(a.perSecond - b.perSecond) })
	return fmt.Sprintf("%.0f (%.0f to %.0f)", medianRate(rates), least.perSecond, most.perSecond)
}

func micros(rates []rate, of func(rate) time.Duration) string {
	var all []float64
	for _, r := range rates {
		if of(r) < 0 {
			return "?"
		}
		all = append(all, float64(of(r))/float64(time.Microsecond))
	}
	return fmt.Sprintf("%.1f", median(all))
}

func repeat(text string, n int) (out string) {
	for range n {
		out += text
	}
	return out
}
