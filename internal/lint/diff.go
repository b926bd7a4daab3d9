package lint

import (
	"fmt"
	"slices"
	"strings"
)

// context is the number of equal lines that a diff shows around a change.
const context = 3

// A line of a diff: ' ' if both texts have it, '-' if only the first has it, '+' if only the
// second has it.
type line struct {
	sign byte
	text string
}

// Diff returns a unified diff of two texts, "" if they are equal.
func Diff(path string, from, to []byte) string {
	lines := compare(split(string(from)), split(string(to)))
	var out strings.Builder
	a, b := 0, 0 // lines before the current one in each text
	for i := 0; i < len(lines); {
		first := slices.IndexFunc(lines[i:], func(l line) bool { return l.sign != ' ' })
		if first < 0 {
			break
		}
		if out.Len() == 0 {
			fmt.Fprintf(&out, "--- %s\n+++ %s\n", path, path)
		}
		skipped := max(0, first-context)
		i, a, b = i+skipped, a+skipped, b+skipped
		end := hunkEnd(lines, i+first-skipped)
		i, a, b = end, a+writeHunk(&out, lines[i:end], a, b, '+'), b+count(lines[i:end], '-')
	}
	return out.String()
}

// hunkEnd is the end of the hunk with the change at i: behind it are more equal lines than two
// hunks have between them.
func hunkEnd(lines []line, i int) int {
	equal := 0
	for ; i < len(lines) && equal <= 2*context; i++ {
		if equal++; lines[i].sign != ' ' {
			equal = 0
		}
	}
	return i - max(0, equal-context)
}

// count is the number of lines without those of a sign.
func count(lines []line, without byte) (n int) {
	for _, l := range lines {
		if l.sign != without {
			n++
		}
	}
	return n
}

// writeHunk writes a hunk that begins after a lines of the first text and b of the second. It
// returns the number of its lines without those of a sign.
func writeHunk(out *strings.Builder, lines []line, a, b int, without byte) int {
	fmt.Fprintf(out, "@@ -%s +%s @@\n", extent(a, count(lines, '+')), extent(b, count(lines, '-')))
	for _, l := range lines {
		out.WriteString(string(l.sign) + strings.TrimSuffix(l.text, "\n") + "\n")
		if !strings.HasSuffix(l.text, "\n") {
			out.WriteString("\\ No newline at end of file\n")
		}
	}
	return count(lines, without)
}

// extent is a range of a hunk's header. A range without lines begins at the line before it.
func extent(before, n int) string {
	if n == 0 {
		return fmt.Sprintf("%d,0", before)
	}
	return fmt.Sprintf("%d,%d", before+1, n)
}

// split splits a text after its line ends.
func split(text string) []string {
	lines := strings.SplitAfter(text, "\n")
	if lines[len(lines)-1] == "" {
		return lines[:len(lines)-1]
	}
	return lines
}

// compare finds the shortest edit from one list of lines to another (Myers, "An O(ND)
// Difference Algorithm and Its Variations"). reached[d][k] is how far in a one comes with d
// edits on the diagonal k.
func compare(a, b []string) []line {
	var reached []map[int]int
	at := map[int]int{1: 0}
	for d := 0; ; d++ {
		reached = append(reached, at)
		next := map[int]int{}
		for k := -d; k <= d; k += 2 {
			x := at[k-1] + 1
			if k == -d || k != d && at[k-1] < at[k+1] {
				x = at[k+1]
			}
			for x < len(a) && x-k < len(b) && a[x] == b[x-k] {
				x++
			}
			next[k] = x
			if x >= len(a) && x-k >= len(b) {
				return script(a, b, reached)
			}
		}
		at = next
	}
}

// script reads the edits from the end of both lists to their start.
func script(a, b []string, reached []map[int]int) (lines []line) {
	x, y := len(a), len(b)
	for d := len(reached) - 1; d >= 0; d-- {
		k := x - y
		before := k - 1
		if k == -d || k != d && reached[d][k-1] < reached[d][k+1] {
			before = k + 1
		}
		fromX := reached[d][before]
		fromY := fromX - before
		for x > max(fromX, 0) && y > max(fromY, 0) {
			x, y = x-1, y-1
			lines = append(lines, line{' ', a[x]})
		}
		switch {
		case d == 0:
		case x == fromX:
			y--
			lines = append(lines, line{'+', b[y]})
		default:
			x--
			lines = append(lines, line{'-', a[x]})
		}
	}
	slices.Reverse(lines)
	return lines
}
