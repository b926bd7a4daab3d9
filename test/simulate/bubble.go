package simulate

import (
	"fmt"
	"testing"
	"testing/synctest"
)

// RunInBubble carries out a plan in a bubble of its own, of which nothing may
// be left at the end. It fails t when the plan cannot be carried out.
func RunInBubble(t *testing.T, p Plan, mutant Mutant) (h *History) {
	t.Helper()
	defer func() {
		v := recover() // synctest panics when goroutines are left
		switch {
		case v == nil:
		case h != nil:
			h.Leaked = fmt.Sprint(v)
		default:
			panic(v)
		}
	}()
	var err error
	synctest.Test(t, func(*testing.T) { h, err = Run(p, mutant) })
	if err != nil {
		t.Fatalf("seed %d: %v\n%v", p.Seed, err, p)
	}
	return h
}
