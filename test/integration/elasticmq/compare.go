package main

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"github.com/sqsbatch/sqsbatch/internal/sleep"
)

// difference is one thing in which the answers to one operation differ.
type difference struct {
	operation    operation
	fifo         bool        // the queues' type
	earlier      []operation // of the same sequence
	path         string
	ours, theirs string // "" where a server's answer does not have it
}

// what is the path without of which message, entry or group.
func (d difference) what() string {
	what, _, _ := strings.Cut(d.path, " of ")
	return what
}

// signature is the same for differences that one mistake would make.
func (d difference) signature() string {
	if what := d.what(); what == pathReceived || what == "order" || what == pathSkipped {
		return d.operation.Name + ": " + what
	}
	ours, theirs := d.ours, d.theirs
	for _, kind := range []string{noAnswer, notTaken} { // what follows is never the same twice
		if strings.HasPrefix(ours, kind) {
			ours = kind
		}
		if strings.HasPrefix(theirs, kind) {
			theirs = kind
		}
	}
	return fmt.Sprintf("%s: %s: %q, %q", d.operation.Name, d.what(), ours, theirs)
}

// differences compares two answers. Where one failed, or they are about
// different messages, the rest would only repeat that.
func differences(o operation, ours, theirs answer) (all []difference) {
	for _, path := range []string{pathSkipped, pathError, pathReceived} {
		if ours[path] != theirs[path] {
			return []difference{{operation: o, path: path, ours: ours[path], theirs: theirs[path]}}
		}
	}
	both := maps.Clone(ours)
	maps.Copy(both, theirs)
	for _, path := range slices.Sorted(maps.Keys(both)) {
		what, of, ok := strings.Cut(path, " of ")
		if failed := pathError + " of " + of; ok && what != pathError && ours[failed] != theirs[failed] {
			continue // one refused the batch's entry
		}
		a, inOurs := ours[path]
		b, inTheirs := theirs[path]
		if a != b || inOurs != inTheirs {
			all = append(all, difference{operation: o, path: path, ours: a, theirs: b})
		}
	}
	return all
}

// check compares two servers.
type check struct {
	ours, theirs endpoint
	accepted     []acceptance
	run          string // begins the names of this run's queues
	attempts     atomic.Int64
	// slots has one for each sequence that may run at a time, with how long its
	// first one waits: phases that began everywhere at once would overload a
	// machine that has time enough on average.
	slots chan time.Duration
}

func newCheck(ours, theirs endpoint, accepted []acceptance, run string, parallel int) *check {
	slots := make(chan time.Duration, parallel)
	for i := range parallel {
		slots <- time.Duration(i) * phase / time.Duration(parallel)
	}
	return &check{ours: ours, theirs: theirs, accepted: accepted, run: run, slots: slots}
}

// outcome is what became of one sequence.
type outcome struct {
	sequence sequence
	// compared operations, less those skipped for want of a receipt handle;
	// uncompared are those after an accepted difference that left the two
	// servers' queues in different states.
	compared, skipped, uncompared int
	accepted                      map[string]int
	// differences are those of the first operation that has any.
	differences []difference
	ours        []answer
	theirs      []answer
}

// patiently is compare, and while that is late, again with more room, twice at
// each stretch. The error is errLate when the machine was too slow for any.
func (c *check) patiently(ctx context.Context, s sequence) (out *outcome, err error) {
	for _, times := range stretches {
		for range 2 {
			if out, err = c.compare(ctx, s.stretched(max(times, s.stretch))); !errors.Is(err, errLate) || ctx.Err() != nil {
				return out, err
			}
		}
	}
	return nil, errLate
}

// compare runs the sequence on both servers, side by side, and compares the
// answers. The error is errLate when one of the runs did not keep to the timetable.
func (c *check) compare(ctx context.Context, s sequence) (*outcome, error) {
	first := <-c.slots
	defer func() { c.slots <- 0 }()
	if !sleep.For(ctx, first) {
		return nil, ctx.Err()
	}
	prefix := fmt.Sprintf("%s-%dx", c.run, c.attempts.Add(1)) // x: 1 must not begin 14, when queues are listed by prefix
	out := &outcome{sequence: s, accepted: map[string]int{}}
	var ourErr error
	done := make(chan struct{})
	go func() {
		defer close(done)
		out.ours, ourErr = c.ours.run(ctx, s, prefix)
	}()
	var theirErr error
	out.theirs, theirErr = c.theirs.run(ctx, s, prefix)
	<-done
	if err := errors.Join(ourErr, theirErr); err != nil {
		return nil, err
	}
	c.judge(out)
	return out, nil
}

// judge compares the answers, as far as that makes sense.
func (c *check) judge(out *outcome) {
	for i, o := range out.sequence.operations {
		if o.Name == "Pause" {
			continue
		}
		out.compared++
		if _, skipped := out.ours[i][pathSkipped]; skipped {
			out.skipped++
		}
		diverged := false
		for _, d := range differences(o, out.ours[i], out.theirs[i]) {
			d.fifo, d.earlier = out.sequence.fifo, out.sequence.operations[:i]
			entry := c.accepts(d)
			if entry == nil {
				out.differences = append(out.differences, d)
				continue
			}
			out.accepted[entry.name]++
			diverged = diverged || entry.diverges
		}
		if len(out.differences) > 0 {
			return
		}
		if diverged {
			out.uncompared = len(out.sequence.operations) - i - 1
			return
		}
	}
}

func (c *check) accepts(d difference) *acceptance {
	for i := range c.accepted {
		if c.accepted[i].covers(d) {
			return &c.accepted[i]
		}
	}
	return nil
}
