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

// A plan is shrunk to what makes it go wrong, here one message and one fault,
// and the original stays as it is.
func TestShrink(t *testing.T) {
	for seed := range uint64(100) {
		p := Generate(seed)
		if len(p.Messages) < 4 || len(p.Faults) == 0 {
			continue
		}
		number, kind := p.Messages[3].Number, p.Faults[0].Kind
		before := p.clone()
		smaller := Shrink(p, 5000, func(p Plan) bool {
			return slices.ContainsFunc(p.Messages, func(m Message) bool { return m.Number == number }) &&
				len(p.Faults) > 0 && p.Faults[0].Kind == kind
		})
		if len(smaller.Messages) != 1 || len(smaller.Messages[0].Acts) != 0 || len(smaller.Faults) != 1 || len(smaller.Kills) != 0 || len(smaller.Queues) != 1 {
			t.Errorf("seed %d is shrunk to\n%v", seed, smaller)
		}
		if !reflect.DeepEqual(p, before) {
			t.Errorf("seed %d: shrinking changed the plan", seed)
		}
	}
}

func TestShrinkStopsAtItsBudget(t *testing.T) {
	calls := 0
	Shrink(Generate(2), 7, func(Plan) bool {
		calls++
		return false
	})
	if calls > 7 {
		t.Errorf("%d plans were carried out", calls)
	}
}

// What is printed of a history that went wrong names the invariant, the message
// and the command, and is short.
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
