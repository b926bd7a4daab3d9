package lint

import (
	"fmt"
	"slices"
	"strings"

	"github.com/sqsbatch/sqsbatch/internal/linediff"
)

// context is the number of equal lines that a diff shows around a change.
const context = 3

// Diff returns a unified diff of two texts, "" if they are equal.
func Diff(path string, from, to []byte) string {
	lines := linediff.Compare(split(string(from)), split(string(to)))
	var out strings.Builder
	a, b := 0, 0 // lines before the current one in each text
	for i := 0; i < len(lines); {
		first := slices.IndexFunc(lines[i:], func(l linediff.Line) bool { return l.Sign != ' ' })
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

// hunkEnd is the end of the hunk with the change at i: behind it are more equal lines than
// two hunks have between them.
func hunkEnd(lines []linediff.Line, i int) int {
	equal := 0
	for ; i < len(lines) && equal <= 2*context; i++ {
		if equal++; lines[i].Sign != ' ' {
			equal = 0
		}
	}
	return i - max(0, equal-context)
}

// count is the number of lines without those of a sign.
func count(lines []linediff.Line, without byte) (n int) {
	for _, l := range lines {
		if l.Sign != without {
			n++
		}
	}
	return n
}

// writeHunk writes a hunk that begins after a lines of the first text and b of the second. It
// returns the number of its lines without those of a sign.
func writeHunk(out *strings.Builder, lines []linediff.Line, a, b int, without byte) int {
	fmt.Fprintf(out, "@@ -%s +%s @@\n", extent(a, count(lines, '+')), extent(b, count(lines, '-')))
	for _, l := range lines {
		out.WriteString(string(l.Sign) + strings.TrimSuffix(l.Text, "\n") + "\n")
		if !strings.HasSuffix(l.Text, "\n") {
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
