package simulate

import (
	"context"
	"sync"
	"time"

	"github.com/sqsbatch/sqsbatch/internal/sleep"
)

// onPoll runs the toolkit's pollers over the queues: each replica a process
// after another, as an orchestrator does.
type onPoll struct {
	w      *world
	mutant Mutant
	// lives has how many of a replica's planned lives have begun.
	lives []int

	stop    context.CancelFunc
	running sync.WaitGroup
	alive   sync.Map // of *process, while its Run has not returned
}

func newOnPoll(w *world, mutant Mutant) (*onPoll, error) {
	d := &onPoll{w: w, mutant: mutant, lives: make([]int, len(w.plan.Replicas))}
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
	}
}

// live runs the process's poller until the end that is planned for it.
func (p *process) live(ctx context.Context, life Life, stopped chan<- struct{}) {
	p.driver.alive.Store(p, true)
	defer p.driver.alive.Delete(p)
	runCtx, cancel := context.WithCancel(context.Background())
	defer cancel()
	over := make(chan struct{})
	p.rec.locked(p.begin)
	go func() {
		defer close(over)
		err := p.poller.Run(runCtx)
		p.rec.locked(func() {
			p.is.Returned, p.is.Err = p.rec.moment(), err
			p.env.exit()
		})
	}()
	told := make(chan struct{})
	var telling sync.WaitGroup
	telling.Go(func() { p.pause(life.Pauses, told) })
	end := life.How
	p.planned.Store(&life)
	var due <-chan time.Time
	if life.How != "" {
		timer := time.NewTimer(life.Lasts)
		defer timer.Stop()
		due = timer.C
	}
	select {
	case <-due:
		if end.Kills() {
			end = Dies
			if p.healed() {
				end = Shutdown
			}
		}
	case <-ctx.Done():
		end = Shutdown
	case <-p.env.dead: // killed, or Run has returned
		p.rec.locked(func() {
			if end = ""; p.is.Killed.Came() {
				end = Dies
			}
		})
	}
	close(told)
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
	case Dies:
		p.env.kill(Crash)
		patience = 0 // so that its goroutines end
	}
	ctx, stop := context.WithTimeout(context.Background(), patience)
	defer stop()
	_ = p.poller.Shutdown(ctx) // Run tells the same, and p.is has when
}

// pause carries out the pauses of a life.
func (p *process) pause(list []Pause, told <-chan struct{}) {
	began := time.Now()
	wait := func(until time.Duration) bool {
		timer := time.NewTimer(time.Until(began.Add(until)))
		defer timer.Stop()
		select {
		case <-timer.C:
			return true
		case <-told:
			return false
		}
	}
	for _, pause := range list {
		if !wait(pause.At) {
			return
		}
		is := &Paused{}
		p.rec.locked(func() {
			is.From = p.rec.moment()
			p.is.Paused = append(p.is.Paused, is)
		})
		p.poller.Pause()
		resumed := wait(pause.At + pause.For)
		p.rec.locked(func() { is.Until = p.rec.moment() })
		if !resumed {
			return
		}
		p.poller.Resume()
	}
}
