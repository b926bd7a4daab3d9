package simulate

import (
	"context"
	"net/http"
	"sync"
	"sync/atomic"

	"github.com/sqsbatch/sqsbatch/batch"
	"github.com/sqsbatch/sqsbatch/longpoll"
	"github.com/sqsbatch/sqsbatch/partialfailure"
)

// process is one that polls a queue, with a poller, a handler and an SQS client
// of its own.
type process struct {
	driver  *onPoll
	rec     *recorder
	env     *environment
	poller  Poller
	planned atomic.Pointer[Life]
	is      *Process // its part of the history

	mu    sync.Mutex
	calls map[string]int // by operation, and all by ""
}

// Poller is a longpoll.Poller.
type Poller interface {
	Run(context.Context) error
	Shutdown(context.Context) error
	Pause()
	Resume()
	Status() longpoll.Status
}

// process makes the next process of a replica.
func (d *onPoll) process(replica int) (*process, error) {
	r := d.w.plan.Replicas[replica]
	q := d.w.plan.Queues[r.Queue]
	f := d.w.plan.Functions[q.Function]
	p := &process{
		driver: d, rec: d.w.rec,
		env:   &environment{rec: d.w.rec, dead: make(chan struct{})},
		calls: map[string]int{},
		is:    &Process{Replica: replica, Queue: q.Name, Finished: map[string]int{}},
	}
	p.env.process = p.is
	p.env.ctx, p.env.cut = context.WithCancel(context.Background())

	connect := d.w.connect(p.env, p.kills, d.mutant)
	cfg := r.config(d.w, f, q)
	cfg.SQS = d.w.client(&http.Client{Transport: connect})
	cfg.Engine.Hooks = []any{&hooks{recorder: d.w.rec, world: d.w, env: p.env, function: f}}
	p.is.limits(cfg, q)
	if d.mutant.Poll != nil {
		d.mutant.Poll(&cfg)
	}
	poller, err := longpoll.New(d.w.handler(f, p.env, d.mutant), cfg)
	if err != nil {
		return nil, err
	}
	if p.poller = poller; d.mutant.Poller != nil {
		p.poller = d.mutant.Poller(poller, p.env)
	}
	return p, nil
}

// begin notes that the process runs; the caller holds the recorder's lock.
func (p *process) begin() {
	p.is.Began = p.rec.moment()
	p.is.Number = len(p.rec.h.Processes)
	p.rec.h.Processes = append(p.rec.h.Processes, p.is)
}

func (p *process) healed() bool { return p.driver.w.healed.Load() }

// config is the replica's longpoll.Config, without hooks and client.
func (r Replica) config(w *world, f Function, q Queue) longpoll.Config {
	lambda := f.config(w)
	cfg := longpoll.Config{
		Queue: w.server.QueueURL(q.Name),
		Engine: batch.Config{
			Concurrency: f.Concurrency, Reserve: f.Reserve, RecordTimeout: f.RecordTimeout,
			Deadline: lambda.Deadline, MinRemaining: f.MinRemaining, Grace: f.Grace,
		},
		Failures: partialfailure.Config{
			Outage: lambda.Outage, Backoff: lambda.Backoff, DeadLetterQueue: lambda.DeadLetterQueue,
			MaxReceiveCount: f.MaxReceiveCount, OnPermanent: lambda.OnPermanent,
		},
		Wait: r.Wait, Prefetch: r.Prefetch, Visibility: r.Visibility, NoHeartbeat: r.NoHeartbeat,
		DrainLimit: r.DrainLimit, MaxAbandoned: r.MaxAbandoned,
	}
	if r.ByName {
		cfg.Queue = q.Name
	}
	return cfg
}

// kills tells which end of the process strikes a call; "" for none.
func (p *process) kills(_ *Invocation, _ int, operation string) (how KillKind) {
	p.mu.Lock()
	defer p.mu.Unlock()
	life := p.planned.Load()
	if life != nil && !p.healed() && (life.Operation == "" || life.Operation == operation) && p.calls[life.Operation] == life.Call {
		how = map[Ending]KillKind{DiesBefore: BeforeCall, DiesAfter: AfterCall}[life.How]
	}
	p.calls[""]++
	p.calls[operation]++
	return how
}
