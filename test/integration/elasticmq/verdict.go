package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"
)

// Both servers live in real time, and so does the check: on a loaded machine it
// can come too late to see what it wants to see. What was late by the timetable
// is run again, by ever fewer at a time. What differed is run again alone: a
// real difference is there again. What is still late then, or agrees, was not
// judged, and a run with more of those than this is no verdict.
const mostUnjudged = 1 // percent

// roundsTime bounds how long sequences are begun anew for; those that were late
// until then were not judged.
const roundsTime = 150 * time.Second

// verdict is what came of a run.
type verdict struct {
	outcomes []*outcome // by the sequence's number; nil: not judged
	// real has what differed, by the signature of the first difference;
	// judging it is over when it was seen again in one of the sequences.
	real   map[string][]*outcome
	late   int        // sequences that were late in every round
	passed []*outcome // those that differed, and then, alone, were not seen to
}

func (v *verdict) unjudged() int { return v.late + len(v.passed) }

// tooMany tells whether so many sequences were not judged that there is no verdict.
func (v *verdict) tooMany() bool { return v.unjudged()*100 > mostUnjudged*len(v.outcomes) }

// judgeAll runs the sequences, and again what has to be.
func (c *check) judgeAll(ctx context.Context, o options) (*verdict, error) {
	v := &verdict{outcomes: make([]*outcome, o.sequences), real: map[string][]*outcome{}}
	if err := c.rounds(ctx, o, v); err != nil {
		return nil, err
	}
	return v, c.confirm(ctx, v)
}

// rounds runs the sequences, and those that were late with more room.
func (c *check) rounds(ctx context.Context, o options, v *verdict) error {
	began := time.Now()
	left := make([]int, o.sequences)
	for i := range left {
		left[i] = i
	}
	for _, times := range stretches {
		errs := make([]error, len(left))
		turn := make(chan struct{}, o.parallel)
		var group sync.WaitGroup
		for at, i := range left {
			turn <- struct{}{}
			if times > 1 && time.Since(began) > roundsTime {
				errs[at] = errLate
				<-turn
				continue
			}
			group.Go(func() {
				defer func() { <-turn }()
				v.outcomes[i], errs[at] = c.compare(ctx, generate(o.seed, i).stretched(times))
			})
		}
		group.Wait()
		var late []int
		for at, err := range errs {
			switch {
			case ctx.Err() != nil:
				return ctx.Err()
			case errors.Is(err, errLate):
				late = append(late, left[at])
			case err != nil:
				return err
			}
		}
		left = late
	}
	v.late = len(left)
	return nil
}

// confirm runs what differed again, with nothing beside it. Of sequences with
// the same difference, the shorter ones first, until one shows it again.
func (c *check) confirm(ctx context.Context, v *verdict) error {
	found := map[string][]*outcome{}
	for _, out := range v.outcomes {
		if out != nil && len(out.differences) > 0 {
			signature := out.differences[0].signature()
			found[signature] = append(found[signature], out)
		}
	}
	for _, signature := range slices.Sorted(maps.Keys(found)) {
		all := found[signature]
		slices.SortStableFunc(all, func(a, b *outcome) int {
			return cmp.Compare(len(a.sequence.operations), len(b.sequence.operations))
		})
		for i, out := range all {
			// An answer that is none is the emulator's mistake however rare it
			// is; and with too many that pass the run fails as it is.
			if broken(out.differences[0].ours) || len(v.passed)*100 > mostUnjudged*len(v.outcomes) {
				v.real[signature] = all[i:]
				break
			}
			again, err := c.patiently(ctx, out.sequence)
			if ctx.Err() != nil {
				return ctx.Err()
			}
			if err != nil && !errors.Is(err, errLate) {
				return err
			}
			if err == nil && len(again.differences) > 0 {
				all[i] = again
				v.real[again.differences[0].signature()] = append(v.real[again.differences[0].signature()], all[i:]...)
				break
			}
			v.passed = append(v.passed, out)
			v.outcomes[out.sequence.index] = nil
		}
	}
	return nil
}

// error says why the run failed, or is nil.
func (v *verdict) error(parallel int) error {
	switch {
	case len(v.real) > 0:
		return fmt.Errorf("%d differences that accepted.go does not explain", len(v.real))
	case v.tooMany():
		return fmt.Errorf("%d of %d sequences were not judged, more than %d %%: %w; try -parallel %d",
			v.unjudged(), len(v.outcomes), mostUnjudged, errLate, max(1, parallel/2))
	}
	return nil
}
