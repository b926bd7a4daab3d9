package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"
)

// lane is a server with a kind of queue.
type lane struct {
	server
	fifo   bool
	worker string // the program
}

// trial is one check in a lane, with queues and processes of its own.
type trial struct {
	*queues
	lane      *lane
	sent      []task
	workers   []*worker
	took      time.Duration // the stop that the check is about
	deadFound int           // messages in the dead-letter queue
	ghosts    int           // messages that were hidden for nobody after a stop
	note      string
}

// check runs one check and prints its counts.
func (l *lane) check(ctx context.Context, name string, run func(context.Context, *trial) error) error {
	kind := "standard"
	if l.fifo {
		kind = "fifo"
	}
	t := &trial{lane: l}
	defer func() {
		for _, w := range t.workers {
			w.end()
		}
	}()
	var err error
	t.queues, err = newQueues(ctx, l.endpoint, "poll-"+strings.NewReplacer(" ", "-").Replace(name)+"-"+strconv.FormatInt(time.Now().UnixNano(), 36), l.fifo)
	if err == nil {
		err = run(ctx, t)
	}
	once, repeated := 0, 0
	for _, n := range t.handled() {
		once++
		repeated += n - 1
	}
	verdict := "ok"
	if t.ghosts > 0 {
		t.note += fmt.Sprintf(" (%d taken by a long poll whose client had left)", t.ghosts)
	}
	if err != nil {
		verdict = "FAILED"
		err = fmt.Errorf("%s, %s queue, %s: %w%s", l.name, kind, name, err, t.tail())
	}
	fmt.Printf("%-10s %-9s %-14s %5d %5d %8d %5d %6d %5dms  %s\n", l.name, kind, name,
		len(t.sent), once, repeated, t.deadFound, len(t.workers), t.took.Milliseconds(), strings.TrimSpace(verdict+" "+t.note))
	return err
}

// tail is what there is to say of a failure.
func (t *trial) tail() string {
	var b strings.Builder
	for i, w := range t.workers {
		w.end() // so that stderr can be read
		w.mu.Lock()
		fmt.Fprintf(&b, "\n  process %d, %s; its last lines:", i+1, w.cmd.ProcessState)
		for _, l := range w.lines[max(0, len(w.lines)-15):] {
			fmt.Fprintf(&b, "\n    %+v", l)
		}
		w.mu.Unlock()
		fmt.Fprintf(&b, "\n    %s", w.stderr.Bytes())
	}
	return b.String()
}

// give sends tasks.
func (t *trial) give(ctx context.Context, tasks ...task) error {
	for i := range tasks {
		tasks[i].N = len(t.sent)
		t.sent = append(t.sent, tasks[i])
	}
	return t.send(ctx, tasks)
}

// start starts a process.
func (t *trial) start(env ...string) (*worker, error) {
	w, err := startWorker(t.lane.worker, append([]string{"SQSBATCH_QUEUE_URL=" + t.source, "AWS_ENDPOINT_URL_SQS=" + t.lane.endpoint}, env...))
	if err == nil {
		t.workers = append(t.workers, w)
	}
	return w, err
}

// lines are those of all processes, one after the other.
func (t *trial) lines() (list []line) {
	for _, w := range t.workers {
		w.mu.Lock()
		list = append(list, w.lines...)
		w.mu.Unlock()
	}
	return list
}

// handled counts for each task how often it was done.
func (t *trial) handled() map[int]int {
	n := map[int]int{}
	for _, l := range t.lines() {
		if endedWell(l) {
			n[l.N]++
		}
	}
	return n
}

// finish has a new process do what is left, and stops it.
func (t *trial) finish(ctx context.Context, env ...string) error {
	w, err := t.start(env...)
	if err != nil {
		return err
	}
	if err := t.awaitEmpty(ctx); err != nil {
		return err
	}
	return t.stopWell(w)
}

// stopWell stops a process, which must end with 0.
func (t *trial) stopWell(w *worker) error {
	took, status, err := w.stop(0, terminate)
	if err != nil {
		return err
	}
	t.took = cmp.Or(t.took, took)
	if status != 0 {
		return fmt.Errorf("exit status %d after SIGTERM, want 0", status)
	}
	return nil
}

// visibility is that of processes that are stopped or killed.
const visibility = 3 * time.Second

// nothingStranded checks that what is not done can be received at once, but for
// records whose handlers were abandoned: those may still be at work. ElasticMQ
// goes on with a long poll whose client has left, and gives it messages: those
// must be back when the visibility timeout is over.
func (t *trial) nothingStranded(ctx context.Context, abandoned int) error {
	want := counts{visible: len(t.sent) - len(t.handled()) - abandoned, hidden: abandoned}
	for end := time.Now().Add(visibility + time.Second); ; {
		c, err := t.counts(ctx, t.source)
		if err != nil || c == want {
			return err
		}
		if t.lane.name != "elasticmq" || time.Now().After(end) {
			return fmt.Errorf("after the stop the queue has %+v, want %+v: %d sent, %d done", c, want, len(t.sent), len(t.handled()))
		}
		t.ghosts = max(t.ghosts, c.hidden)
		time.Sleep(50 * time.Millisecond)
	}
}

// doneOnce checks that every task was done, and not again more often than allowed.
func (t *trial) doneOnce(repeats int) error {
	var wrong []error
	handled := t.handled()
	total := 0
	for _, s := range t.sent {
		n := handled[s.N]
		total += max(0, n-1)
		if n == 0 {
			wrong = append(wrong, fmt.Errorf("task %d (%s) was not done", s.N, s.Do))
		} else if n > 1 && repeats == 0 {
			wrong = append(wrong, fmt.Errorf("task %d (%s) was done %d times", s.N, s.Do, n))
		}
	}
	if total > repeats {
		wrong = append(wrong, fmt.Errorf("%d tasks were done again, at most %d had not been deleted", total, repeats))
	}
	return errors.Join(append(wrong, t.inOrder())...)
}

// inOrder checks that a group's tasks began in order, and each only when the one
// before it was done or, after attempts that failed, was gone.
func (t *trial) inOrder() error {
	if !t.fifo {
		return nil
	}
	done := map[int]bool{}
	for _, l := range t.lines() {
		switch {
		case endedWell(l):
			done[l.N] = true
		case began(l):
			for _, s := range t.sent[:l.N] {
				if s.group != "" && s.group == l.Group && !done[s.N] {
					return fmt.Errorf("task %d of group %s began before task %d was done", l.N, l.Group, s.N)
				}
			}
		}
	}
	return nil
}

// deadAre checks what the dead-letter queue has, and empties it.
func (t *trial) deadAre(ctx context.Context, want []task) error {
	got, err := t.deadLetters(ctx)
	if err != nil {
		return err
	}
	var bodies []string
	for body, n := range got {
		t.deadFound += n
		bodies = append(bodies, slices.Repeat([]string{body}, n)...)
	}
	var wanted []string
	for _, w := range want {
		wanted = append(wanted, w.body())
	}
	slices.Sort(bodies)
	slices.Sort(wanted)
	if !slices.Equal(bodies, wanted) {
		return fmt.Errorf("the dead-letter queue has\n  %q, want\n  %q", bodies, wanted)
	}
	return nil
}
