package simulate

import (
	"time"

	"github.com/sqsbatch/sqsbatch/emulator/sqs"
)

// Replica is a place for one process at a time, as an orchestrator keeps it,
// that polls a queue by longpoll. What its handler does, its backoff, dead
// letters and limits are those of the queue's [Function]; of the function's
// other fields Timeout is only the scale of the times in the plan.
type Replica struct {
	Queue  int
	ByName bool // the poller is given the queue's name, not its URL
	Starts time.Duration

	// What follows is longpoll.Config's.
	Wait         time.Duration
	Prefetch     int
	Visibility   time.Duration
	NoHeartbeat  bool
	DrainLimit   time.Duration
	MaxAbandoned int

	// Lives are its processes, one after another; a last one follows that lives
	// until the history is over.
	Lives []Life
}

// Life is how a process ends, and what is asked of it before.
type Life struct {
	Lasts time.Duration // until its end, whatever How
	How   Ending
	// Of DiesBefore and DiesAfter: the process's call to SQS, from 0, of the operation
	// if there is one; the process dies at Lasts at the latest.
	Call      int
	Operation string
	// Patience is when the context of a Hurried shutdown ends.
	Patience time.Duration
	// Overlaps tells that the next process starts before this one has stopped.
	Overlaps bool
	Pauses   []Pause
}

// Pause is one call of Poller.Pause, and the call of Resume that follows.
type Pause struct{ At, For time.Duration }

// Ending is how a process comes to its end.
type Ending string

const (
	Shutdown   Ending = "shutdown"    // Poller.Shutdown
	Canceled   Ending = "context"     // the context of Poller.Run ends
	Hurried    Ending = "hurried"     // Poller.Shutdown with a context that ends
	Dies       Ending = "dies"        // the process ends at once
	DiesBefore Ending = "dies-before" // it ends instead of a call to SQS
	DiesAfter  Ending = "dies-after"  // it ends when SQS has answered, before it sees that
)

// Kills reports whether it is an end that the process does not notice.
func (e Ending) Kills() bool { return e == Dies || e == DiesBefore || e == DiesAfter }

// Polls tells which mode the plan is for: long poll, or Lambda.
func (p Plan) Polls() bool { return len(p.Replicas) > 0 }

// poll makes a plan one of the long-poll mode.
func (g generator) poll(p *Plan) {
	p.Kills = nil
	for i := range p.Functions {
		f := &p.Functions[i]
		f.Environments, f.PerEnvironment, f.ErrorIfAllFail, f.DeleteSucceeded, f.LogSucceeded = 0, 0, false, false, false
	}
	for i := range p.Queues {
		q := &p.Queues[i]
		q.BatchSize, q.Window, q.Concurrency, q.Report = 0, 0, 0, false
		for range 1 + g.weighted(5, 3, 2) {
			p.Replicas = append(p.Replicas, g.replica(i, q, p.Functions[q.Function]))
		}
	}
	if len(p.Breaks) > 0 && g.oneIn(2) {
		p.Breaks = append(p.Breaks, g.heartbeat(*p))
	}
	if g.oneIn(10) {
		f := sqs.Fault{Operation: "GetQueueUrl", Times: pick(g, 1, 3), Probability: pick(g, 0, 0.5)}
		g.kind(&f)
		p.Faults = append(p.Faults, f)
	}
}

func (g generator) replica(queue int, q *Queue, f Function) Replica {
	r := Replica{
		Queue:        queue,
		ByName:       g.oneIn(4),
		Starts:       sometimes(g, 2, time.Millisecond, time.Second, 20*time.Second),
		Wait:         sometimes(g, 3, time.Second, 5*time.Second),
		Prefetch:     sometimes(g, 2, -1, 1, 3, 20),
		Visibility:   sometimes(g, 2, 3*time.Second, 5*time.Second, 30*time.Second, 10*time.Minute),
		DrainLimit:   sometimes(g, 2, 100*time.Millisecond, f.Timeout/3, f.Timeout*2),
		MaxAbandoned: sometimes(g, 3, 1, 3),
	}
	if g.oneIn(4) {
		// What a record needs has to be less than the visibility: else nothing is ever
		// started. What it may have is no more: that is refused.
		r.NoHeartbeat = true
		q.Visibility = max(q.Visibility, 4*time.Second, 2*f.MinRemaining, (f.RecordTimeout + time.Second - 1).Truncate(time.Second))
		r.Visibility = sometimes(g, 2, max(4*time.Second, 2*f.Timeout), max(4*time.Second, 6*f.Timeout))
	}
	for range g.weighted(2, 3, 2, 1) {
		r.Lives = append(r.Lives, g.life(f))
	}
	return r
}

func (g generator) life(f Function) Life {
	l := Life{
		Lasts:    pick(g, 10*time.Millisecond, time.Second, 3*time.Second, 10*time.Second, 25*time.Second, time.Minute),
		How:      pick(g, Shutdown, Shutdown, Canceled, Hurried, Dies, DiesBefore, DiesAfter),
		Overlaps: g.oneIn(3),
	}
	// Ends fall together with what handlers do, or between.
	l.Lasts += pick(g, 0, 5*time.Millisecond, 20*time.Millisecond, f.Timeout/3)
	switch l.How {
	case Hurried:
		l.Patience = pick(g, 0, time.Millisecond, 100*time.Millisecond, 2*time.Second, f.Timeout)
	case DiesBefore, DiesAfter:
		l.Call = g.IntN(pick(g, 3, 10, 40))
		if g.oneIn(2) {
			l.Operation, l.Call, l.Lasts = pick(g, settling...), g.IntN(3), time.Minute
		}
	}
	if g.oneIn(3) {
		for range 1 + g.IntN(2) {
			l.Pauses = append(l.Pauses, Pause{
				At:  pick(g, 0, 10*time.Millisecond, time.Second, 3*time.Second, 8*time.Second),
				For: pick(g, 0, 50*time.Millisecond, time.Second, 10*time.Second, 30*time.Second),
			})
		}
	}
	return l
}
