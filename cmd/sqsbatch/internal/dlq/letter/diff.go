package letter

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/sqsbatch/sqsbatch/cmd/sqsbatch/internal/linediff"
	"github.com/sqsbatch/sqsbatch/cmd/sqsbatch/internal/show"
)

// Bounds of a difference, so that it stays short for large bodies.
const (
	diffContext = 2    // unchanged lines before and after a change
	diffLines   = 400  // lines that are shown
	diffWidth   = 1000 // characters that are shown of a line
)

// Diff returns what an edit changes in body, attributes and group, in lines that begin with
// "-", "+" or a blank. JSON is shown indented. It is "" if nothing changes, and plain text that
// does not control a terminal.
func Diff(before, after Letter) string {
	lines := linediff.Compare(before.lines(), after.lines())
	var out strings.Builder
	shown, end := 0, 0 // end is behind the last line that was shown
	for i, line := range lines {
		near := lines[max(0, i-diffContext):min(len(lines), i+diffContext+1)]
		if !slices.ContainsFunc(near, func(l linediff.Line) bool { return l.Sign != ' ' }) {
			continue
		}
		if shown++; shown > diffLines {
			fmt.Fprintf(&out, "  … and more: only the first %d lines are shown\n", diffLines)
			break
		}
		if i > end {
			out.WriteString("  …\n")
		}
		fmt.Fprintf(&out, "%c %s\n", line.Sign, show.Fit(line.Text, diffWidth))
		end = i + 1
	}
	return out.String()
}

// lines is what Diff compares, without characters that control a terminal.
func (l *Letter) lines() []string {
	lines := strings.Split(pretty(l.Body), "\n")
	for _, name := range slices.Sorted(maps.Keys(l.Attributes)) {
		a := l.Attributes[name]
		value := a.StringValue
		if kindOf(a.DataType) == "Binary" {
			value = hexOf(a.BinaryValue, len(a.BinaryValue))
		}
		lines = append(lines, fmt.Sprintf("attribute %s (%s): %s", name, a.DataType, value))
	}
	if l.GroupID != "" {
		lines = append(lines, "group: "+l.GroupID)
	}
	for i, line := range lines {
		lines[i] = show.Clean(line)
	}
	return lines
}

// maxDepth bounds the size of indented JSON. Each line of a value that is nested 9,000 deep begins
// with 18 KB of blanks, so that a message of 1 MiB could take gigabytes.
const maxDepth = 100

// pretty indents a text if it is JSON that is not nested too deeply.
func pretty(text string) string {
	depth, inString := 0, false
	for i := 0; i < len(text) && depth <= maxDepth; i++ {
		switch c := text[i]; {
		case inString && c == '\\':
			i++
		case c == '"':
			inString = !inString
		case !inString && (c == '{' || c == '['):
			depth++
		case !inString && (c == '}' || c == ']'):
			depth--
		}
	}
	var out bytes.Buffer
	if depth > maxDepth || json.Indent(&out, []byte(text), "", "  ") != nil {
		return text
	}
	return out.String()
}

// hexOf shows bytes, at most limit of them.
func hexOf(data []byte, limit int) string {
	text := fmt.Sprintf("% x", data[:min(limit, len(data))])
	if len(data) > limit {
		text += " …"
	}
	return text
}
