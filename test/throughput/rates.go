package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	awssqs "github.com/aws/aws-sdk-go-v2/service/sqs"
	"github.com/sqsbatch/sqsbatch/test/internal/harness"
	"golang.org/x/sync/errgroup"
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
func compareRates(ctx context.Context, o options) error {
	starters := []func(context.Context) (*server, error){startEmulator}
	if o.elasticmq {
		starters = append(starters, startElasticMQ)
	}
	var servers []*server
	for _, start := range starters {
		s, err := start(ctx)
		if err != nil {
			return err
		}
		defer s.stop()
		servers = append(servers, s)
	}
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
				pair, err := measure(ctx, servers[i], kind.batch, d)
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

// measure sends for the duration to a new queue, and then receives for as long. It returns
// the messages a second of both.
func measure(ctx context.Context, s *server, batch int, d time.Duration) (pair [2]float64, err error) {
	err = onQueue(ctx, s, func(clients []*client) (err error) {
		if pair[0], err = load(ctx, clients, d, func(c *client) (int, error) { return batch, c.send(batch) }); err != nil {
			return err
		}
		if pair[1], err = load(ctx, clients, d, func(c *client) (int, error) { return c.take(batch) }); err == nil && pair[0]*pair[1] == 0 {
			err = errors.New("no message came through")
		}
		return err
	})
	return pair, err
}

// warm makes batch calls for the time of the warm-up.
func warm(ctx context.Context, s *server, o options) error {
	return onQueue(ctx, s, func(clients []*client) error {
		_, err := load(ctx, clients, o.warmup, func(c *client) (int, error) {
			if err := c.send(10); err != nil {
				return 0, err
			}
			return c.take(10)
		})
		return err
	})
}

func median(all []float64) float64 {
	slices.Sort(all)
	n := len(all)
	return (all[(n-1)/2] + all[n/2]) / 2
}

func spread(rates []float64) string {
	return fmt.Sprintf("%.0f (%.0f to %.0f)", median(rates), slices.Min(rates), slices.Max(rates))
}

// onQueue opens the connections to a queue that lasts as long as do takes.
func onQueue(ctx context.Context, s *server, do func([]*client) error) error {
	admin := harness.SQSClient(s.url)
	queues++ // a deleted queue's name may not be used again within a minute
	queue, err := harness.MakeQueue(ctx, admin, fmt.Sprintf("q%d", queues), map[string]string{"VisibilityTimeout": "600"})
	if err != nil {
		return err
	}
	var clients []*client
	for range connections {
		c, err := newClient(s.url, queue, body)
		if err != nil {
			return err
		}
		defer c.close()
		clients = append(clients, c)
	}
	if err := do(clients); err != nil {
		return err
	}
	_, err = admin.DeleteQueue(ctx, &awssqs.DeleteQueueInput{QueueUrl: &queue})
	return err
}

var queues int

// load has all clients work side by side for that long, and returns the messages a second
// until the last one had finished. work is one call, or a receive with its delete; it returns
// how many messages it was about, and with 0 its client ends.
func load(ctx context.Context, clients []*client, d time.Duration, work func(*client) (int, error)) (rate float64, err error) {
	var total atomic.Int64
	var group errgroup.Group
	began := time.Now()
	for _, c := range clients {
		group.Go(func() error {
			for time.Since(began) < d && ctx.Err() == nil {
				n, err := work(c)
				if n == 0 || err != nil {
					return err
				}
				total.Add(int64(n))
			}
			return ctx.Err()
		})
	}
	err = group.Wait()
	return float64(total.Load()) / time.Since(began).Seconds(), err
}
