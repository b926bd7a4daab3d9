package simulate

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/sqsbatch/sqsbatch/batch"
	"github.com/sqsbatch/sqsbatch/internal/longpoll"
	"github.com/sqsbatch/sqsbatch/internal/sleep"
)

// onPoll runs the toolkit's pollers over the queues: each replica one process after another.
type onPoll struct {
	w *world
	// lives has how many of a replica's planned lives have begun.
	lives []int

	stop    context.CancelFunc
	running sync.WaitGroup
	alive   sync.Map // of *process, while its Run has not returned
}

func newOnPoll(w *world) (*onPoll, error) {
	d := &onPoll{w: w, lives: make([]int, len(w.plan.Replicas))}
	for i := range w.plan.Replicas {
		if _, err := d.process(i); err != nil { // a configuration that is refused shows here
			return nil, err
		}
	}
	return d, nil
}

// enable has every replica start a process.
func (d *onPoll) enable() {
	ctx, stop := context.WithCancel(context.Background())
	d.stop = stop
	for i, r := range d.w.plan.Replicas {
		d.running.Go(func() {
			if d.lives[i] == 0 && !sleep.For(ctx, r.Starts) {
				return
			}
			d.w.turns.wait(fmt.Sprint("replica ", i))
			d.keep(ctx, i)
		})
	}
}

// disable stops every process, as their shutdown does.
func (d *onPoll) disable() {
	d.stop()
	d.running.Wait()
}

func (d *onPoll) close() {}

// busy reports whether a process has anything to do.
func (d *onPoll) busy() (busy bool) {
	d.alive.Range(func(key, _ any) bool {
		s := key.(*process).poller.Status()
		busy = busy || s.Running+s.Waiting+s.Undeleted > 0 || s.State != "polling" && s.State != "paused"
		return !busy
	})
	return busy
}

// restartAfter is how long an orchestrator waits before it replaces a process.
const restartAfter = time.Second

// keep runs a replica's processes one after another until ctx ends.
func (d *onPoll) keep(ctx context.Context, number int) {
	for ctx.Err() == nil {
		life := Life{} // the last one ends when it is asked to
		lives := d.w.plan.Replicas[number].Lives
		if n := d.lives[number]; n < len(lives) {
			life = lives[n]
		}
		d.lives[number]++
		p, err := d.process(number)
		if err != nil { // it was accepted before
			panic(err)
		}
		gone := make(chan struct{})
		stopped := make(chan struct{}) // it was asked to stop, or has ended
		d.running.Go(func() {
			defer close(gone)
			p.live(ctx, life, stopped)
		})
		if <-stopped; !life.Overlaps {
			<-gone
		}
		sleep.For(ctx, restartAfter)
		d.w.turns.wait(fmt.Sprint("replica ", number))
	}
}

// live runs the process's poller until the end that is planned for it.
func (p *process) live(ctx context.Context, life Life, stopped chan<- struct{}) {
	p.driver.alive.Store(p, true)
	defer p.driver.alive.Delete(p)
	runCtx, cancel := context.WithCancel(context.Background())
	defer cancel()
	over := make(chan struct{})
	p.rec.locked(func() {
		p.planned = life
		p.is.Began, p.is.Number = p.rec.moment(), len(p.rec.h.Processes)
		p.rec.h.Processes = append(p.rec.h.Processes, p.is)
	})
	go func() {
		defer close(over)
		err := p.poller.Run(runCtx)
		p.env.turns.wait(p.env.turn("returns"))
		p.rec.locked(func() {
			p.is.Returned, p.is.Err = p.rec.moment(), err
			p.env.end() // what its handlers still do has no effect
		})
	}()
	running, told := context.WithCancel(context.Background())
	defer told()
	var telling sync.WaitGroup
	telling.Go(func() { p.pause(running, life.Pauses) })
	end := life.How
	var due <-chan time.Time
	if life.How != "" {
		timer := time.NewTimer(life.Lasts)
		defer timer.Stop()
		due = timer.C
	}
	select {
	case <-due:
	case <-ctx.Done():
		end = Shutdown
	case <-p.env.ctx.Done(): // killed, or Run has returned
	}
	p.env.turns.wait(p.env.turn("ends"))
	switch {
	case p.env.isDead():
		p.rec.locked(func() {
			if end = ""; p.is.Killed.Came() {
				end = Crash
			}
		})
	case end == Crash, end.inCall():
		if end = Crash; p.driver.w.healed.Load() {
			end = Shutdown
		}
	}
	told()
	close(stopped)
	p.end(end, life.Patience, cancel)
	<-over
	telling.Wait()
}

