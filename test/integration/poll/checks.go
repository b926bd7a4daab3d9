package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"syscall"
	"time"
)

const (
	terminate = syscall.SIGTERM
	// slack is what a loaded machine may take longer than the toolkit promises.
	slack = 3 * time.Second
	// promised is how long the stop of a process takes that has nothing to do:
	// 0.3 s in the toolkit, the rest for the end of a process.
	promised = 500 * time.Millisecond
)

var shortVisibility = "SQSBATCH_VISIBILITY=" + visibility.String()

// many makes n tasks, in so many groups where there are groups.
func many(n int, do string, ms, groups int) (list []task) {
	for i := range n {
		list = append(list, task{Do: do, Ms: ms, group: fmt.Sprintf("g%d", i%groups)})
	}
	return list
}

// idleStop: a process that waits for messages ends at once. The best of three
// counts, as the machine may be busy with something else.
func idleStop(ctx context.Context, t *trial) error {
	best := time.Hour
	for i := range 3 {
		w, err := t.start(shortVisibility)
		if err != nil {
			return err
		}
		if err := errors.Join(t.give(ctx, task{Do: "ok"}), w.await(1, "their line in the log", logged)); err != nil {
			return err
		}
		time.Sleep(200 * time.Millisecond) // now it waits at an empty queue
		took, status, err := w.stop(0, terminate)
		if err != nil || status != 0 {
			return fmt.Errorf("stop %d: exit status %d, want 0: %w", i+1, status, err)
		}
		best = min(best, took)
	}
	t.took = best
	if best > promised {
		return fmt.Errorf("the best of three stops took %v, want at most %v", best, promised)
	}
	return errors.Join(t.doneOnce(0), t.nothingStranded(ctx, 0))
}

// outcomes: successes are done once, failures come back, what fails for good
// goes to the dead-letter queue by the toolkit, and what fails too often by SQS.
func outcomes(ctx context.Context, t *trial) error {
	tasks := slices.Concat(many(30, "ok", 0, 5), many(10, "sleep", 200, 5), many(5, "fail-first", 0, 5), many(10, "ok", 0, 5))
	good := len(tasks)
	tasks = append(tasks, task{Do: "no such thing"}, task{Do: "neither this"}, // dead letters at once
		task{Do: "fail"}, task{Do: "fail"}, task{Do: "panic"}, task{Do: "sleep", Ms: 60_000}, task{Do: "hang", Ms: 3_000})
	w, err := t.start(shortVisibility, "SQSBATCH_RECORD_TIMEOUT=1s", "SQSBATCH_GRACE=200ms",
		"SQSBATCH_BACKOFF=constant", "SQSBATCH_BACKOFF_BASE=1s", "SQSBATCH_CONCURRENCY=16")
	if err != nil {
		return err
	}
	if err := errors.Join(t.give(ctx, tasks...), t.awaitEmpty(ctx), t.stopWell(w)); err != nil {
		return err
	}
	wrong := []error{t.deadAre(ctx, t.sent[good:]), t.inOrder()}
	tries := map[int]int{}
	for _, l := range t.lines() {
		if began(l) {
			tries[l.N]++
		}
	}
	handled := t.handled()
	for _, s := range t.sent {
		want := 1
		switch s.Do {
		case "fail-first":
			want = 2
		case "fail", "panic", "hang":
			want = maxReceives
		case "sleep":
			if s.Ms > 1000 {
				want = maxReceives
			}
		}
		if tries[s.N] != want {
			wrong = append(wrong, fmt.Errorf("task %d (%s) had %d attempts, want %d", s.N, s.Do, tries[s.N], want))
		}
		if s.N < good && handled[s.N] != 1 {
			wrong = append(wrong, fmt.Errorf("task %d (%s) was done %d times, want once", s.N, s.Do, handled[s.N]))
		}
	}
	t.note = fmt.Sprintf("(%d by the toolkit, %d by SQS)", 2, len(tasks)-good-2)
	return errors.Join(wrong...)
}

