package view

import (
	"cmp"
	"fmt"
	"io"
	"os"
	"regexp"
	"strings"
	"time"
	"unicode/utf8"

	"golang.org/x/term"

	"github.com/sqsbatch/sqsbatch/cmd/sqsbatch/internal/show"
	"github.com/sqsbatch/sqsbatch/cmd/sqsbatch/internal/track"
)

// Colours by their SGR codes ("ECMA-48", Select Graphic Rendition).
const (
	bold    = "1"
	Aside   = "2"  // dim
	Bad     = "31" // red
	Good    = "32" // green
	Waiting = "33" // yellow
)

func colourOf(outcome string) string {
	switch outcome {
	case track.Succeeded:
		return Good
	case track.DeadLetter, track.Dropped, track.Lost:
		return Bad
	case track.Filtered, track.Duplicate, track.Expired:
		return Aside
	default:
		return Waiting
	}
}

// Paint returns s in a colour, if the terminal shows colours.
func (t Terminal) Paint(colour, s string) string {
	if !t.Colour || s == "" || colour == "" {
		return s
	}
	return show.Mark(colour) + s + show.Mark("0")
}

func (t *Text) paint(colour, s string) string { return t.term.Paint(colour, s) }

// narrowWidth is the width below which less important columns are left out.
const narrowWidth = 72

// Narrow reports whether less important columns are left out.
func (t Terminal) Narrow() bool { return t.Width != nil && t.Width() < narrowWidth }

// room returns the number of columns that are left in a line, at least 10; 0 for no limit.
func (t Terminal) room(used int) int {
	if t.Width == nil {
		return 0
	}
	return max(10, t.Width()-used)
}

// longBody limits the length of bodies in text, also without a terminal. The JSON output
// has whole bodies. longLog limits the length of the function's lines on a terminal.
const (
	longBody = 200
	longLog  = 1000
)

// indent is the indent of a row's further lines.
const indent = 5

// Row returns a row of columns: head, body, and a dim note. The body is padded to column.
// If the terminal is too narrow, the note has lines of its own. Without a terminal, a body
// with a note is cut to column.
func (t Terminal) Row(head, body string, column int, note string) string {
	whole := show.Fit(body, cmp.Or(t.room(visible(head)), longBody))
	if note == "" {
		return strings.TrimRight(head+whole, " ")
	}
	if t.Width == nil {
		return head + pad(show.Fit(body, column), column) + "  " + t.Paint(Aside, note)
	}
	column = min(column, t.Width()-visible(head)-2-visible(note))
	if visible(whole) <= column {
		return head + pad(whole, column) + "  " + t.Paint(Aside, note)
	}
	return head + whole + "\n" + t.Paint(Aside, t.wrap(strings.Repeat(" ", indent)+note, indent))
}

// wrap breaks a line that is wider than the terminal, between words and after the column
// indent. The further lines are indented.
func (t Terminal) wrap(line string, indent int) string {
	if t.Width == nil {
		return line
	}
	width := max(t.Width(), indent+10)
	var lines []string
	current, column := "", 0
	for word := range strings.SplitAfterSeq(line, " ") {
		n := visible(strings.TrimSuffix(word, " "))
		if n > 0 && column > indent && column+n > width && strings.TrimSpace(current) != "" {
			lines = append(lines, strings.TrimRight(current, " "))
			current, column = strings.Repeat(" ", indent), indent
		}
		current += word
		column += visible(word)
	}
	return strings.Join(append(lines, current), "\n")
}

var escape = regexp.MustCompile("\x1b[^m]*m")

// visible returns the number of columns of a line, without escape sequences.
func visible(line string) (columns int) {
	return utf8.RuneCountInString(escape.ReplaceAllString(line, ""))
}

// line writes s above the status line, in lines that fit the terminal.
func (t *Text) line(s string) { t.lineAt(indent, s) }

// lineAt is like line, with an indent for further lines.
func (t *Text) lineAt(indent int, s string) {
	rows := strings.Split(s, "\n")
	for i, row := range rows {
		rows[i] = t.term.wrap(row, indent)
	}
	t.raw(strings.Join(rows, "\n"))
}

// raw writes s above the status line without breaking it.
func (t *Text) raw(s string) {
	status := t.status
	t.redraw("")
	_, _ = io.WriteString(t.w, s+"\n")
	t.redraw(status)
}

// redraw replaces the status line and then erases its rest, which avoids flicker.
func (t *Text) redraw(status string) {
	if !t.term.Redraw || status == t.status {
		return
	}
	// The last column stays free, because some terminals wrap there.
	_, _ = io.WriteString(t.w, show.Mark("r")+t.paint(Aside, show.Fit(show.Clean(status), t.term.room(1)))+show.Mark("K"))
	t.status = status
}

// pad fills s with spaces up to width characters.
func pad(s string, width int) string {
	return fmt.Sprintf("%-*s", width, s)
}

// short returns d with two or three significant digits.
func short(d time.Duration) string {
	switch {
	case d < 0:
		return "-"
	case d < 100*time.Microsecond:
		return "<0.1ms"
	case d < 10*time.Millisecond:
		return fmt.Sprintf("%.1fms", float64(d)/float64(time.Millisecond))
	case d < time.Second:
		return fmt.Sprintf("%dms", d.Milliseconds())
	case d < time.Minute:
		s := fmt.Sprintf("%.1fs", d.Seconds())
		return strings.Replace(s, ".0s", "s", 1)
	case d < time.Hour:
		d = d.Round(time.Second)
		return strings.TrimSuffix(fmt.Sprintf("%dm%02ds", int(d.Minutes()), int(d.Seconds())%60), "00s")
	default:
		d = d.Round(time.Minute)
		return strings.TrimSuffix(fmt.Sprintf("%dh%02dm", int(d.Hours()), int(d.Minutes())%60), "00m")
	}
}

// A Terminal has the capabilities of the output. The zero value is a file or a pipe: no
// colour, no redrawing, lines of any length.
type Terminal struct {
	Redraw bool
	Colour bool
	// Width returns the number of columns; nil means no limit.
	Width func() int
}

// Detect returns the capabilities of an output. It respects NO_COLOR and TERM=dumb.
func Detect(w io.Writer) Terminal {
	out, _ := w.(*show.Out)
	f := out.File()
	if f == nil {
		return Terminal{}
	}
	fd := int(f.Fd())
	if !term.IsTerminal(fd) || os.Getenv("TERM") == "dumb" || !enableEscapes(f) {
		return Terminal{}
	}
	return Terminal{
		Redraw: true,
		Colour: os.Getenv("NO_COLOR") == "",
		Width: func() int {
			width, _, err := term.GetSize(fd)
			if err != nil || width <= 0 {
				return 80
			}
			return width
		},
	}
}
