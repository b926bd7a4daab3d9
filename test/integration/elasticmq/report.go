package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"
)

// shrinkTime bounds how long differences are shortened for.
const shrinkTime = 90 * time.Second

// all runs the sequences and prints what came out.
func (c *check) all(ctx context.Context, o options, w io.Writer) error {
	began := time.Now()
	v, err := c.judgeAll(ctx, o)
	if err != nil {
		return err
	}
	total := outcome{accepted: map[string]int{}}
	for _, out := range v.outcomes {
		if out == nil {
			continue
		}
		total.compared += out.compared - out.skipped
		total.skipped += out.skipped
		total.uncompared += out.uncompared
		for name, n := range out.accepted {
			total.accepted[name] += n
		}
	}
	fmt.Fprintf(w, "%d sequences of seed %d in %.0f s: %d operations compared; %d had nothing to act upon, %d came after an accepted difference that changed the queue's state\n",
		o.sequences, o.seed, time.Since(began).Seconds(), total.compared, total.skipped, total.uncompared)
	c.printAccepted(w, total.accepted)
	c.printUnjudged(w, v)
	if len(v.real) > 0 {
		c.printDifferences(ctx, w, v.real, o.shrink)
	}
	return v.error(o.parallel)
}

// printUnjudged lists what is put down to timing, so that it can be looked at.
func (c *check) printUnjudged(w io.Writer, v *verdict) {
	if v.late > 0 {
		fmt.Fprintf(w, "not judged: %d sequences: %v\n", v.late, errLate)
	}
	for _, out := range v.passed {
		d := out.differences[0]
		fmt.Fprintf(w, "not judged: timing: a difference that was not seen again when the sequence was run alone: %s: %s: %s %q, %s %q\n  repeat it: %s\n",
			d.operation.Name, d.path, c.ours.name, d.ours, c.theirs.name, d.theirs, out.sequence.command())
	}
}

func (c *check) printAccepted(w io.Writer, counts map[string]int) {
	for _, e := range c.accepted {
		if n := counts[e.name]; n > 0 {
			fmt.Fprintf(w, "accepted %5d ×  %s (%s is right)\n", n, e.name, e.right)
		}
	}
	for _, e := range c.accepted {
		if counts[e.name] == 0 { // no failure: each seed has other sequences
			fmt.Fprintf(w, "note: the entry %q of accepted.go was not met by this seed\n", e.name)
		}
	}
}

func (c *check) printDifferences(ctx context.Context, w io.Writer, found map[string][]*outcome, limit int) {
	ctx, cancel := context.WithTimeout(ctx, shrinkTime)
	defer cancel()
	var signatures []string
	for signature := range found {
		signatures = append(signatures, signature)
	}
	slices.SortFunc(signatures, func(a, b string) int {
		if n := len(found[b]) - len(found[a]); n != 0 {
			return n
		}
		return strings.Compare(a, b)
	})
	shortest := make([]*outcome, len(signatures))
	var group sync.WaitGroup
	for i, signature := range signatures {
		shortest[i] = slices.MinFunc(found[signature], func(a, b *outcome) int {
			return len(a.sequence.operations) - len(b.sequence.operations)
		})
		if i < limit {
			group.Go(func() { shortest[i] = c.shrink(ctx, shortest[i], signature) })
		}
	}
	group.Wait()
	for i, signature := range signatures {
		out := shortest[i]
		fmt.Fprintf(w, "\ndifference %d, in %d sequences: %s\n", i+1, len(found[signature]), signature)
		c.print(w, out)
		fmt.Fprintf(w, "  repeat it: %s\n", out.sequence.command())
	}
}

// print writes the sequence, with the differences below their operation.
func (c *check) print(w io.Writer, out *outcome) {
	at := out.compared
	for i, o := range out.sequence.operations {
		fmt.Fprintf(w, "  %2d  %v\n", out.sequence.kept[i], o)
		if o.Name != "Pause" {
			at--
		}
		if at > 0 || o.Name == "Pause" {
			continue
		}
		for _, d := range out.differences {
			fmt.Fprintf(w, "        %s\n          %-10s %q\n          %-10s %q\n", d.path, c.ours.name, d.ours, c.theirs.name, d.theirs)
		}
		return
	}
}

// command is what repeats the sequence.
func (s sequence) command() string {
	var keep []string
	for _, i := range s.kept {
		keep = append(keep, fmt.Sprint(i))
	}
	command := fmt.Sprintf("go run ./test/integration/elasticmq -seed %d -sequence %d -keep %s", s.seed, s.index, strings.Join(keep, ","))
	if s.times() > 1 {
		command += fmt.Sprint(" -stretch ", s.times())
	}
	return command
}

// single runs one sequence and prints every answer of both.
func (c *check) single(ctx context.Context, o options, w io.Writer) error {
	s := generate(o.seed, o.sequence).stretched(o.stretch)
	if o.keep != "" {
		numbers, err := kept(o.keep)
		if err != nil {
			return err
		}
		s = s.keep(numbers)
	}
	out, err := c.patiently(ctx, s)
	if err != nil {
		return err
	}
	for i, operation := range s.operations {
		fmt.Fprintf(w, "%2d  %v\n", s.kept[i], operation)
		printAnswer(w, c.ours.name, out.ours[i])
		printAnswer(w, c.theirs.name, out.theirs[i])
	}
	fmt.Fprintln(w)
	for name := range out.accepted {
		fmt.Fprintf(w, "accepted: %s\n", name)
	}
	if len(out.differences) == 0 {
		return nil
	}
	c.print(w, out)
	return errors.New("a difference that accepted.go does not explain")
}

func printAnswer(w io.Writer, name string, a answer) {
	for _, path := range slices.Sorted(maps.Keys(a)) {
		fmt.Fprintf(w, "      %-10s %s: %q\n", name, path, a[path])
	}
}
