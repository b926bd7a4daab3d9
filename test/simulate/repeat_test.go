package simulate

import (
	"fmt"
	"slices"
	"testing"

	"github.com/sqsbatch/sqsbatch/internal/cases"
)

// Most seeds give the same history when they are run again. What is left to
// chance is in doc.go; on a busy machine it is more than on a quiet one.
func TestMostSeedsRepeat(t *testing.T) {
	seeds := cases.Of(20, 60)
	differ := 0
	for s := range uint64(seeds) {
		var runs [2][]string
		for k := range runs {
			h, err := RunInBubble(t, Generate(s), Mutant{})
			if err != nil {
				t.Fatal(err)
			}
			runs[k] = h.handled()
		}
		if !slices.Equal(runs[0], runs[1]) {
			differ++
		}
	}
	t.Logf("%d of %d seeds gave two histories", differ, seeds)
	if differ > seeds*3/4 { // with a source of chance beside the plan it is all but a few
		t.Errorf("%d of %d seeds gave two histories: what is random is not in the plan", differ, seeds)
	}
}

// handled is what the handlers did and when, without the order of what happened
// at one time.
func (h *History) handled() (lines []string) {
	for _, g := range h.Handlings {
		lines = append(lines, fmt.Sprintf("%v: message %d, attempt %d: %s after %v",
			g.Started.At.Sub(h.Began), g.Number, g.Attempt, g.End, g.Ended.At.Sub(g.Started.At)))
	}
	slices.Sort(lines)
	return lines
}
