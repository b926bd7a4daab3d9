package main

import (
	"context"
	"sync"
)

// shrink drops operations as long as the sequence still shows a difference of
// that signature, and returns the shortest one with its outcome. Each round
// tries to do without each operation, all at the same time; then without all
// those that were not needed, or, if they were together, without one.
func (c *check) shrink(ctx context.Context, found *outcome, signature string) *outcome {
	shows := func(s sequence) *outcome {
		if len(s.operations) == 0 || !s.timely() {
			return nil
		}
		out, err := c.patiently(ctx, s)
		if err != nil { // too slow, or stopped: then it stays
			return nil
		}
		for _, d := range out.differences {
			if d.signature() == signature {
				return out
			}
		}
		return nil
	}
	for {
		s := found.sequence
		outcomes := make([]*outcome, len(s.operations))
		var group sync.WaitGroup
		for i := range s.operations {
			group.Go(func() { outcomes[i] = shows(s.without(i)) })
		}
		group.Wait()
		var needless []int
		var one *outcome
		for i, out := range outcomes {
			if out != nil {
				needless, one = append(needless, i), out
			}
		}
		switch {
		case one == nil:
			return found
		case len(needless) == 1:
			found = one
		default:
			if found = shows(s.without(needless...)); found == nil {
				found = one
			}
		}
	}
}
