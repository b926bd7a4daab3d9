package simulate

import (
	"reflect"
	"slices"
	"strings"
	"testing"
)

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
		for _, want := range []string{string(DeletedOnlyWhenDone), "deleted     message", "handler   message", "make simulate SEED="} {
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
