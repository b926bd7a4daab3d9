package view

import (
	"fmt"

	"github.com/sqsbatch/sqsbatch/cmd/sqsbatch/internal/show"
	"github.com/sqsbatch/sqsbatch/cmd/sqsbatch/internal/track"
)

// number is that of an invocation, or "sqs" if there was none.
func number(invocation int) string { return by(invocation, 0) }

// by says who handled something: an invocation, a process or SQS.
func by(invocation, process int) string {
	switch {
	case process > 0:
		return pad(fmt.Sprintf("p%d", process), 5)
	case invocation > 0:
		return pad(fmt.Sprintf("#%d", invocation), 5)
	default:
		return pad("sqs", 5)
	}
}

// process shows that one has started or ended.
func (t *Text) process(p track.Process) {
	switch {
	case p.Ended == "":
		t.line(t.paint(bold, by(0, p.Process)+"started") + t.paint(dim, fmt.Sprintf(", process %d", p.PID)))
	case p.Asked:
		line := by(0, p.Process) + t.paint(dim, "stopped: "+p.Ended)
		if p.CutOff > 0 {
			line += t.paint(red, fmt.Sprintf(", while it held %s", show.Count(p.CutOff, "record")))
		}
		t.line(line)
	default:
		line := by(0, p.Process) + t.paint(red, "ended by itself: ") + show.Clean(p.Ended)
		if p.Again > 0 {
			line += t.paint(dim, "; it starts again in "+short(p.Again))
		}
		if p.CutOff < 0 {
			line += t.paint(dim, "; the records that it held come back after their visibility timeout")
		}
		t.line(line)
	}
}

// label begins a warning's line.
func (t *Text) label(w track.Warning) string {
	if w.Serious {
		return t.paint(red, "error: ")
	}
	return t.paint(yellow, "warning: ")
}

// startsAndCrashes sums up the processes at the end.
func startsAndCrashes(p track.Progress) string {
	text := plural(p.Starts, "process", "processes")
	if p.Crashes > 0 {
		text += fmt.Sprintf(", %d of them ended by itself", p.Crashes)
	}
	return text
}
