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
	outcomes := make([]*outcome, o.sequences)
	errs := make([]error, o.sequences)
	var group sync.WaitGroup
	for i := range o.sequences {
		group.Go(func() { outcomes[i], errs[i] = c.compare(ctx, generate(o.seed, i)) })
	}
	group.Wait()
	if err := ctx.Err(); err != nil {
		return err
	}
	var total outcome
	total.accepted = map[string]int{}
	late := 0
	found := map[string][]*outcome{} // by signature of the first difference
	for i, out := range outcomes {
		if errors.Is(errs[i], errLate) {
			late++
			continue
		}
		if errs[i] != nil {
			return errs[i]
		}
		total.compared += out.compared - out.skipped
		total.skipped += out.skipped
		total.uncompared += out.uncompared
		for name, n := range out.accepted {
			total.accepted[name] += n
		}
		if len(out.differences) > 0 {
			signature := out.differences[0].signature()
			found[signature] = append(found[signature], out)
		}
	}
	fmt.Fprintf(w, "%d sequences of seed %d in %.0f s: %d operations compared; %d had nothing to act upon, %d came after an accepted difference that changed the queue's state\n",
		o.sequences, o.seed, time.Since(began).Seconds(), total.compared, total.skipped, total.uncompared)
	c.printAccepted(w, total.accepted)
	if late > 0 {
		fmt.Fprintf(w, "%d sequences were not judged: %v\n", late, errLate)
	}
	if len(found) > 0 {
		c.printDifferences(ctx, w, found, o.shrink)
		return fmt.Errorf("%d differences that accepted.go does not explain", len(found))
	}
	if late*20 > o.sequences {
		return fmt.Errorf("%d of %d sequences were not judged: %w; try -parallel %d", late, o.sequences, errLate, max(1, o.parallel/2))
	}
	return nil
}

func (c *check) printAccepted(w io.Writer, counts map[string]int) {
	for _, e := range c.accepted {
		if n := counts[e.name]; n > 0 {
			fmt.Fprintf(w, "accepted %5d ×  %s (%s is right)\n", n, e.name, e.right)
		}
	}
	for _, e := range c.accepted {
		if counts[e.name] == 0 {
			fmt.Fprintf(w, "stale: no difference was covered by the entry %q of accepted.go\n", e.name)
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
	return fmt.Sprintf("go run ./test/integration/elasticmq -seed %d -sequence %d -keep %s", s.seed, s.index, strings.Join(keep, ","))
}

// single runs one sequence and prints every answer of both.
func (c *check) single(ctx context.Context, o options, w io.Writer) error {
	s := generate(o.seed, o.sequence)
	if o.keep != "" {
		numbers, err := kept(o.keep)
		if err != nil {
			return err
		}
		s = s.keep(numbers)
	}
	out, err := c.compare(ctx, s)
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
