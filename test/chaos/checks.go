package main

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/sqsbatch/sqsbatch/test/internal/harness"
	"github.com/sqsbatch/sqsbatch/test/internal/must"
)

// slack is what a slow machine may take longer than the toolkit promises.
const slack = 5 * time.Second

// checkReceives is the maxReceiveCount of the checks' queues.
const checkReceives = 3

// checks tries what no phase has, each with a queue and workers of its own, on
// a standard and on a FIFO queue. Nothing goes wrong on the way to the server.
func (r *run) checks(ctx context.Context) error {
	// An idle stop is a matter of a second's parts, so nothing works next to it.
	r.each(ctx, map[string]func(context.Context, *check){"idle-stop": idleStop})
	r.each(ctx, map[string]func(context.Context, *check){
		"stop-at-limit": stopAtLimit, "given-up": givenUp,
	})
	return ctx.Err()
}

func (r *run) each(ctx context.Context, checks map[string]func(context.Context, *check)) {
	var wait sync.WaitGroup
	for name, f := range checks {
		for _, suffix := range []string{"", ".fifo"} {
			k := &check{run: r, queue: name + suffix}
			wait.Go(func() {
				if err := must.Run(func() { k.try(ctx, f) }); err != nil {
					r.violations.add("%s: %v", k.queue, err)
				}
			})
		}
	}
	wait.Wait()
}

type check struct {
	run     *run
	queue   string
	orders  []order
	workers []*worker
}

func (k *check) try(ctx context.Context, f func(context.Context, *check)) {
	defer func() {
		for _, w := range k.workers {
			w.Kill() // it may have ended
		}
	}()
	must.Get2(harness.MakeQueues(ctx, k.run.server.client, k.queue, "dead-"+k.queue, checkReceives))
	f(ctx, k)
}

// give sends so many of an order. Their numbers are above those of the phases.
func (k *check) give(ctx context.Context, count int, o task) {
	var list []order
	for range count {
		o.N = k.run.messages + len(k.orders)
		next := order{task: o}
		if strings.HasSuffix(k.queue, ".fifo") {
			next.group = strconv.Itoa(o.N)
		}
		list, k.orders = append(list, next), append(k.orders, next)
	}
	must.Do(k.run.server.send(ctx, list, [2]string{k.queue, k.queue}))
}

func (k *check) start(settings ...string) *worker {
	w := must.Get(k.run.fleet.run(fmt.Sprintf("%s-%d", k.queue, len(k.workers)), "http://"+k.run.server.gates[0].address+account+k.queue,
		append([]string{"SQSBATCH_VISIBILITY=" + shortVisibility.String(), "SQSBATCH_CONCURRENCY=5"}, settings...)...))
	k.workers = append(k.workers, w)
	return w
}

// count is how many lines of a kind, and of an outcome if given, the diaries have.
func (k *check) count(kind lineKind, outcome ending) (n int) {
	for _, w := range k.workers {
		lines, _ := readDiary(w.diary) // there is none before the first line
		for _, l := range lines {
			if l.Kind == kind && (outcome == "" || l.Outcome == outcome) {
				n++
			}
		}
	}
	return n
}

// awaitCount waits until the diaries have so many lines of a kind.
func (k *check) awaitCount(ctx context.Context, n int, kind lineKind, outcome ending) {
	must.Do(harness.Until(ctx, patience, func() error {
		if got := k.count(kind, outcome); got < n {
			return fmt.Errorf("%d of %d times %s %s", got, n, kind, outcome)
		}
		return nil
	}))
}

// sizes are how many messages a queue has that can be received, and that are hidden.
func (k *check) sizes(ctx context.Context, queue string) (visible, hidden int) {
	return must.Get2(harness.Depth(ctx, k.run.server.client, k.run.server.queueURL(queue)))
}

