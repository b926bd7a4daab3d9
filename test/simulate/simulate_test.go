package simulate

import (
	"flag"
	"fmt"
	"os"
	"reflect"
	"runtime"
	"runtime/debug"
	"slices"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/sqsbatch/sqsbatch/test/random"
)

var (
	lines  = flag.Int("lines", 60, "how many lines to print of a history that goes wrong: those around the moment")
	shrink = flag.Bool("shrink", true, "make a plan that goes wrong smaller")
	record = flag.String("record", "", "write each history to this file, the last one stays: sqsbatch play shows it")
	mode   = flag.String("mode", "", "lambda or poll: only the histories of that mode")
)

func TestMain(m *testing.M) {
	runtime.GOMAXPROCS(1)
	debug.SetGCPercent(-1)
	debug.SetMemoryLimit(300 << 20)
	goleak.VerifyTestMain(m, goleak.IgnoreAnyFunction("github.com/sqsbatch/sqsbatch/test/simulate.leftBehind"))
}

// TestSimulate carries out histories, by default a few:
//
//	go test ./test/simulate -run '^TestSimulate$' -count=1 -v -args -seed=1 -histories=10000
func TestSimulate(t *testing.T) {
	began := time.Now()
	seen := random.Histories{Few: 60, Many: 60, Processes: true, Expect: expected(), Enough: 5000, Run: func(t *testing.T, seed uint64, seen random.Seen) {
		p := Generate(seed)
		if *mode != "" && (*mode == "poll") != p.Polls() {
			return
		}
		h, err := RunInBubble(t, p, Mutant{})
		if err != nil {
			t.Fatalf("the plan cannot be carried out: %v\n%v", err, p)
		}
		violations := Check(h)
		if *record != "" {
			if err := writeRecord(*record, h, violations...); err != nil {
				t.Fatal(err)
			}
		}
		if len(violations) > 0 {
			t.Error(explain(t, h, violations[0], Mutant{}))
		}
		coverage{seen}.history(h)
	}}.Check(t)
	if seen != nil && *ledgerFile != "" && !t.Failed() {
		addTo(t, *ledgerFile, seen, time.Since(began))
	}
}

// shrinkTries is how many smaller plans are tried.
const shrinkTries = 500

// explain shrinks a plan that went wrong, keeps its history in a file, and tells what is left.
func explain(t *testing.T, h *History, v Violation, mutant Mutant) string {
	tries := shrinkTries
	if !*shrink {
		tries = 0
	}
	seed := h.Plan.Seed
	smaller := Shrink(h.Plan, tries, func(p Plan) bool {
		again, err := RunInBubble(t, p, mutant)
		if err != nil {
			return false // it makes no sense
		}
		violations := Check(again)
		k := slices.IndexFunc(violations, func(w Violation) bool { return w.Invariant == v.Invariant })
		if k >= 0 {
			h, v = again, violations[k]
		}
		return k >= 0
	})
	var b strings.Builder
	fmt.Fprintf(&b, "seed %d, %s: %s (at %s)\n\n", seed, v.Invariant, v.Text, since(h.Began, v.At))
	fmt.Fprintf(&b, "The smallest plan that was found:\n%v\nWhat happened:\n%s\n", smaller, h.Timeline(v.At, *lines))
	fmt.Fprintf(&b, "Again: make simulate SEED=%d HISTORIES=1\nAll of it: %s\n", seed, keep(t, seed, h, v))
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
	defer func(folder string) { *failed = folder }(*failed)
	*failed = t.TempDir()
	broken := respond(func(report, event) report { return report{BatchItemFailures: []failure{}} })
	for seed := uint64(8); seed < within; seed++ { // the one before has many messages
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
		for _, want := range []string{string(DeletedOnlyWhenDone), " deletes record ", "handler starts record ", "make simulate SEED="} {
			if !strings.Contains(text, want) {
				t.Errorf("%q is missing in\n%s", want, text)
			}
		}
		if n := strings.Count(text, "\n"); n > *lines+20 {
			t.Errorf("%d lines:\n%s", n, text)
		}
		// The file has all that it takes to have it again.
		_, file, _ := strings.Cut(strings.TrimSpace(text), "All of it: ")
		if record, err := os.ReadFile(strings.TrimSuffix(file, "txt") + "jsonl"); err != nil || !strings.Contains(string(record), string(DeletedOnlyWhenDone)) {
			t.Errorf("the recording is %.200s, %v", record, err)
		}
		if h, err = RunInBubble(t, kept(t, file), broken); err != nil {
			t.Fatal(err)
		}
		if !slices.ContainsFunc(Check(h), func(v Violation) bool { return v.Invariant == DeletedOnlyWhenDone }) {
			t.Errorf("%s does not go wrong again", file)
		}
		t.Log(text)
		return
	}
	t.Error("nothing went wrong")
}
