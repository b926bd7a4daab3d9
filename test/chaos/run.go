package main

import (
	"context"
	"fmt"
	"math/rand/v2"
	"net/http"
	"sync"
	"time"

	"github.com/sqsbatch/sqsbatch/internal/sleep"
	"github.com/sqsbatch/sqsbatch/test/internal/must"
)

// Visibility timeouts: a long one where no process is killed, so that what is stranded
// shows; a short one where it is what a kill costs.
const (
	longVisibility  = 30 * time.Second
	shortVisibility = 5 * time.Second
)

// long is the visibility timeout where no process is killed. A record whose work is in progress
// comes back when that claim ends, which is then.
func (r *run) long() time.Duration {
	if r.guarded {
		return 2 * shortVisibility
	}
	return longVisibility
}

// patience is how long nothing at all may be finished before the run gives up.
const patience = 90 * time.Second

type run struct {
	options
	orders     []order
	ledger     *ledger
	server     *server
	fleet      *fleet
	faults     faultLog
	violations violations
	sending    *sending              // nil without -sender
	began      [phases + 1]time.Time // of the phases, and the end
	looked     looked

	stalling  sync.Mutex
	standing  []diaryLine  // stalls of this process, up to now
	stalls    []diaryLine  // the same when the run was over
	handlings [][]handling // by message; see readDiaries
	slept     map[*process][]diaryLine
}

func (r *run) play(ctx context.Context) {
	random := rand.New(rand.NewPCG(r.seed, 1))
	r.began[calm] = time.Now()
	// What phase A costs is counted, so its queue is full when it begins.
	r.send(ctx, r.of(calm))
	if r.sending != nil {
		must.Do(r.sending.flush(ctx))
	}
	r.startAll(r.long())
	r.finish(ctx, calm)
	r.began[stops] = time.Now()
	r.phaseStops(ctx)
	for slot := range slots {
		r.stopAndLook(slot)
	}
	r.began[everything] = time.Now()
	r.startAll(shortVisibility)
	r.phaseEverything(ctx, random)
	r.began[phases] = time.Now()
	for slot := range slots {
		r.stopAndLook(slot)
	}
}

func (r *run) of(phase int) []order {
	return r.orders[first(phase, r.messages):first(phase+1, r.messages)]
}

func (r *run) startAll(visibility time.Duration) {
	for slot := range slots {
		must.Do(r.fleet.start(slot, visibility))
	}
}

// phaseStops stops the workers in turn, every fourth time all of them.
func (r *run) phaseStops(ctx context.Context) {
	r.send(ctx, r.of(stops))
	count := len(r.of(stops))
	for i := 0; i < r.stopsWanted; {
		r.reach(ctx, stops, count*(i+1)/(r.stopsWanted+1))
		list := []int{i % slots}
		if i%4 == 3 {
			list = []int{0, 1, 2}
		}
		for _, slot := range list {
			r.stopAndLook(slot)
		}
		for _, slot := range list {
			must.Do(r.fleet.start(slot, r.long()))
		}
		i += len(list)
	}
	r.finish(ctx, stops)
}

// phaseEverything sends while faults strike, each when a share of the phase is
// done, on any machine. After every tenth part the queues run nearly empty, so that
// faults meet waiting consumers.
func (r *run) phaseEverything(ctx context.Context, random *rand.Rand) {
	must.Do(r.server.misbehave())
	if r.sending != nil {
		must.Do(r.server.misbehaveToSenders())
	}
	list, count := makeFaults(r.faultsWanted, random), len(r.of(everything))
	saboteur := newSaboteur(r.fleet, r.server, &r.faults, r.sending != nil)
	defer saboteur.going.Wait()
	sent := make(chan error, 1)
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	go func() { sent <- must.Run(func() { r.feed(ctx, r.of(everything)) }) }()
	for i, k := range list {
		r.reach(ctx, everything, count*i/len(list))
		saboteur.strike(k, random)
	}
	must.Do(<-sent)
	saboteur.going.Wait()
	select {
	case err := <-saboteur.failed:
		must.Do(err)
	default:
	}
	r.server.state.ClearFaults()
	if r.sending != nil {
		must.Do(r.sending.close(ctx))
		r.finishCopies(ctx)
	}
	r.finish(ctx, everything)
}

// feed sends the last phase's orders, with no more than backlog of them undone.
func (r *run) feed(ctx context.Context, orders []order) {
	const backlog, part, nearlyEmpty = 4000, 100, 200
	lulls := 10
	if len(orders) < 20_000 {
		lulls = 2
	}
	for at := 0; at < len(orders); at += part {
		most := at - backlog
		if lull := len(orders) / lulls; at > 0 && at/lull != (at-part)/lull {
			most = at - nearlyEmpty
		}
		r.reach(ctx, everything, most)
		r.send(ctx, orders[at:min(at+part, len(orders))])
	}
}

// send sends orders by the driver's own client, which meets no faults, or by package sender.
func (r *run) send(ctx context.Context, orders []order) {
	if r.sending != nil {
		must.Do(r.sending.send(ctx, orders))
		return
	}
	must.Do(r.server.send(ctx, orders, mainQueues))
}

// finish waits until all of a phase is done.
func (r *run) finish(ctx context.Context, phase int) {
	r.reach(ctx, phase, len(r.of(phase)))
}

// reach waits until so many messages of a phase are done.
func (r *run) reach(ctx context.Context, phase, count int) {
	began := time.Now()
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for {
		n, last := r.ledger.finished(phase)
		if n >= count {
			return
		}
		if time.Since(last) > patience && time.Since(began) > patience {
			left := r.ledger.left(phase)
			text := ""
			for _, n := range left[:min(len(left), 3)] {
				text += r.timeline(n)
			}
			r.violations.add("%s: nothing was finished for %v, and %d messages are not, %v at first%s", phaseNames[phase], patience, len(left), left[:min(len(left), 20)], text)
			must.Do(errStuck)
		}
		select {
		case <-ctx.Done():
			must.Do(ctx.Err())
		case <-tick.C:
		}
	}
}

var errStuck = fmt.Errorf("the run is stuck")

// watchHealth asks every worker whether it lives. No fault is a reason for a no.
func (r *run) watchHealth(ctx context.Context) {
	client := &http.Client{Timeout: 5 * time.Second}
	for sleep.For(ctx, time.Second) {
		for _, p := range r.fleet.running() {
			answer, err := client.Get("http://" + p.health + "/livez")
			if err != nil {
				continue // it starts, or ends
			}
			_ = answer.Body.Close()
			if answer.StatusCode != http.StatusOK {
				r.violations.add("%v answers /livez with %s: %s", p, answer.Status, p.tail())
			}
		}
	}
}

// stalled notes that this machine did not run the driver for a while.
func (r *run) stalled(at time.Time, lasted time.Duration) {
	r.stalling.Lock()
	defer r.stalling.Unlock()
	r.standing = append(r.standing, diaryLine{Kind: lineStall, At: at, Lasted: lasted})
}
