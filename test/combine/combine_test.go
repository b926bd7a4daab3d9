package combine

import (
	"cmp"
	"flag"
	"fmt"
	"strings"
	"testing"

	"go.uber.org/goleak"

	"github.com/sqsbatch/sqsbatch/test/cases"
	"github.com/sqsbatch/sqsbatch/test/docpage"
)

var (
	seed      = flag.Uint64("seed", 1, "the seed of the first history; each has the next")
	histories = flag.Int("histories", 0, "how many histories; 0 for few, or many with TEST_MANY")
	goOn      = flag.Bool("all", false, "go on after a history that goes wrong")
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// TestCombine carries out histories of what the page docs/combining.md allows.
func TestCombine(t *testing.T) {
	n := cmp.Or(*histories, cases.Of(100, 5000))
	seen := map[any]int{}
	for s := range uint64(n) {
		h := Run(t, Generate(*seed+s), Mutant{})
		if violations := Check(h); len(violations) > 0 {
			t.Error(explain(h, violations[0]))
			if !*goOn {
				return
			}
		}
		for i, outer := range h.Plan.Parts {
			for _, inner := range h.Plan.Parts[i+1:] {
				seen[drawn{order{outer, inner}, h.Plan.Poll, h.Plan.FIFO}]++
			}
		}
		for _, e := range h.Entries {
			seen[e.Kind]++
		}
	}
	if n < 5000 {
		return
	}
	for _, kind := range kinds {
		if seen[kind] == 0 {
			t.Errorf("%q never occurred", kind)
		}
	}
	for _, outer := range partNames {
		for _, inner := range partNames {
			for k := range 4 {
				d := drawn{order{outer, inner}, k&1 > 0, k&2 > 0}
				if may := outer != inner && !refused(outer, inner); may != (seen[d] > 0) {
					t.Errorf("%+v occurred %d times", d, seen[d])
				}
			}
		}
	}
}

// drawn is an order in a mode and a kind of queue.
type drawn struct {
	order
	Poll, FIFO bool
}

// kinds are the entries of histories in which nothing is wrong.
var kinds = []Kind{Sent, Received, Deleted, Dead, Called, Ended, Committed, Completed, KeptFailure, Finished, Repeated, Mail, Answer, Changed, Killed}

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
