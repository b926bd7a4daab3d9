package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	awssqs "github.com/aws/aws-sdk-go-v2/service/sqs"
	"github.com/sqsbatch/sqsbatch/test/internal/sqsqueue"
)

// bound is how many times ElasticMQ's rate the emulator's must be.
const bound = 4.0

// kinds are what is measured.
var kinds = []struct {
	name  string
	batch int
	bound float64 // 0: none
}{
	{"batch of 10", 10, bound},
	{"single messages", 1, 0},
}

// compareRates measures all in turns. The error says which bounds were missed.
func compareRates(ctx context.Context, o options, starters []starter) error {
	servers, stop, err := startAll(ctx, starters)
	if err != nil {
		return err
	}
	defer stop()
	fmt.Printf("\n%d connections, bodies of %d bytes; %v of warm-up for each server and %v for each line, then medians of %d rounds of %v (least to most)\n\n",
		connections, body, o.warmup, 2*o.duration, o.rounds, o.duration)
	for _, s := range servers {
		if err := warm(ctx, s, o); err != nil {
			return fmt.Errorf("%s: %w", s.name, err)
		}
	}
	fmt.Printf("| | messages/s: %s", servers[0].name)
	for _, s := range servers[1:] {
		fmt.Printf(" | %s | ratio", s.name)
	}
	fmt.Printf(" |\n| --- |%s\n", strings.Repeat(" --- |", 2*len(servers)-1))
	var missed []error
	for _, kind := range kinds {
		results := make([][2][]float64, len(servers)) // messages a second, by server; sends, then receives with deletes
		for round := range o.rounds + 1 {             // the first is the warm-up
			for turn := range servers {
				i := (turn + round) % len(servers) // who begins changes
				d := o.duration
				if round == 0 {
					d *= 2
				}
				pair, err := measure(ctx, servers[i], o, kind.batch, d)
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
				ratio := median(results[0][j]) / median(other[j])
				fmt.Printf(" | %s | **%.1f ×**", spread(other[j]), ratio)
				if ratio < kind.bound {
					missed = append(missed, fmt.Errorf("%s, %s: %.1f × of ElasticMQ's rate, the bound is %.0f ×", what, kind.name, ratio, kind.bound))
				}
			}
			fmt.Println(" |")
		}
	}
	return errors.Join(missed...)
}

// measure sends for the duration to a new queue, and then receives for as long.
func measure(ctx context.Context, s *process, o options, batch int, d time.Duration) (pair [2]float64, err error) {
	queue, remove, err := newQueue(ctx, s.url)
	if err != nil {
		return pair, err
	}
	clients, hangUp, err := connect(s, queue)
	if err != nil {
		return pair, err
	}
	defer hangUp()
	for j, do := range []work{sending(batch), taking(batch)} {
		n, took, err := load(ctx, clients, d, do)
		if err != nil {
			return pair, err
		}
		if n == 0 {
			return pair, errors.New("no message came through")
		}
		pair[j] = float64(n) / took.Seconds()
	}
	return pair, remove()
}

// warm makes batch calls for the time of the warm-up, on a queue that is deleted again.
func warm(ctx context.Context, s *process, o options) error {
	queue, remove, err := newQueue(ctx, s.url)
	if err != nil {
		return err
	}
	clients, hangUp, err := connect(s, queue)
	if err != nil {
		return err
	}
	defer hangUp()
	_, _, err = load(ctx, clients, o.warmup, func(c *client) (int, error) {
		if err := c.send(10); err != nil {
			return 0, err
		}
		return c.take(10)
	})
	return errors.Join(err, remove())
}

// connect opens the connections, and returns what closes them.
func connect(s *process, queue string) (clients []*client, hangUp func(), err error) {
	hangUp = func() {
		for _, c := range clients {
			c.close()
		}
	}
	for range connections {
		c, err := newClient(s.url, queue, body)
		if err != nil {
			hangUp()
			return nil, nil, err
		}
		clients = append(clients, c)
	}
	return clients, hangUp, nil
}

func median(all []float64) float64 {
	slices.Sort(all)
	n := len(all)
	return (all[(n-1)/2] + all[n/2]) / 2
}

func spread(rates []float64) string {
	return fmt.Sprintf("%.0f (%.0f to %.0f)", median(rates), slices.Min(rates), slices.Max(rates))
}

// newQueue makes a queue for one measurement, and a function that deletes it.
func newQueue(ctx context.Context, url string) (queue string, remove func() error, err error) {
	client := sqsqueue.Client(url)
	name := fmt.Sprintf("q%d", queues.Add(1)) // a deleted queue's name may not be used again within a minute
	queue, err = sqsqueue.Make(ctx, client, name, map[string]string{"VisibilityTimeout": "600"})
	return queue, func() error {
		_, err := client.DeleteQueue(ctx, &awssqs.DeleteQueueInput{QueueUrl: &queue})
		return err
	}, err
}

var queues atomic.Int64

// work is one call, or a receive with its delete; n is how many messages it was
// about, and 0 ends the measurement of that connection.
type work func(*client) (n int, err error)

func sending(batch int) work {
	return func(c *client) (int, error) { return batch, c.send(batch) }
}

func taking(batch int) work {
	return func(c *client) (int, error) { return c.take(batch) }
}

// load has all clients do the work side by side for that long, and returns how
// many messages it was about and the time until the last client had finished.
func load(ctx context.Context, clients []*client, d time.Duration, do work) (messages int, took time.Duration, err error) {
	var total atomic.Int64
	errs := make([]error, len(clients))
	var group sync.WaitGroup
	began := time.Now()
	for i, c := range clients {
		group.Go(func() {
			for time.Since(began) < d && ctx.Err() == nil {
				n, err := do(c)
				if err != nil {
					errs[i] = err
					return
				}
				if n == 0 {
					return
				}
				total.Add(int64(n))
			}
		})
	}
	group.Wait()
	return int(total.Load()), time.Since(began), errors.Join(append(errs, ctx.Err())...)
}
