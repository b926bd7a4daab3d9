package linediff_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/sqsbatch/sqsbatch/cmd/sqsbatch/internal/linediff"
)

// A difference has both texts, and no more edits than the longest common subsequence leaves.
func TestCompare_IsShortest(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 1))
	for range 5000 {
		a, b := letters(r), letters(r)
		lines := linediff.Compare(a, b)
		if got := side(lines, '+'); !slices.Equal(got, a) {
			t.Fatalf("%v of %v and %v has %v", lines, a, b, got)
		}
		if got := side(lines, '-'); !slices.Equal(got, b) {
			t.Fatalf("%v of %v and %v has %v", lines, a, b, got)
		}
		if equal, want := len(a)+len(b)-len(lines), common(a, b); equal != want {
			t.Fatalf("%v of %v and %v has %d lines of both, want %d", lines, a, b, equal, want)
		}
	}
}

func TestCompare_ManyChanges(t *testing.T) {
	for _, changes := range []int{260, 2000} {
		a, b := []string{"{"}, []string{"{"}
		for i := range changes {
			a, b = append(a, fmt.Sprint("old ", i)), append(b, fmt.Sprint("new ", i))
		}
		a, b = append(a, "}"), append(b, "}")
		lines := linediff.Compare(a, b)
		if len(lines) != 2*changes+2 || lines[0].Sign != ' ' || lines[len(lines)-1].Sign != ' ' || !slices.Equal(side(lines, '+'), a) || !slices.Equal(side(lines, '-'), b) {
			t.Errorf("%d changes: %d lines, from %v to %v", changes, len(lines), lines[0], lines[len(lines)-1])
		}
	}
}

func letters(r *rand.Rand) []string {
	list := make([]string, r.IntN(9))
	for i := range list {
		list[i] = string("abc"[r.IntN(3)])
	}
	return list
}

// side is the text without the lines of a sign.
func side(lines []linediff.Line, without byte) (texts []string) {
	texts = []string{}
	for _, l := range lines {
		if l.Sign != without {
			texts = append(texts, l.Text)
		}
	}
	return texts
}

// common is the length of the longest common subsequence.
func common(a, b []string) int {
	if len(a) == 0 || len(b) == 0 {
		return 0
	}
	if a[0] == b[0] {
		return 1 + common(a[1:], b[1:])
	}
	return max(common(a[1:], b), common(a, b[1:]))
}
