package main

import (
	"io"
	"net/http"
	"time"
)

// looked counts the stops after which the queues were looked at.
type looked struct {
	stops, slow int // slow: stops on a machine that was too slow to tell
	late        int // messages whose answer may have come too late, then
}

// prompt is what a round trip may take for a stop to be judged by: a worker that
// stops gives an open receive 200 ms to be answered.
const prompt = 100 * time.Millisecond

// stopAndLook stops a worker by SIGTERM, where nothing else goes wrong. What it
// was given and is not done with must be visible the moment it has ended, or in
// its backoff, which is sent in whole seconds.
//
// An answer that is under way for longer than the worker waits for it brings
// messages that no worker has. So when the machine was slow, by its own measure,
// messages that came last and that the worker never spoke of say nothing. Nor do
// those that became visible at the very moment at which it gave its receives up.
func (r *run) stopAndLook(slot int) {
	over, slowest := make(chan struct{}), make(chan time.Duration)
	go func() { slowest <- roundTrips("http://"+r.fleet.networks[slot].address(), over) }()
	f := r.faults.begin(term, slot, "")
	p := r.fleet.stop(slot, term)
	r.faults.end(f)
	close(over)
	slow := max(<-slowest, longestStall(p.diary, p.signaled.Add(-time.Second))) > prompt
	r.looked.stops++
	if slow {
		r.looked.slow++
	}
	if r.guarded {
		return // a record whose work is in progress is hidden, as it should be
	}
	for _, n := range r.ledger.stranded(p.index, p.ended.Add(backoff+time.Second)) {
		if (slow || r.ledger.crossed(n, p.index)) && r.ledger.neverNamed(n, p.signaled.Add(-time.Second)) {
			r.looked.late++
			continue
		}
		r.violations.add("message %d is stranded: %v had it, has ended, and it stays hidden%s%s", n, p, r.timeline(n), r.lastCalls(p))
	}
}

// crossing is how close a delivery and a receive's end may be to have crossed.
const crossing = 10 * time.Millisecond

// crossed reports whether a message was delivered while its process gave up its
// receives, and not released by it: no stop can prevent that.
func (l *ledger) crossed(n, process int) (crossed bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	at := l.deliveries[l.messages[n].last].at
	for i := range l.calls {
		c := &l.calls[i]
		if c.process != process {
			continue
		}
		if c.trouble == "client gone" && c.operation == "ReceiveMessage" && at.Sub(c.ended).Abs() <= crossing {
			crossed = true
		}
		for _, e := range c.entries {
			if e.n == n && e.seconds == 0 && c.operation == "ChangeMessageVisibilityBatch" && at.Sub(c.began).Abs() < time.Second {
				return false
			}
		}
	}
	return crossed
}

// roundTrips asks the server every 10 ms, and returns the slowest answer's time.
func roundTrips(url string, over <-chan struct{}) (slowest time.Duration) {
	client := &http.Client{Transport: &http.Transport{}}
	defer client.CloseIdleConnections()
	for {
		began := time.Now()
		if answer, err := client.Get(url); err == nil {
			_, _ = io.Copy(io.Discard, answer.Body)
			_ = answer.Body.Close()
		}
		slowest = max(slowest, time.Since(began))
		select {
		case <-over:
			return slowest
		case <-time.After(10 * time.Millisecond):
			slowest = max(slowest, time.Since(began)-10*time.Millisecond)
		}
	}
}

// neverNamed reports whether no call named a message's latest delivery, after a time.
func (l *ledger) neverNamed(n int, after time.Time) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	at := l.deliveries[l.messages[n].last].at
	if at.Before(after) {
		return false
	}
	for i := range l.calls {
		for _, e := range l.calls[i].entries {
			if e.n == n && l.calls[i].began.After(at) {
				return false
			}
		}
	}
	return true
}
