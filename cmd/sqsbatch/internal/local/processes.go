package local

import (
	"context"
	"errors"
	"fmt"
	"os/exec"
	"sync"
	"time"

	"github.com/sqsbatch/sqsbatch/cmd/sqsbatch/internal/track"
	"github.com/sqsbatch/sqsbatch/internal/sleep"
	"github.com/sqsbatch/sqsbatch/internal/subprocess"
)

// processes run a program as Amazon ECS or Kubernetes would run it in a container: they start it
// again when it ends, and stop it with SIGTERM. Exception: a program that ends before any process
// has done work is not started again, because its configuration is probably wrong.
type processes struct {
	command     string
	env         map[string]string // in addition to the few variables that every process needs
	number      int               // of concurrent processes
	stopTimeout time.Duration     // between SIGTERM and SIGKILL
	works       func() bool       // reports whether any process has done work
	idle        func()            // called once if works is false after idleAfter
	idleAfter   time.Duration
	output      func(process int, stream, text string) // called with each line, by several goroutines
	changed     func(track.Change)                     // called at a start, and at an end after the last line

	mu   sync.Mutex
	live map[int]*subprocess.Process // by number
}

// A startError is the error of a process that cannot start, or that ended before any process had
// done work.
type startError struct {
	error
	output []string // last lines of the output
}

// The pause before a process is started again doubles from firstPause to lastPause. It is
// firstPause again for a process that ran longer than steady. Kubernetes and Amazon ECS do
// the same.
const (
	firstPause = 500 * time.Millisecond
	lastPause  = 10 * time.Second
	steady     = 10 * time.Second
)

// run runs the program until ctx ends. Then it stops the processes, and kills them after
// stopTimeout or at kill's end. It returns a startError, or an error if a process was killed
// after stopTimeout.
func (o *processes) run(ctx, kill context.Context) error {
	ctx, stopAll := context.WithCancel(ctx)
	defer stopAll()
	errs := make([]error, o.number)
	var all sync.WaitGroup
	for i := range o.number {
		all.Go(func() {
			if errs[i] = o.keep(ctx, kill, i+1); errs[i] != nil {
				stopAll()
			}
		})
	}
	all.Go(func() {
		if sleep.For(ctx, o.idleAfter) && !o.works() {
			o.idle()
		}
	})
	all.Wait()
	for _, err := range errs {
		if _, ok := errors.AsType[startError](err); ok {
			return err // the processes fail alike
		}
	}
	return errors.Join(errs...)
}

// keep runs a process, and starts it again after its end, until ctx ends.
func (o *processes) keep(ctx, kill context.Context, number int) error {
	pause := firstPause
	for ctx.Err() == nil {
		cmd := exec.Command(o.command)
		cmd.Env = subprocess.Environ(o.env)
		p, err := subprocess.Start(cmd, func(stream, text string) { o.output(number, stream, text) })
		if err != nil {
			return startError{err, nil}
		}
		began := time.Now()
		o.note(number, p)
		o.changed(track.Change{Process: number, PID: p.PID()})
		select {
		case <-p.Ended():
		case <-ctx.Done():
			return o.stop(kill, p, number)
		}
		if time.Since(began) > steady {
			pause = firstPause
		}
		end := track.Change{Process: number, PID: p.PID(), Ended: status(p), Again: pause}
		if !o.works() {
			end.Again = 0
			o.changed(end)
			return startError{fmt.Errorf("it ended before it received anything: %s", status(p)), p.LastLines()}
		}
		o.changed(end)
		sleep.For(ctx, pause)
		pause = min(2*pause, lastPause)
	}
	return nil
}

// note keeps the process of a number, for kill.
func (o *processes) note(number int, p *subprocess.Process) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.live == nil {
		o.live = map[int]*subprocess.Process{}
	}
	o.live[number] = p
}

// kill kills the processes that run, and returns their number.
func (o *processes) kill() (killed int) {
	o.mu.Lock()
	defer o.mu.Unlock()
	for _, p := range o.live {
		select {
		case <-p.Ended():
		default:
			p.Kill()
			killed++
		}
	}
	return killed
}

// stop stops a process, and kills it after stopTimeout or at kill's end.
func (o *processes) stop(kill context.Context, p *subprocess.Process, number int) error {
	ctx, cancel := context.WithTimeout(kill, o.stopTimeout)
	defer cancel()
	var err error
	if !p.Stop(ctx) && kill.Err() == nil {
		err = fmt.Errorf("process %d did not end within %s of SIGTERM and was killed", number, o.stopTimeout)
	}
	o.changed(track.Change{Process: number, PID: p.PID(), Ended: status(p), Asked: true})
	return err
}

func status(p *subprocess.Process) string {
	if err := p.Err(); err != nil {
		return err.Error()
	}
	return "exit status 0"
}
