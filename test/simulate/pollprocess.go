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
		env: &environment{rec: d.w.rec, dead: make(chan struct{})},
		is:  &Process{Replica: replica, Queue: q.Name, Finished: map[string]int{}},
	}
	p.env.process = p.is
	p.env.ctx, p.env.cut = context.WithCancel(context.Background())

	var connect http.RoundTripper = &pollConnection{process: p, way: d.w.way, calls: map[string]int{}}
	if d.mutant.Transport != nil {
		connect = d.mutant.Transport(connect)
	}
	cfg := r.config(d.w, f, q)
	cfg.SQS = d.w.client(&http.Client{Transport: connect})
	cfg.Engine.Hooks = []any{&hooks{recorder: d.w.rec, world: d.w, env: p.env, function: f}}
	p.is.limits(cfg, q)
	if d.mutant.Poll != nil {
		d.mutant.Poll(&cfg)
	}
	u := &user{recorder: d.w.rec, plan: d.w.plan, env: p.env, healed: d.w.healed.Load}
	var h batch.Handler = u.handler(f)
	if d.mutant.Handler != nil {
		h = d.mutant.Handler(h)
	}
	poller, err := longpoll.New(h, cfg)
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

// pollConnection is a process's way to SQS. It notes every call, and dies with
// the process.
type pollConnection struct {
	process *process
	way     *way
	mu      sync.Mutex
	calls   map[string]int // by operation, and all by ""
}

// RoundTrip makes a call, unless the process dies first.
func (c *pollConnection) RoundTrip(r *http.Request) (*http.Response, error) {
	p := c.process
	if err := r.Context().Err(); err != nil {
		return nil, err // a real connection sends nothing then, so it is no call
	}
	call, err := readCall(r)
	if err != nil {
		return nil, err
	}
	dead := false
	p.rec.locked(func() {
		if dead = p.env.isDead(); !p.is.Killed.Came() {
			call.Began = p.rec.moment()
			p.is.Calls = append(p.is.Calls, call)
		}
	})
	if dead {
		return nil, errReset
	}
	kill := c.kills(call.Operation)
	if kill == DiesBefore {
		p.env.killAt(BeforeCall, call.Operation)
		return nil, errReset
	}
	ctx, cancel := context.WithCancel(r.Context())
	defer cancel()
	defer context.AfterFunc(p.env.ctx, cancel)() // its connections end with it
	response, err := c.way.carry(call, r.WithContext(ctx))
	if kill == DiesAfter {
		p.env.killAt(AfterCall, call.Operation)
	}
	if p.env.isDead() {
		return nil, errReset
	}
	return p.rec.note(call, response, err, r.Context().Err())
}

// kills tells which end of the process strikes a call; "" for none.
func (c *pollConnection) kills(operation string) (how Ending) {
	c.mu.Lock()
	defer c.mu.Unlock()
	life := c.process.planned.Load()
	if life != nil && (life.How == DiesBefore || life.How == DiesAfter) && !c.process.healed() &&
		(life.Operation == "" || life.Operation == operation) && c.calls[life.Operation] == life.Call {
		how = life.How
	}
	c.calls[""]++
	c.calls[operation]++
	return how
}
