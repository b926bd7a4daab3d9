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
	shown := make([]bool, len(lines))
	for i, l := range lines {
		for near := max(0, i-context); l.Sign != ' ' && near < min(len(lines), i+context+1); near++ {
			shown[near] = true
		}
	}
	if !slices.Contains(shown, true) {
		return ""
	}
	var out strings.Builder
	fmt.Fprintf(&out, "--- %s\n+++ %s\n", path, path)
	before, after := 0, 0 // lines above i in each text
	for i := 0; i < len(lines); {
		end := i + 1
		for end < len(lines) && shown[end] == shown[i] {
			end++
		}
		old, now := count(lines[i:end], '+'), count(lines[i:end], '-')
		if shown[i] {
			fmt.Fprintf(&out, "@@ -%s +%s @@\n", extent(before, old), extent(after, now))
			writeLines(&out, lines[i:end])
		}
		i, before, after = end, before+old, after+now
	}
	return out.String()
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

func writeLines(out *strings.Builder, lines []linediff.Line) {
	for _, l := range lines {
		text, ended := strings.CutSuffix(l.Text, "\n")
		out.WriteString(string(l.Sign) + text + "\n")
		if !ended {
			out.WriteString("\\ No newline at end of file\n")
		}
	}
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
