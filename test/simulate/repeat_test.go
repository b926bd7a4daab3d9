package simulate

import (
	"crypto/sha256"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/sqsbatch/sqsbatch/handler"
	"github.com/sqsbatch/sqsbatch/test/random"
)

// A seed gives one history, byte for byte. The sum of many is for comparing processes and versions of Go.
func TestASeedGivesOneHistory(t *testing.T) {
	var sum [sha256.Size]byte
	random.Histories{Few: 12, Many: 1000, Run: func(t *testing.T, seed uint64, _ random.Seen) {
		p := Generate(seed)
		first, again := textOf(t, p, Mutant{}), textOf(t, p, Mutant{})
		if first != again {
			t.Error(firstDifference(first, again))
		}
		for i, b := range sha256.Sum256([]byte(first)) {
			sum[i] ^= b
		}
	}}.Check(t)
	t.Logf("sum of the histories: %x", sum[:8])
}

// What no seed decides is seen.
func TestADrawThatNoSeedDecides_GivesAnotherHistory(t *testing.T) {
	random.Catch(t, within, func(t *testing.T, seed uint64) string {
		m := Mutant{Config: func(c *handler.Config) {
			c.Failures.Backoff = func(int) time.Duration { return time.Duration(1+rand.IntN(100)) * time.Second }
		}}
		p := Generate(seed)
		if first, again := textOf(t, p, m), textOf(t, p, m); first != again {
			return firstDifference(first, again)
		}
		return ""
	})
}

func textOf(t *testing.T, p Plan, m Mutant) string {
	h, err := RunInBubble(t, p, m)
	if err != nil {
		t.Fatal(err)
	}
	return h.Text()
}

func firstDifference(a, b string) string {
	x, y := strings.Split(a, "\n"), strings.Split(b, "\n")
	k := 0
	for k < min(len(x), len(y))-1 && x[k] == y[k] {
		k++
	}
	return "two runs of one plan differ:\n" + x[k] + "\n" + y[k]
}
