package view

import (
	"io"

	"github.com/sqsbatch/sqsbatch/cmd/sqsbatch/internal/show"
	"github.com/sqsbatch/sqsbatch/cmd/sqsbatch/internal/track"
)

// Colours by their SGR codes ("ECMA-48", Select Graphic Rendition).
const (
	bold   = "1"
	dim    = "2"
	red    = "31"
	green  = "32"
	yellow = "33"
)

func colourOf(outcome string) string {
	switch outcome {
	case track.Succeeded:
		return green
	case track.DeadLetter, track.Dropped, track.Lost:
		return red
	case track.Filtered:
		return dim
	default:
		return yellow
	}
}

func (t *Text) paint(colour, s string) string {
	if !t.term.Colour || s == "" {
		return s
	}
	return "\x1b[" + colour + "m" + s + "\x1b[0m"
}

// room is how many columns are left of a line, at least 10; 0 for no limit.
func (t *Text) room(used int) int {
	if t.term.Width == nil {
		return 0
	}
	return max(10, t.term.Width()-used)
}

// longBody is as much of a body as is ever shown, also where there is no terminal
// whose width would cut it. The JSON output has all of it.
const longBody = 200

// line writes s above the last line.
func (t *Text) line(s string) {
	status := t.status
	t.redraw("")
	_, _ = io.WriteString(t.w, s+"\n")
	t.redraw(status)
}

// redraw replaces the last line, then erases its end: so it does not flicker.
func (t *Text) redraw(status string) {
	if !t.term.Redraw || status == t.status {
		return
	}
	// One column is kept free: in the last one some terminals wrap.
	_, _ = io.WriteString(t.w, "\r"+t.paint(dim, show.Fit(status, t.room(1)))+"\x1b[K")
	t.status = status
}
