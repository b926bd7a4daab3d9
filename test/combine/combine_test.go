package combine

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"go.uber.org/goleak"

	"github.com/sqsbatch/sqsbatch/test/docpage"
	"github.com/sqsbatch/sqsbatch/test/random"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// TestCombine carries out histories of what the page docs/combining.md allows.
func TestCombine(t *testing.T) {
	var expect []string
	for _, kind := range []Kind{Sent, Received, Deleted, Dead, Called, Ended, Committed, Completed, KeptFailure, Finished, Repeated, Mail, Answer, Changed, Killed} {
		expect = append(expect, string(kind))
	}
	for _, outer := range partNames {
		for _, inner := range partNames {
			for k := range 4 {
				if outer != inner && !refused(outer, inner) {
					expect = append(expect, drawn(outer, inner, k&1 > 0, k&2 > 0))
				}
			}
		}
	}
	seen := random.Histories{Few: 100, Many: 5000, Expect: expect, Enough: 5000, Run: func(t *testing.T, seed uint64, seen random.Seen) {
		h := Run(t, Generate(seed), Mutant{})
		if violations := Check(h); len(violations) > 0 {
			t.Error(explain(h, violations[0]))
		}
		for i, outer := range h.Plan.Parts {
			for _, inner := range h.Plan.Parts[i+1:] {
				seen.Saw(drawn(outer, inner, h.Plan.Poll, h.Plan.FIFO), true)
			}
		}
		for _, e := range h.Entries {
			seen.Saw(string(e.Kind), true)
		}
	}}.Check(t)
	for what := range seen {
		if !slices.Contains(expect, what) {
			t.Errorf("%s occurred", what)
		}
	}
}

// drawn is an order in a mode and a kind of queue.
func drawn(outer, inner string, poll, fifo bool) string {
	return fmt.Sprintf("%s around %s, poll %v, fifo %v", outer, inner, poll, fifo)
}

func explain(h *History, v Violation) string {
	return fmt.Sprintf("seed %d: %s: %s, at %v\n%v", h.Plan.Seed, v.Promise, v.Text, v.At.Sub(h.Began), h)
}

// The page has every order that is not drawn, and no other.
func TestPage_HasEveryWrongOrder(t *testing.T) {
	_, table, _ := docpage.Section(t, "../../docs/combining.md", "orders")
	shown := map[order]bool{}
	for _, row := range strings.Split(strings.TrimSpace(table), "\n")[2:] {
		cells := strings.Split(row, "|")
		shown[order{strings.Trim(cells[1], " `"), strings.Trim(cells[2], " `")}] = true
	}
	for _, outer := range partNames {
		for _, inner := range partNames {
			if o := (order{outer, inner}); refused(outer, inner) != shown[o] {
				t.Errorf("%s around %s: wrong here %v, on the page %v", outer, inner, refused(outer, inner), shown[o])
			}
			delete(shown, order{outer, inner})
		}
	}
	for o := range shown {
		t.Errorf("%+v on the page is unknown", o)
	}
}