// end ends the process in a way.
func (p *process) end(how Ending, patience time.Duration, cancel context.CancelFunc) {
	if how == "" {
		return
	}
	p.rec.locked(func() { p.is.Stopping, p.is.How, p.is.Patience = p.rec.moment(), how, patience })
	switch how {
	case Canceled:
		cancel()
		return
	case Shutdown:
		patience = time.Hour
	case Crash:
		p.env.kill(Crash)
		patience = 0 // so that its goroutines end
	}
	ctx, stop := context.WithTimeout(context.Background(), patience)
	defer stop()
	_ = p.poller.Shutdown(ctx) // Run tells the same, and p.is has when
}

// pause carries out the pauses of a life, until ctx ends.
func (p *process) pause(ctx context.Context, list []Pause) {
	began := time.Now()
	for _, pause := range list {
		came := sleep.Until(ctx, began.Add(pause.At))
		p.env.turns.wait(p.env.turn("pauses"))
		if !came || ctx.Err() != nil {
			return
		}
		is := &Paused{}
		p.rec.locked(func() {
			is.From = p.rec.moment()
			p.is.Paused = append(p.is.Paused, is)
		})
		p.poller.Pause()
		resumed := sleep.Until(ctx, began.Add(pause.At+pause.For))
		p.env.turns.wait(p.env.turn("resumes"))
		p.rec.locked(func() { is.Until = p.rec.moment() })
		if !resumed {
			return
		}
		p.poller.Resume()
	}
}

// process is one that polls a queue, with a poller, a handler and an SQS client of its own.
type process struct {
	driver *onPoll
	rec    *recorder
	env    *environment
	poller Poller
	is     *Process // its part of the history

	// Guarded by the recorder's lock:
	planned Life
	calls   map[string]int // by operation, and all by ""
}

// Poller is a longpoll.Poller.
type Poller interface {
	Run(context.Context) error
	Shutdown(context.Context) error
	Pause()
	Resume()
	Status() batch.Status
}

// process makes the next process of a replica.
func (d *onPoll) process(replica int) (*process, error) {
	r := d.w.plan.Replicas[replica]
	q := d.w.plan.Queues[r.Queue]
	f := d.w.plan.Functions[q.Function]
	p := &process{
		driver: d, rec: d.w.rec,
		env:   d.w.newEnvironment(),
		calls: map[string]int{},
		is:    &Process{Replica: replica, Work: Work{Queue: q.Name, Finished: map[string]int{}}},
	}
	p.env.process = p.is
	connect := d.w.connect(p.env, p.kills)
	cfg := r.config(d.w, f, q)
	cfg.SQS = d.w.client(connect, 0)
	told := &hooks{recorder: d.w.rec, world: d.w, env: p.env, function: f}
	cfg.Hooks = told.hooks()
	p.is.limits(cfg, q)
	if d.w.mutant.Poll != nil {
		d.w.mutant.Poll(&cfg)
	}
	poller := longpoll.New(d.w.handler(f, p.env), cfg)
	if p.poller = poller; d.w.mutant.Poller != nil {
		p.poller = d.w.mutant.Poller(poller, p.env)
	}
	return p, nil
}

// kills tells which end of the process strikes a call; "" for none.
func (p *process) kills(_ *Invocation, _ int, operation string) (how Ending) {
	p.rec.locked(func() {
		l := p.planned
		if l.How.inCall() && !p.driver.w.healed.Load() && (l.Operation == "" || l.Operation == operation) && p.calls[l.Operation] == l.Call {
			how = l.How
		}
		p.calls[""]++
		p.calls[operation]++
	})
	return how
}
