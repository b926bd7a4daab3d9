// Package local is the command `sqsbatch local`: it builds a function, runs it against the
// embedded SQS and Lambda with the settings of its template, sends messages and shows the
// outcome of each.
//
// It combines other packages: template reads the template, rules checks it, build compiles
// the program, message reads messages, track follows them and measures the run, and view
// shows it. In this package, options.go has the flags, local.go the course of a run,
// plan.go finds the template and the package, stack.go has the queues and the function on
// Lambda, findings.go the findings about their settings, messages.go the messages.
// container.go and processes.go are for --mode poll, where the function runs in processes that
// poll, as in a container.
//
// A [Trial] uses the same queues and function for another command: it runs each of its messages
// once, and returns their outcomes.
package local

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"sync"
	"sync/atomic"
	"time"

	"github.com/sqsbatch/sqsbatch/cmd/sqsbatch/internal/build"
	"github.com/sqsbatch/sqsbatch/cmd/sqsbatch/internal/cli"
	"github.com/sqsbatch/sqsbatch/cmd/sqsbatch/internal/console"
	"github.com/sqsbatch/sqsbatch/cmd/sqsbatch/internal/track"
	"github.com/sqsbatch/sqsbatch/cmd/sqsbatch/internal/view"
	"github.com/sqsbatch/sqsbatch/internal/sleep"
)

var (
	errInterrupted = errors.New("interrupted")
	errComplete    = errors.New("everything sent is done")
	errTimeout     = errors.New("timeout")
)

// runWith runs the command. After the first interrupt it finishes records in flight; a second
// interrupt ends it at once.
func runWith(ctx context.Context, o options, tio cli.IO, builder build.Builder) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	kill, stopNow := context.WithCancel(context.Background())
	defer stopNow()

	stdout := &output{w: tio.Stdout, failed: func(err error) {
		cancel(fmt.Errorf("standard output: %w", err))
		stopNow() // there is no reader for the rest of the run
	}}
	var text *view.Text
	var v view.View
	var lines *view.JSON
	if o.output == "json" {
		text = view.NewText(tio.Stderr, view.Detect(tio.Stderr))
		lines = view.NewJSON(stdout, text)
		v = lines
	} else {
		text = view.NewText(stdout, view.Detect(tio.Stdout))
		v = text
	}
	if o.verbose {
		text.ShowAll()
	}
	page, err := console.Listen(o.page)
	if err != nil {
		return err
	}
	defer page.Close()
	go tio.EachInterrupt(kill, func(n int) {
		cancel(errInterrupted)
		if n > 1 {
			stopNow()
		}
	})
	r := &run{o: o, builder: builder, stdin: tio.Stdin, stderr: tio.Stderr, view: v, cancel: cancel, kill: kill, stopNow: stopNow, page: page}
	err = r.run(ctx)
	if errors.Is(err, errInterrupted) && !o.once {
		err = nil
	}
	if lines != nil && err == nil {
		err = lines.Err()
	}
	return cmp.Or(err, page.Close())
}

// output is standard output. It ends the run after a failed write.
type output struct {
	w      io.Writer
	failed func(error) // called for every write that fails
}

func (o *output) Write(p []byte) (int, error) {
	n, err := o.w.Write(p)
	if err != nil {
		o.failed(err)
	}
	return n, err
}

type run struct {
	o       options
	builder build.Builder
	stdin   io.Reader
	stderr  io.Writer
	view    view.View
	page    *console.Console
	cancel  context.CancelCauseFunc // ends the run after the records in flight
	kill    context.Context         // ended by a second interrupt
	stopNow context.CancelFunc
	refused atomic.Int64 // messages that SQS refused
	stats   *track.Stats
}

// tick is the interval between updates of the progress line.
const tick = 100 * time.Millisecond

func (r *run) run(ctx context.Context) error {
	s, tracker, err := r.prepare(ctx, func(e track.Event) {
		if metrics := r.stats.Event(e); !metrics {
			r.view.Event(e)
			r.page.Event(e)
		}
	})
	if err != nil {
		return err
	}
	defer s.close()
	header := s.header()
	r.page.Serve(s.shown(header))
	header.Page = r.page.URL()
	r.view.Header(header)

	begun := time.Now()
	stopTracking := inBackground(tracker, func() { r.view.Tick(tracker.Progress()) })
	defer stopTracking()

	stopSaying := context.AfterFunc(ctx, func() {
		if errors.Is(context.Cause(ctx), errInterrupted) && tracker.Progress().InFlight > 0 {
			r.view.Say("finishing records in flight; interrupt again to stop at once")
		}
	})
	err = r.work(ctx, s, tracker)
	stopSaying()
	stopTracking()
	sum := view.Summary{
		Progress: tracker.Progress(), Dead: tracker.Dead(), DeadName: s.deadLetters().Name, Elapsed: time.Since(begun),
	}
	sum.Metrics = r.stats.Report(track.Run{Poll: r.o.mode == modePoll, Elapsed: sum.Elapsed, Starts: sum.Starts, Crashes: sum.Crashes})
	r.view.Summary(sum)
	if e := writeMetrics(r.o.metrics, sum.Metrics); e != nil && (err == nil || errors.Is(err, errInterrupted)) {
		err = e
	} else if e != nil {
		err = errors.Join(err, e)
	}
	switch n := r.refused.Load(); {
	case err != nil:
		return err
	case n > 0:
		return fmt.Errorf("%d of the messages could not be sent (see above)", n)
	case sum.Lost > 0:
		return fmt.Errorf("%d of the messages were lost: they failed and were deleted. "+
			"Give the event FunctionResponseTypes: [ReportBatchItemFailures], or the function SQSBATCH_DELETE_SUCCEEDED=true", sum.Lost)
	}
	return nil
}

