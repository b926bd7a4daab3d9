package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/sqsbatch/sqsbatch/emulator/sqs"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// Relays are killed at random places, and others take over, while calls fail and answers are
// lost. Nothing is lost, every customer's messages are in order, and none is there twice.
func TestRelay_IsKilledAtRandomPlaces(t *testing.T) {
	kills := 0
	for seed := range uint64(30) {
		inWorld(t, func(w *world) {
			kills += w.killAtRandom(seed)
			w.requireAllInOrder()
			if w.Failed() {
				w.Fatalf("seed %d", seed)
			}
		})
	}
	t.Logf("%d kills", kills)
}

func (w *world) killAtRandom(seed uint64) (kills int) {
	r := rand.New(rand.NewPCG(seed, 0))
	if err := w.server.Inject(
		sqs.Fault{Kind: sqs.LostAnswer, Operation: "SendMessageBatch", Probability: 0.1},
		sqs.Fault{Kind: sqs.EntryFailure, Operation: "SendMessageBatch", Probability: 0.1},
		sqs.Fault{Kind: sqs.Latency, Operation: "SendMessageBatch", Latency: 20 * time.Millisecond},
	); err != nil {
		w.Fatal(err)
	}
	steps := func() int { return 1 + r.IntN(60) } // until a kill
	running := [2]*process{w.start("relay 0", steps()), w.start("relay 1", steps())}
	for n := range 60 {
		w.place(fmt.Sprint("customer-", r.IntN(5)), n)
		time.Sleep(time.Duration(r.IntN(3000)) * time.Millisecond)
		for i, p := range running {
			if p.life.check() != nil {
				kills++
				<-p.ended
				running[i] = w.start(fmt.Sprint("relay ", n, " ", i), steps())
			}
		}
	}
	for _, p := range running {
		p.life.left.Store(0) // they live on
	}
	w.waitForEmpty()
	for _, p := range running {
		p.stop()
	}
	return kills
}

// waitForEmpty waits until the relays have sent everything.
func (w *world) waitForEmpty() {
	w.Helper()
	for limit := time.Now().Add(4 * time.Minute); w.left() > 0; time.Sleep(time.Second) {
		if time.Now().After(limit) {
			w.Fatalf("%d messages are left in the outbox", w.left())
		}
	}
}

// requireAllInOrder compares the queue with the orders.
func (w *world) requireAllInOrder() {
	w.Helper()
	copies, latest := map[int64]int{}, map[string]int64{}
	for _, m := range w.messages() {
		var o order
		if err := json.Unmarshal([]byte(m.Body), &o); err != nil {
			w.Fatal(err)
		}
		if copies[o.ID]++; copies[o.ID] > 1 {
			w.Errorf("order %d is there %d times", o.ID, copies[o.ID])
		}
		if o.ID <= latest[o.Customer] {
			w.Errorf("%s: order %d came after %d", o.Customer, o.ID, latest[o.Customer])
		}
		latest[o.Customer] = o.ID
	}
	var orders int
	if err := w.db.QueryRow(`SELECT count(*) FROM orders`).Scan(&orders); err != nil {
		w.Fatal(err)
	}
	if len(copies) != orders {
		w.Errorf("%d orders, and messages about %d", orders, len(copies))
	}
}

// A relay is killed after SQS has the message and before its row is deleted. What becomes of
// the row depends on when the next relay starts.
func TestRelay_KilledBetweenSendAndDelete(t *testing.T) {
	for later, want := range map[time.Duration]int{4 * time.Minute: 1, 6 * time.Minute: 2} {
		t.Run(later.String(), func(t *testing.T) {
			inWorld(t, func(w *world) {
				w.place("customer-1", 1)
				const steps = 2 + 1 + 2 // the lease, the page, the call and its answer
				p := w.start("first", steps)
				<-p.ended
				w.require(1, 1)
				time.Sleep(later)
				second := w.start("second", 0)
				w.waitForEmpty()
				second.stop()
				w.require(want, 0)
				for _, m := range w.messages() {
					if m.DeduplicationID != "outbox-1" {
						w.Errorf("the deduplication id is %q", m.DeduplicationID)
					}
				}
			})
		})
	}
}

// Of two relays only the one with the lease sends. When it stops, the other one goes on at
// once; when it is killed, after the lease.
func TestRelay_OneAtATime(t *testing.T) {
	for _, killed := range []bool{false, true} {
		inWorld(t, func(w *world) {
			first := w.start("first", 0)
			time.Sleep(time.Second)
			second := w.start("second", 0)
			time.Sleep(time.Minute)
			if got := w.owner(); got != "first" {
				w.Errorf("%q has the lease", got)
			}
			if killed {
				first.life.left.Store(1)
			}
			first.cancel()
			<-first.ended
			began := time.Now()
			w.place("customer-1", 1)
			w.waitForEmpty()
			took := time.Since(began)
			if want := leaseTime; killed != (took > want/2) || took > want+5*time.Second {
				w.Errorf("killed %v: the second one took over after %v", killed, took)
			}
			second.stop()
		})
	}
}

func (w *world) owner() (name string) {
	w.Helper()
	if err := w.db.QueryRow(`SELECT owner FROM outbox_lease`).Scan(&name); err != nil {
		w.Fatal(err)
	}
	return name
}

// A stop finishes the round: what SQS has is deleted.
func TestRelay_Stop(t *testing.T) {
	inWorld(t, func(w *world) {
		if err := w.server.Inject(sqs.Fault{Kind: sqs.Latency, Operation: "SendMessageBatch", Latency: time.Second}); err != nil {
			w.Fatal(err)
		}
		w.place("customer-1", 1)
		w.place("customer-1", 2)
		p := w.start("first", 0)
		time.Sleep(500 * time.Millisecond)
		p.stop()
		w.require(1, 1)
	})
}

// A message that SQS never takes holds up its customer, and nobody else.
func TestRelay_BadMessageHoldsUpItsAggregate(t *testing.T) {
	inWorld(t, func(w *world) {
		w.place(strings.Repeat("c", 129), 1) // too long for a group
		w.place("customer-1", 2)
		p := w.start("first", 0)
		time.Sleep(time.Minute)
		p.stop()
		w.require(1, 1)
	})
}

// An order that is not stored has no message.
func TestPlaceOrder_BothOrNeither(t *testing.T) {
	inWorld(t, func(w *world) {
		ctx, cancel := context.WithCancel(w.Context())
		cancel()
		if err := placeOrder(ctx, w.db, order{Customer: "customer-1", Total: 1}); !errors.Is(err, context.Canceled) {
			w.Errorf("got %v", err)
		}
		w.require(0, 0)
	})
}