func (k *check) awaitEmpty(ctx context.Context) {
	must.Do(harness.Until(ctx, patience, func() error { return harness.RequireEmpty(ctx, k.run.server.client, k.run.server.queueURL(k.queue)) }))
}

// stop sends SIGTERM, wants the end with the status, and returns how long it took.
func (w *worker) stop(status int) time.Duration {
	ctx, cancel := context.WithTimeout(context.Background(), stopLimit)
	defer cancel()
	began := time.Now()
	if !w.Stop(ctx) {
		must.Failf("it has not ended %v after SIGTERM", stopLimit)
	}
	if code := w.command.ProcessState.ExitCode(); code != status {
		must.Failf("it ended with status %d, want %d: %s", code, status, w.LastLines())
	}
	return time.Since(began)
}

// drain has a new worker do what is left.
func (k *check) drain(ctx context.Context, settings ...string) {
	w := k.start(settings...)
	k.awaitEmpty(ctx)
	w.stop(0)
}

// finish drains the queue, after which each order was done once.
func (k *check) finish(ctx context.Context) {
	k.drain(ctx)
	if n := k.count(lineEnd, endedOK); n != len(k.orders) {
		must.Failf("%d orders were done %d times", len(k.orders), n)
	}
}

// idleStop: a process that waits for messages ends at once. The best of three
// counts, as the machine may be busy with something else.
func idleStop(ctx context.Context, k *check) {
	const promised = 500 * time.Millisecond // 0.3 s in the toolkit, the rest for the end of a process
	best := time.Hour
	for i := range 3 {
		w := k.start()
		k.give(ctx, 1, task{})
		k.awaitCount(ctx, i+1, lineEnd, endedOK)
		k.awaitEmpty(ctx)
		best = min(best, w.stop(0))
	}
	fmt.Printf("%s took %d ms\n", k.queue, best.Milliseconds())
	if best > promised {
		must.Failf("the best of three stops took %v, want at most %v", best, promised)
	}
}

// stopAtLimit: handlers that take longer than a stop are cancelled, their messages
// released. One that does not respect that is abandoned, its message left alone.
func stopAtLimit(ctx context.Context, k *check) {
	const limit = time.Second
	k.give(ctx, 4, task{Millis: 60_000, Once: true})
	k.give(ctx, 1, task{Millis: 60_000, Once: true, Deaf: true})
	w := k.start("SQSBATCH_DRAIN_LIMIT=" + limit.String())
	k.awaitCount(ctx, 5, lineStart, "")
	k.give(ctx, 10, task{})
	if took := w.stop(0); took < limit || took > limit+5*time.Second+slack {
		must.Failf("the stop took %v, want %v and at most 5 s more", took, limit)
	}
	if visible, hidden := k.sizes(ctx, k.queue); visible != len(k.orders)-1 || hidden != 1 {
		must.Failf("after the stop %d messages are visible and %d hidden, want %d and 1", visible, hidden, len(k.orders)-1)
	}
	k.finish(ctx)
}

// givenUp: SQS moves what fails, takes too long or hangs each time, and no more.
func givenUp(ctx context.Context, k *check) {
	const bad = 3
	k.give(ctx, 20, task{})
	k.give(ctx, 1, task{Fails: checkReceives})
	k.give(ctx, 1, task{Millis: 60_000})
	k.give(ctx, 1, task{Millis: 3000, Deaf: true, Fails: checkReceives})
	k.drain(ctx, "SQSBATCH_RECORD_TIMEOUT=1s", "SQSBATCH_GRACE=200ms")
	visible, hidden := k.sizes(ctx, "dead-"+k.queue)
	starts, done := k.count(lineStart, ""), k.count(lineEnd, endedOK)
	if good := len(k.orders) - bad; visible+hidden != bad || done != good || starts != good+bad*checkReceives {
		must.Failf("%d dead letters, %d of %d orders done, %d attempts: want %d, all that are good, and %d",
			visible+hidden, done, len(k.orders), starts, bad, good+bad*checkReceives)
	}
}
