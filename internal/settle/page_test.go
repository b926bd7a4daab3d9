package settle_test

import (
	"flag"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/sqsbatch/sqsbatch/batch"
	"github.com/sqsbatch/sqsbatch/test/docpage"
)

var update = flag.Bool("update", false, "write the schedule into docs/outages.md")

// docs/outages.md has the waits as they are, and the sums that its text names.
func TestThePageHasTheSchedule(t *testing.T) {
	const page = "../../docs/outages.md"
	table := "| `maxReceiveCount` | waits in seconds, without jitter | together at least | with all jitter |\n| --- | --- | --- | --- |\n"
	for _, most := range []int{3, 5, 8, 10, 20} {
		var waits []string
		var least, longest time.Duration
		for attempt := 1; attempt < most; attempt++ {
			a, b := bounds(t, most, attempt)
			waits, least, longest = append(waits, fmt.Sprint(int(a.Seconds()))), least+a, longest+b
		}
		table += fmt.Sprintf("| %d | %s | %v | %v |\n", most, strings.Join(waits, ", "), least, longest)
	}
	docpage.RequireSection(t, page, "schedule", table, *update)
	text := docpage.Read(t, page)
	for _, say := range []string{"| 5 | 2, 15, 107, 777 | 15m1s | 22m", "5 attempts over at least 15m1s", "for 15 to 23 minutes", "with 5 for 32 to 48 s"} {
		if !strings.Contains(text, say) {
			t.Errorf("the page does not say %q", say)
		}
	}
	if a, b := bounds(t, 5, 5); a != 32*second || b != 48*second {
		t.Errorf("after the last attempt of 5 it is hidden for %v to %v", a, b)
	}
}

// bounds are the shortest and the longest that a record waits after it failed at an
// attempt: so many records draw every value.
func bounds(t *testing.T, most, attempt int) (shortest, longest time.Duration) {
	t.Helper()
	s := newSettler(t, 0, most)
	for i := range 6000 {
		d := s.Backoff(&batch.Record{MessageID: fmt.Sprint(i), Attempt: attempt, QueueARN: standardARN}, time.Now())
		if longest = max(longest, d); i == 0 || d < shortest {
			shortest = d
		}
	}
	if want := shortest + max(shortest/2, 3*second).Truncate(second); longest != want {
		t.Fatalf("attempt %d of %d: drew %v to %v, want up to %v", attempt, most, shortest, longest, want)
	}
	return shortest, longest
}
