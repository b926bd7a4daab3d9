// Package container runs a program as Amazon ECS or Kubernetes would run it in a container: it
// starts the program again when it ends, and stops it with SIGTERM.
//
//	err := container.Run(ctx, kill, container.Options{Command: path, StopTimeout: 30 * time.Second})
//
// A program that ends before it has done any work is not started again, because its
// configuration is probably wrong: Run returns the error.
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

// Options configures [Run]. All fields but Env and Idle are required.
type Options struct {
	// Command is the program's path.
	Command string
	// Env has environment variables in addition to the few that every process needs.
	Env map[string]string
	// Processes is the number of concurrent processes.
	Processes int
	// StopTimeout is the time between SIGTERM and SIGKILL.
	StopTimeout time.Duration
	// Works reports whether any process has done work.
	Works func() bool
	// Idle, if set, is called once if Works is still false after IdleAfter.
	Idle      func()
	IdleAfter time.Duration
	// Output is called with each line that a process prints to "stdout" or "stderr". It may be
	// called by several goroutines.
	Output func(process int, stream, text string)
	// Changed is called at the start of a process, and at its end after its last line.
	Changed func(Change)
}

// Change is the start or end of a process.
type Change struct {
	Process int `json:"process"` // counted from 1; a replacement has the same number
	PID     int `json:"pid"`
	// Ended is the exit status, as in "exit status 1"; "" for a start.
	Ended string `json:"ended,omitempty"`
	// Asked is true if this package stopped the process.
	Asked bool `json:"asked,omitempty"`
	// Again is the time until the next start; 0 if there is none.
	Again time.Duration `json:"-"`
}

// A StartError is returned when a process cannot start, or ended before any process had
// done work.
type StartError struct {
	Err    error    // the error of the start, or the exit
	Output []string // last lines of the output
}

// Error returns the text of Err.
func (e *StartError) Error() string { return e.Err.Error() }

// Unwrap returns Err.
func (e *StartError) Unwrap() error { return e.Err }

// The pause before a process is started again doubles from firstPause to lastPause. It is
// firstPause again for a process that ran longer than steady. Kubernetes and Amazon ECS do
// the same.
const (
	firstPause = 500 * time.Millisecond
	lastPause  = 10 * time.Second
	steady     = 10 * time.Second
)

// Run runs the program until ctx ends. Then it stops the processes, and kills them after
// StopTimeout or at kill's end. It returns a [*StartError], or an error if a process was
// killed after StopTimeout.
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
			return err // the processes fail alike
		}
	}
	return errors.Join(errs...)
}

// keep runs a process, and starts it again after its end, until ctx ends.
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

// stop stops a process, and kills it after StopTimeout or at kill's end.
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
