package simulate

import (
	"flag"
	"fmt"
	"reflect"
	"runtime"
	"runtime/debug"
	"slices"
	"strings"
	"testing"

	"go.uber.org/goleak"

	"github.com/sqsbatch/sqsbatch/test/random"
)

var (
	lines  = flag.Int("lines", 60, "how many lines to print of a history that goes wrong: those around the moment")
	shrink = flag.Bool("shrink", true, "make a plan that goes wrong smaller")
	mode   = flag.String("mode", "", "lambda or poll: only the histories of that mode")
)

func TestMain(m *testing.M) {
	runtime.GOMAXPROCS(1)
	debug.SetGCPercent(400) // a fifth of the processor time
	goleak.VerifyTestMain(m, goleak.IgnoreAnyFunction("github.com/sqsbatch/sqsbatch/test/simulate.leftBehind"))
}

// TestSimulate carries out histories, by default a few:
//
//	go test ./test/simulate -run '^TestSimulate$' -count=1 -v -args -seed=1 -histories=10000
func TestSimulate(t *testing.T) {
	random.Histories{Few: 60, Many: 60, Expect: expected(), Enough: 5000, Run: func(t *testing.T, seed uint64, seen random.Seen) {
		p := Generate(seed)
		if *mode != "" && (*mode == "poll") != p.Polls() {
			return
		}
		h, err := RunInBubble(t, p, Mutant{})
		if err != nil {
			t.Fatalf("the plan cannot be carried out: %v\n%v", err, p)
		}
		if violations := Check(h); len(violations) > 0 {
			t.Error(explain(t, h, violations[0], Mutant{}))
		}
		coverage{seen}.history(h)
	}}.Check(t)
}

const (
	// shrinkRuns is how often a smaller plan is carried out before it counts
	// as good, and shrinkTries how many smaller plans are tried.
	shrinkRuns  = 3
	shrinkTries = 300
)

// explain shrinks a plan that went wrong, and tells what is left.
func explain(t *testing.T, h *History, v Violation, mutant Mutant) string {
	tries := shrinkTries
	if !*shrink {
		tries = 0
	}
	smaller := Shrink(h.Plan, tries, func(p Plan) bool {
		for range shrinkRuns {
			again, err := RunInBubble(t, p, mutant)
			if err != nil {
				return false // it makes no sense
			}
			for _, w := range Check(again) {
				if w.Invariant == v.Invariant {
					h, v = again, w
					return true
				}
			}
		}
		return false
	})
	var b strings.Builder
	fmt.Fprintf(&b, "seed %d, %s: %s (at %s)\n\n", smaller.Seed, v.Invariant, v.Text, since(h.Began, v.At))
	fmt.Fprintf(&b, "The smallest plan that was found:\n%v\nWhat happened:\n%s\n", smaller, h.Timeline(v.At, *lines))
	fmt.Fprintf(&b, "Again: make simulate SEED=%d HISTORIES=1\n", smaller.Seed)
	return b.String()
}

func TestASeedGivesOnePlan(t *testing.T) {
	for seed := range uint64(200) {
		p := Generate(seed)
		if again := Generate(seed); !reflect.DeepEqual(p, again) {
			t.Fatalf("seed %d gives\n%v\nand\n%v", seed, p, again)
		}
		if !p.sound() {
			t.Errorf("seed %d gives a plan that makes no sense:\n%v", seed, p)
		}
	}
}

// What is printed of a history that went wrong names the invariant, the message and the command, and is short.
func TestExplain(t *testing.T) {
	broken := respond(func(report, event) report { return report{BatchItemFailures: []failure{}} })
	for seed := range uint64(within) {
		h, err := RunInBubble(t, Generate(seed), broken)
		if err != nil {
			t.Fatal(err)
		}
		violations := Check(h)
		k := slices.IndexFunc(violations, func(v Violation) bool { return v.Invariant == DeletedOnlyWhenDone })
		if k < 0 {
			continue
		}
		text := explain(t, h, violations[k], broken)
		for _, want := range []string{string(DeletedOnlyWhenDone), "event deleted:", "handling started:", "make simulate SEED="} {
			if !strings.Contains(text, want) {
				t.Errorf("%q is missing in\n%s", want, text)
			}
		}
		if n := strings.Count(text, "\n"); n > *lines+20 {
			t.Errorf("%d lines:\n%s", n, text)
		}
		return
	}
	t.Error("nothing went wrong")
}
