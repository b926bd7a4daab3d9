package simulate

import (
	"fmt"
	"testing"
	"testing/synctest"
)

// RunInBubble carries out a plan in a bubble of its own, of which nothing may
// be left at the end.
func RunInBubble(t *testing.T, p Plan, mutant Mutant) (h *History, err error) {
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
	synctest.Test(t, func(*testing.T) { h, err = Run(p, mutant) })
	return h, err
}
