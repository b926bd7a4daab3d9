package combine

import (
	"cmp"
	"flag"
	"fmt"
	"testing"

	"go.uber.org/goleak"

	"github.com/sqsbatch/sqsbatch/internal/cases"
)

var (
	seed      = flag.Uint64("seed", 1, "the seed of the first history; each has the next")
	histories = flag.Int("histories", 0, "how many histories; 0 for few, or many with TEST_MANY")
	goOn      = flag.Bool("all", false, "go on after a history that goes wrong")
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// TestCombine carries out histories of what the page docs/combining.md allows.
func TestCombine(t *testing.T) {
	for s := range uint64(cmp.Or(*histories, cases.Of(100, 5000))) {
		h := Run(t, Generate(*seed+s), Mutant{})
		if violations := Check(h); len(violations) > 0 {
			t.Error(explain(h, violations[0]))
			if !*goOn {
				return
			}
		}
	}
}

func explain(h *History, v Violation) string {
	return fmt.Sprintf("seed %d: %s: %s, at %v\n%v", h.Plan.Seed, v.Promise, v.Text, v.At.Sub(h.Began), h)
}
