// Package container runs a program as Amazon ECS or Kubernetes would run its
// container: it starts the program again when it ends, and stops it with SIGTERM.
//
//	err := container.Run(ctx, kill, container.Options{Command: path, StopTimeout: 30 * time.Second})
//
// A program that ends before it has done any work is not started again, because its
// configuration is probably wrong and the user waits for that error.
package container

import (
	"context"
	"errors"
	"fmt"
	"os/exec"
	"sync"
	"time"

	"github.com/sqsbatch/sqsbatch/internal/sleep"
	"github.com/sqsbatch/sqsbatch/internal/subprocess"
)

// Options says what to run. All of them are needed but Env.
type Options struct {
	// Command is the program's path.
	Command string
	// Env is its environment, in addition to what a process needs to run at all.
	Env map[string]string
	// Processes is how many run side by side.
	Processes int
	// StopTimeout is how long a process may take to end after SIGTERM before it
	// is killed.
	StopTimeout time.Duration
	// Works says whether any process has done what it is there for.
	Works func() bool
	// Idle, if set, is called once if Works is still false after IdleAfter.
	Idle      func()
	IdleAfter time.Duration
	// Output is given each line that a process prints to "stdout" or "stderr".
	// It may be called by several goroutines.
	Output func(process int, stream, text string)
	// Changed is called at every start, and at every end after the last line of
	// the process.
	Changed func(Change)
}

// Change is the start or end of a process.
type Change struct {
	Process int `json:"process"` // counted from 1; a process that replaces another has its number
	PID     int `json:"pid"`
	// Ended says how it ended, as in "exit status 1"; "" when it has started.
	Ended string `json:"ended,omitempty"`
	// Asked says that this package had asked it to end.
	Asked bool `json:"asked,omitempty"`
	// Again is how long it takes until it is started again; 0 when it is not.
	Again time.Duration `json:"-"`
}

// A StartError is returned when a process cannot be started, or ended before it
// did any work.
type StartError struct {
	Err    error    // how it ended
	Output []string // its last lines
}

// Error says how it ended.
func (e *StartError) Error() string { return e.Err.Error() }

// Unwrap returns the error of starting or waiting.
func (e *StartError) Unwrap() error { return e.Err }

// Bounds of the pause before a process is started again. The first is that of
// one that ran for steady, as Kubernetes and Amazon ECS make it longer only for
// one that keeps ending.
const (
	firstPause = 500 * time.Millisecond
	lastPause  = 10 * time.Second
	steady     = 10 * time.Second
)

// Run runs the program until ctx ends, and then until its processes have ended
// of themselves, StopTimeout is over or kill ends, whatever is first. It returns
// a [*StartError], or an error when a process had to be killed because it took
// too long to stop.
func Run(ctx, kill context.Context, o Options) error {
	ctx, stopAll := context.WithCancel(ctx)
	defer stopAll()
	errs := make([]error, o.Processes)
	var all sync.WaitGroup
	for i := range o.Processes {
		all.Go(func() {
			if errs[i] = o.keep(ctx, kill, i+1); errs[i] != nil {
				stopAll()
			}
		})
	}
	if o.Idle != nil {
		all.Go(func() {
			if sleep.For(ctx, o.IdleAfter) && !o.Works() {
				o.Idle()
			}
		})
	}
	all.Wait()
	for _, err := range errs {
		if _, ok := errors.AsType[*StartError](err); ok {
			return err // of several processes all fail alike
		}
	}
	return errors.Join(errs...)
}

// keep runs one process after another.
func (o *Options) keep(ctx, kill context.Context, number int) error {
	pause := firstPause
	for ctx.Err() == nil {
		cmd := exec.Command(o.Command)
		cmd.Env = subprocess.Environ(o.Env)
		p, err := subprocess.Start(cmd, func(stream, text string) { o.Output(number, stream, text) })
		if err != nil {
			return &StartError{Err: err}
		}
		began := time.Now()
		o.Changed(Change{Process: number, PID: p.PID()})
		select {
		case <-p.Ended():
		case <-ctx.Done():
			return o.stop(kill, p, number)
		}
		if time.Since(began) > steady {
			pause = firstPause
		}
		end := Change{Process: number, PID: p.PID(), Ended: status(p), Again: pause}
		if !o.Works() {
			end.Again = 0
			o.Changed(end)
			return &StartError{Err: fmt.Errorf("it ended before it received anything: %s", status(p)), Output: p.LastLines()}
		}
		o.Changed(end)
		sleep.For(ctx, pause)
		pause = min(2*pause, lastPause)
	}
	return nil
}

// stop asks a process to end, and kills it when it does not.
func (o *Options) stop(kill context.Context, p *subprocess.Process, number int) error {
	ctx, cancel := context.WithTimeout(kill, o.StopTimeout)
	defer cancel()
	var err error
	if !p.Stop(ctx) && kill.Err() == nil {
		err = fmt.Errorf("process %d did not end within %s of SIGTERM and was killed", number, o.StopTimeout)
	}
	o.Changed(Change{Process: number, PID: p.PID(), Ended: status(p), Asked: true})
	return err
}

func status(p *subprocess.Process) string {
	if err := p.Err(); err != nil {
		return err.Error()
	}
	return "exit status 0"
}