// busyStop: what runs is finished and deleted, what waits is released.
func busyStop(ctx context.Context, t *trial) error {
	const long = 300 * time.Millisecond
	if err := t.give(ctx, many(120, "sleep", int(long.Milliseconds()), 16)...); err != nil {
		return err
	}
	w, err := t.start(shortVisibility, "SQSBATCH_CONCURRENCY=8")
	if err != nil {
		return err
	}
	if err := errors.Join(w.await(10, "ended", endedWell), t.stopWell(w)); err != nil {
		return err
	}
	begun, ended := w.seen(began), w.seen(endedWell)
	t.note = fmt.Sprintf("(%d done before the end)", ended)
	var wrong []error
	if begun != ended || ended == len(t.sent) {
		wrong = append(wrong, fmt.Errorf("%d began and %d were done of %d; those that begin must be done, and not be all", begun, ended, len(t.sent)))
	}
	if most := long + 300*time.Millisecond + slack; !t.fifo && t.took > most {
		wrong = append(wrong, fmt.Errorf("the stop took %v, want at most %v", t.took, most))
	}
	return errors.Join(errors.Join(wrong...), t.nothingStranded(ctx, 0), t.finish(ctx, "SQSBATCH_CONCURRENCY=16"), t.doneOnce(0))
}

// stopAtLimit: what takes longer than a stop may is cancelled, or given up, and
// released.
func stopAtLimit(ctx context.Context, t *trial) error {
	const limit = time.Second
	tasks := slices.Concat(many(4, "sleep-first", 60_000, 4), []task{{Do: "hang-first", Ms: 60_000}}, many(10, "ok", 0, 2))
	for i := range tasks[:4] {
		tasks[i].group = "" // each its own
	}
	if err := t.give(ctx, tasks[:5]...); err != nil {
		return err
	}
	w, err := t.start(shortVisibility, "SQSBATCH_CONCURRENCY=5", "SQSBATCH_DRAIN_LIMIT="+limit.String())
	if err != nil {
		return err
	}
	if err := errors.Join(w.await(5, "begun", began), t.give(ctx, tasks[5:]...), t.stopWell(w)); err != nil {
		return err
	}
	var late error
	if t.took < limit || t.took > limit+5*time.Second+slack {
		late = fmt.Errorf("the stop took %v, want %v and at most 5s more", t.took, limit)
	}
	return errors.Join(late, t.nothingStranded(ctx, 1), t.finish(ctx), t.doneOnce(0))
}

// secondSignal: it ends the process at once; what it held comes back when its
// visibility is over.
func secondSignal(ctx context.Context, t *trial) error {
	if err := t.give(ctx, many(5, "sleep-first", 60_000, 5)...); err != nil {
		return err
	}
	w, err := t.start(shortVisibility)
	if err != nil {
		return err
	}
	if err := w.await(5, "begun", began); err != nil {
		return err
	}
	took, status, err := w.stop(200*time.Millisecond, terminate, os.Interrupt)
	t.took = took
	switch {
	case err != nil:
		return err
	case status != 1 || !strings.Contains(w.stderr.String(), "second signal"):
		return fmt.Errorf("exit status %d, %q; want 1 and the reason", status, w.stderr.String())
	case took > promised+slack:
		return fmt.Errorf("it took %v", took)
	}
	return errors.Join(t.finish(ctx), t.doneOnce(0))
}

// kill: nothing is lost; what was done and not deleted yet is done again.
func kill(ctx context.Context, t *trial) error {
	if err := t.give(ctx, many(100, "sleep", 100, 20)...); err != nil {
		return err
	}
	w, err := t.start(shortVisibility, "SQSBATCH_CONCURRENCY=8")
	if err != nil {
		return err
	}
	if err := w.await(20, "ended", endedWell); err != nil {
		return err
	}
	w.end()
	// A record's line is logged when it is deleted.
	undeleted := w.seen(endedWell) - w.seen(func(l line) bool { return logged(l) && l.Outcome == "succeeded" })
	return errors.Join(t.finish(ctx, "SQSBATCH_CONCURRENCY=20"), t.doneOnce(undeleted))
}
