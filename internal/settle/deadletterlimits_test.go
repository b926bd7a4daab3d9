package settle_test

import (
	"strings"
	"testing"

	"github.com/sqsbatch/sqsbatch/batch"
)

func TestLargeDeadLetters_AreSplitOverCalls(t *testing.T) {
	inBubble(t, standardQueue, func(f *fixture) {
		for range 5 { // 400 KB each: two to a call
			f.Send(strings.Repeat("x", 400_000) + ":never")
		}
		records := f.Receive(10)
		f.settling.DeadLetterQueue = f.DeadLetterURL
		f.ForgetCalls()
		results := f.invoke(records, byBody)
		for _, r := range results {
			if r.Outcome != batch.DeadLettered {
				t.Errorf("%v, warnings %q", r.Outcome, f.warnings)
			}
		}
		if got := f.Calls(); len(got) != 3 {
			t.Errorf("calls %v, want 3", got)
		}
	})
}
