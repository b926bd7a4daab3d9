package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"sync"
	"time"

	"github.com/Shopify/toxiproxy/v2"
	"github.com/rs/zerolog"

	"github.com/sqsbatch/sqsbatch/test/internal/must"
)

type fault struct {
	kind     kind
	slot     int // -1: all
	from, to time.Time
	detail   string
}

// faultLog has the faults that were, and are.
type faultLog struct {
	mu   sync.Mutex
	list []*fault
}

func (l *faultLog) begin(k kind, slot int, detail string) *fault {
	l.mu.Lock()
	defer l.mu.Unlock()
	f := &fault{kind: k, slot: slot, from: time.Now(), detail: detail}
	l.list = append(l.list, f)
	return f
}

func (l *faultLog) end(f *fault) {
	l.mu.Lock()
	defer l.mu.Unlock()
	f.to = time.Now()
}

// struck counts the faults that were.
func (l *faultLog) struck() map[string]int {
	struck := map[string]int{}
	for _, f := range l.list {
		struck[string(f.kind)]++
	}
	return struck
}

// saboteur makes faults happen, on two slots at most: so the run gets on.
type saboteur struct {
	fleet  *fleet
	server *server
	log    *faultLog

	free   chan int // slots that may be struck
	sender bool     // network faults strike package sender too
	atOnce chan struct{}
	going  sync.WaitGroup
	one    sync.Mutex // of the faults of package sender's network
	failed chan error
}

func newSaboteur(f *fleet, s *server, log *faultLog, sender bool) *saboteur {
	b := &saboteur{sender: sender, fleet: f, server: s, log: log, free: make(chan int, slots), atOnce: make(chan struct{}, 2), failed: make(chan error, 1)}
	for i := range slots {
		b.free <- i
	}
	return b
}

// strike begins a fault once there is a slot for it, and returns meanwhile.
func (b *saboteur) strike(k kind, random *rand.Rand) {
	b.atOnce <- struct{}{}
	slot := <-b.free
	random = rand.New(rand.NewPCG(random.Uint64(), 0))
	b.going.Go(func() {
		defer func() { b.free <- slot; <-b.atOnce }()
		b.note(b.run(k, slot, random))
	})
	if b.sender && k != kill && k != term && k != restart && b.one.TryLock() {
		random := rand.New(rand.NewPCG(random.Uint64(), 1))
		b.going.Go(func() {
			defer b.one.Unlock()
			b.note(b.run(k, senderSlot, random))
		})
	}
}

func (b *saboteur) note(err error) {
	if err == nil {
		return
	}
	select {
	case b.failed <- err:
	default:
	}
}

func (b *saboteur) run(k kind, slot int, random *rand.Rand) error {
	between := func(least, most time.Duration) time.Duration {
		return least + time.Duration(random.Int64N(int64(most-least)))
	}
	switch k {
	case kill, term:
		f := b.log.begin(k, slot, "")
		visibility := b.fleet.stop(slot, k).visibility
		b.log.end(f)
		time.Sleep(between(0, time.Second))
		return b.fleet.start(slot, visibility)
	case restart:
		return b.during(k, -1, "", func() error { b.server.shut(); return nil }, between(500*time.Millisecond, 3*time.Second), b.server.open)
	}
	network := b.fleet.networks[slot]
	if k == refused {
		return b.during(k, slot, "", network.refuse, between(500*time.Millisecond, 4*time.Second), network.accept)
	}
	list, lasts := toxics(k, random), between(time.Second, 4*time.Second)
	if k == hangAsk || k == hangTell {
		lasts = between(time.Second, 9*time.Second) // longer than a visibility timeout, at times
	}
	return b.during(k, slot, fmt.Sprint(list), func() error { return network.begin(list) }, lasts, network.end)
}

// during has a fault begin and end, and notes its time.
func (b *saboteur) during(k kind, slot int, detail string, begin func() error, lasts time.Duration, end func() error) error {
	f := b.log.begin(k, slot, detail)
	defer b.log.end(f)
	if err := begin(); err != nil {
		return err
	}
	time.Sleep(lasts)
	return end()
}

// toxic is what toxiproxy is asked for.
type toxic struct {
	name, stream string
	attributes   map[string]int
}

func toxics(k kind, random *rand.Rand) []toxic {
	const ask, tell = "upstream", "downstream"
	switch k {
	case latency: // on the whole way 50 to 500 ms
		a := map[string]int{"latency": 25 + random.IntN(225), "jitter": 20}
		return []toxic{{"latency", ask, a}, {"latency", tell, a}}
	case bandwidth:
		a := map[string]int{"rate": 10 + random.IntN(90)} // KB/s
		return []toxic{{"bandwidth", ask, a}, {"bandwidth", tell, a}}
	case slicer:
		a := map[string]int{"average_size": 64, "size_variation": 32, "delay": 500}
		return []toxic{{"slicer", ask, a}, {"slicer", tell, a}}
	case reset:
		return []toxic{{"reset_peer", tell, map[string]int{"timeout": random.IntN(200)}}}
	case hangAsk:
		return []toxic{{"timeout", ask, map[string]int{"timeout": 0}}}
	case hangTell:
		return []toxic{{"timeout", tell, map[string]int{"timeout": 0}}}
	case cut: // after so many bytes of a connection's answers
		return []toxic{{"limit_data", tell, map[string]int{"bytes": 100 + random.IntN(20_000)}}}
	}
	panic("no toxic for " + k) // cannot happen
}

// network is the way from one slot's worker to the server: toxiproxy.
type network struct {
	proxy *toxiproxy.Proxy
	added []string
}

func newNetwork(slot int, upstream string) (*network, error) {
	zerolog.SetGlobalLevel(zerolog.Disabled)
	server := toxiproxy.NewServer(toxiproxy.NewMetricsContainer(nil), zerolog.Nop())
	p := toxiproxy.NewProxy(server, fmt.Sprintf("slot %d", slot), "127.0.0.1:0", upstream)
	if err := p.Start(); err != nil {
		return nil, fmt.Errorf("proxy of slot %d: %w", slot, err)
	}
	return &network{proxy: p}, nil
}

func (n *network) address() string { return n.proxy.Listen }

// begin adds toxics to what the worker sends (upstream) or gets (downstream).
func (n *network) begin(list []toxic) (err error) {
	defer must.Return(&err)
	for _, t := range list {
		name := t.name + t.stream
		text := must.Get(json.Marshal(map[string]any{"name": name, "type": t.name, "stream": t.stream, "attributes": t.attributes}))
		if _, err := n.proxy.Toxics.AddToxicJson(bytes.NewReader(text)); err != nil {
			return fmt.Errorf("toxic %s: %w", text, err)
		}
		n.added = append(n.added, name)
	}
	return nil
}

// end makes it good again.
func (n *network) end() error {
	for _, name := range n.added {
		if err := n.proxy.Toxics.RemoveToxic(context.Background(), name); err != nil {
			return fmt.Errorf("toxic %s: %w", name, err)
		}
	}
	n.added = nil
	return nil
}

// refuse closes the port and all connections; accept opens it again.
func (n *network) refuse() error { n.proxy.Stop(); return nil }

func (n *network) accept() error { return n.proxy.Start() }
