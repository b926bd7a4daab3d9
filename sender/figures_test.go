package sender_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/sqsbatch/sqsbatch/sender"
)

// What the sender costs, in virtual time: messages come at random moments, a call takes 5 ms,
// and the linger is 5 ms. `go run . send` of test/gocloud measures the same over sockets, with opponents.
func TestFigures(t *testing.T) {
	const call, linger = 5 * time.Millisecond, 5 * time.Millisecond
	for _, c := range []struct {
		name     string
		fifo     bool
		rate     int // messages a second; 0 for 1,000 callers that send one after another
		entries  float64
		slowest  time.Duration // of 99 % of Send
		requests float64
	}{
		{name: "500/s", rate: 500, slowest: linger + 3*call/2},
		{name: "5,000/s", rate: 5000, entries: 9.5, slowest: linger + 3*call/2},
		{name: "full load", requests: 0.105},
		{name: "FIFO, 500/s", fifo: true, rate: 500, slowest: linger + 3*call/2},
		{name: "FIFO, 5,000/s", fifo: true, rate: 5000, entries: 9.5, slowest: linger + 3*call/2},
		{name: "FIFO, full load", fifo: true, requests: 0.105},
	} {
		t.Run(c.name, func(t *testing.T) {
			inWorld(t, c.fifo, func(w *world) {
				w.slow(call)
				f := &figures{s: w.sender(sender.Config{Linger: linger}), fifo: c.fifo}
				if c.rate > 0 {
					f.atRate(c.rate)
				} else {
					f.full()
				}
				f.s.Close(w.Context())
				calls := len(w.server.Calls("SendMessageBatch"))
				entries := float64(len(f.waits)) / float64(calls)
				slices.Sort(f.waits)
				p99 := f.waits[len(f.waits)*99/100]
				w.Logf("%d messages, %.2f a call, %.3f requests a message, p50 %v, p99 %v", len(f.waits), entries, 1/entries, f.waits[len(f.waits)/2], p99)
				if entries < c.entries || c.requests > 0 && 1/entries > c.requests || c.slowest > 0 && p99 > c.slowest {
					w.Errorf("want %v messages a call, %v requests a message, p99 %v", c.entries, c.requests, c.slowest)
				}
			})
		})
	}
}

type figures struct {
	s    *sender.Sender
	fifo bool

	mu    sync.Mutex
	waits []time.Duration
}

const figureGroups = 1000

func (f *figures) send(i int) {
	m := sender.Text("an order")
	if f.fifo {
		m.Group = fmt.Sprint("group-", i%figureGroups)
	}
	began := time.Now()
	if err := f.s.Send(context.Background(), m); err != nil {
		panic(err) // cannot happen: nothing fails here
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.waits = append(f.waits, time.Since(began))
}

// atRate sends for two seconds, after random pauses (a Poisson process).
func (f *figures) atRate(rate int) {
	r := rand.New(rand.NewPCG(1, 0))
	var all sync.WaitGroup
	for i := range 2 * rate {
		time.Sleep(time.Duration(r.ExpFloat64() * float64(time.Second) / float64(rate)))
		all.Go(func() { f.send(i) })
	}
	all.Wait()
}

func (f *figures) full() {
	var all sync.WaitGroup
	for i := range figureGroups {
		all.Go(func() {
			for range 10 {
				f.send(i)
			}
		})
	}
	all.Wait()
}