// prepare plans the run, and starts the queues and the function. Nothing is received before
// stack.run.
func (r *run) prepare(ctx context.Context, emit func(track.Event)) (*stack, *track.Tracker, error) {
	p, err := r.plan(ctx)
	if err == nil {
		err = writable(r.o.metrics)
	}
	if err != nil {
		return nil, nil, notInterrupted(ctx, err)
	}
	function := p.deployment.Function
	r.stats = track.NewStats(function.Timeout)
	tracker := track.New(track.Options{
		Sources: p.sources(), MaxReceiveCounts: p.maxReceiveCounts(), Containers: r.o.mode == modePoll, Timeout: function.Timeout, Emit: emit,
	})
	s, err := p.start(ctx, r, tracker)
	return s, tracker, notInterrupted(ctx, err)
}

// work sends, polls and waits for the end. It returns nil for a successful end.
func (r *run) work(ctx context.Context, s *stack, tracker *track.Tracker) error {
	defer afterTimeout(r.o.timeout, r.cancel, r.stopNow)()
	if r.o.once {
		var waiting sync.WaitGroup
		defer waiting.Wait()
		waiting.Go(func() {
			if sleep.Closed(ctx, tracker.Done()) {
				r.cancel(errComplete)
			}
		})
	}
	// Files are sent before the function polls, so that it receives whole batches. Standard
	// input may never end, so its lines are sent while the function polls.
	if err := r.sendAtHand(ctx, s); err != nil {
		r.cancel(err)
		return notInterrupted(ctx, err)
	}
	r.stats.Begin()
	if r.o.stdin {
		go r.sendLines(ctx, s, tracker)
	} else {
		tracker.AllSent()
	}
	err := r.feed(ctx, s)
	r.cancel(err) // ends the goroutine above when the mapping ended by itself
	switch cause := context.Cause(ctx); {
	case err != nil:
		return err
	case errors.Is(cause, errComplete):
		return nil
	case errors.Is(cause, errTimeout):
		return fmt.Errorf("--timeout: not everything was done after %s", r.o.timeout)
	default:
		return cause
	}
}

// feed runs the function, with --watch each program that is built.
func (r *run) feed(ctx context.Context, s *stack) error {
	if !r.o.watch {
		return s.run(ctx, r.kill)
	}
	w, err := s.newWatcher(r.view.Say)
	if err != nil {
		return err
	}
	return w.run(ctx, r.kill, s.run)
}

// afterTimeout ends a run at once after a timeout, never if that is 0. stop stops the timer.
func afterTimeout(timeout time.Duration, cancel context.CancelCauseFunc, stopNow context.CancelFunc) (stop func()) {
	if timeout == 0 {
		return func() {}
	}
	timer := time.AfterFunc(timeout, func() {
		cancel(errTimeout)
		stopNow()
	})
	return func() { timer.Stop() }
}

// inBackground runs a tracker, and calls show every tick, until stop is called. stop waits
// for both.
func inBackground(tracker *track.Tracker, show func()) (stop func()) {
	ctx, cancel := context.WithCancel(context.Background())
	var both sync.WaitGroup
	both.Go(func() { tracker.Run(ctx) })
	both.Go(func() {
		for sleep.For(ctx, tick) {
			show()
		}
	})
	return func() { cancel(); both.Wait() }
}

// notInterrupted replaces err by the reason for which ctx ended, if it did.
func notInterrupted(ctx context.Context, err error) error {
	if ctx.Err() != nil && errors.Is(err, context.Canceled) {
		return context.Cause(ctx)
	}
	return err
}

// writable returns an error if the metrics cannot be written to path, "" for none. It
// creates the file, so that the error comes before the run.
func writable(path string) error {
	if path == "" {
		return nil
	}
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE, 0o644)
	if err != nil {
		return fmt.Errorf("--metrics: %w", err)
	}
	return f.Close()
}

// writeMetrics writes the metrics to the file of --metrics, which others may read.
func writeMetrics(path string, r *track.Report) error {
	if path == "" {
		return nil
	}
	data, err := json.MarshalIndent(r, "", "  ")
	if err == nil {
		err = os.WriteFile(path, append(data, '\n'), 0o644)
	}
	if err != nil {
		return fmt.Errorf("--metrics: %w", err)
	}
	return nil
}
