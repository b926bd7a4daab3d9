package letter

import (
	"fmt"
	"io"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/sqsbatch/sqsbatch/cmd/sqsbatch/internal/show"
	"github.com/sqsbatch/sqsbatch/cmd/sqsbatch/internal/view"
)

// Bounds of what Text shows. The JSON form of a report has all.
const (
	shownGroups  = 20
	shownBars    = 24
	shownName    = 80 // characters of a group's name where there is no terminal
	maxBar       = 60
	withoutWidth = 80 // columns of the plot where there is no terminal
)

// Text writes the report for people. t says what w can do. Times are in UTC.
func (r Report) Text(w io.Writer, t view.Terminal) error {
	var out strings.Builder
	r.summary(&out, t)
	r.groups(&out, t)
	r.plot(&out, t)
	_, err := io.WriteString(w, out.String())
	return err
}

// wrapped writes a line, in several if it does not fit.
func wrapped(out *strings.Builder, t view.Terminal, line string) {
	if t.Width == nil {
		out.WriteString(line + "\n")
		return
	}
	for i, part := range show.Wrap(line, max(20, t.Width()-2)) {
		if i > 0 {
			out.WriteString("  ")
		}
		out.WriteString(part + "\n")
	}
}

func (r Report) summary(out *strings.Builder, t view.Terminal) {
	if r.Total == 0 {
		wrapped(out, t, "no dead letters")
		return
	}
	line := show.Count(r.Total, "dead letter")
	if !r.Oldest.IsZero() {
		line += fmt.Sprintf(", sent %s to %s ago", age(r.At.Sub(r.Oldest)), age(r.At.Sub(r.Newest)))
	}
	wrapped(out, t, line)
	wrapped(out, t, listed([]part{
		{r.ByOrigin.SentBySQSBatch, "dead-lettered by sqsbatch"},
		{r.ByOrigin.MovedBySQS, "moved by SQS"},
		{r.ByOrigin.Neither, "of unknown origin"},
	}))
	e := r.Expiring
	if e == nil {
		return
	}
	line = "expire: " + listed([]part{
		{e.Within1h, "within 1 hour"}, {e.Within1d, "within 1 day"}, {e.Within4d, "within 4 days"}, {e.Later, "later"}, {e.Unknown, "at an unknown time"},
	})
	if !e.First.IsZero() {
		line += fmt.Sprintf("; the first at %s UTC (%s)", e.First.UTC().Format("2006-01-02 15:04"), show.Clean(e.FirstID))
	}
	if e.AtTheEarliest {
		line += "; all at the earliest, since in a FIFO queue the retention begins anew when SQS moves a message"
	}
	wrapped(out, t, line)
}

type part struct {
	n    int
	what string
}

// listed lists the parts that are not 0.
func listed(parts []part) string {
	var words []string
	for _, p := range parts {
		if p.n > 0 {
			words = append(words, fmt.Sprintf("%d %s", p.n, p.what))
		}
	}
	return strings.Join(words, ", ")
}

func (r Report) groups(out *strings.Builder, t view.Terminal) {
	if len(r.Groups) == 0 {
		return
	}
	out.WriteByte('\n')
	width, column := len("count"), 0
	shown := r.Groups[:min(len(r.Groups), shownGroups)]
	for _, g := range shown {
		width = max(width, len(fmt.Sprint(g.Count)))
		column = max(column, min(shownName, utf8.RuneCountInString(show.Clean(g.Name))))
	}
	by := r.By
	if names[by] == nil {
		by = "group"
	}
	heading := fmt.Sprintf("%*s  ", width, "count")
	if !t.Narrow() {
		heading += fmt.Sprintf("%-11s  ", "first")
	}
	out.WriteString(t.Paint(view.Aside, heading+fmt.Sprintf("%-11s  %s", "last", by)) + "\n")
	for _, g := range shown {
		head := fmt.Sprintf("%*d  ", width, g.Count)
		if !t.Narrow() {
			head += moment(g.First) + "  "
		}
		note := "e.g. " + g.Example
		from := "from " + strings.Join(g.Sources, ", ")
		if len(g.Sources) > 0 && r.By != "source" && !strings.HasSuffix(g.Name, from) {
			note = from + "; " + note
		}
		out.WriteString(t.Row(head+moment(g.Last)+"  ", show.Clean(g.Name), column, show.Clean(note)) + "\n")
	}
	if more := r.Groups[len(shown):]; len(more) > 0 {
		letters := 0
		for _, g := range more {
			letters += g.Count
		}
		fmt.Fprintf(out, "%*d  in %s\n", width, letters, show.Count(len(more), "more group"))
	}
}

// moment is a time to the minute, in 11 columns.
func moment(t time.Time) string {
	if t.IsZero() {
		return "-          "
	}
	return t.UTC().Format("01-02 15:04")
}

// plot draws a bar for each period.
func (r Report) plot(out *strings.Builder, t view.Terminal) {
	if len(r.Hours) == 0 {
		return
	}
	bars, each := periods(r.Hours)
	most := 0
	for _, b := range bars {
		most = max(most, b.Count)
	}
	period := "hour"
	if each > 1 {
		period = fmt.Sprintf("%d hours", each)
	}
	fmt.Fprintf(out, "\n%s\n", t.Paint(view.Aside, "failed in each "+period+" (UTC)"))
	columns := withoutWidth
	if t.Width != nil {
		columns = t.Width()
	}
	room := min(maxBar, max(5, columns-len("01-02 15:04  ")-len(fmt.Sprintf(" %d", most))-1))
	for _, b := range bars {
		bar := strings.Repeat("█", b.Count*room/most)
		if bar == "" && b.Count > 0 {
			bar = "▏"
		}
		fmt.Fprintf(out, "%s  %s %d\n", moment(b.Start), t.Paint(view.Bad, bar), b.Count)
	}
	if r.OutsideHours > 0 {
		fmt.Fprintf(out, "%s of unknown time, or more than 14 days ago\n", show.Count(r.OutsideHours, "letter"))
	}
}

// periods adds hours up to periods that begin at the same hours each day, so that there are few
// bars.
func periods(hours []Hour) (bars []Hour, each int) {
	for _, each = range []int{1, 2, 3, 6, 12, 24} {
		bars = nil
		for _, h := range hours {
			start := h.Start.Truncate(time.Duration(each) * time.Hour)
			if len(bars) == 0 || !bars[len(bars)-1].Start.Equal(start) {
				bars = append(bars, Hour{Start: start})
			}
			bars[len(bars)-1].Count += h.Count
		}
		if len(bars) <= shownBars {
			break
		}
	}
	return bars, each
}

// age is a time span in its two largest units.
func age(d time.Duration) string {
	d = max(0, d)
	minutes, hours, days := int(d.Minutes()), int(d.Hours()), int(d.Hours())/24
	switch {
	case days > 0:
		return fmt.Sprintf("%dd %dh", days, hours%24)
	case hours > 0:
		return fmt.Sprintf("%dh %dm", hours, minutes%60)
	case minutes > 0:
		return fmt.Sprintf("%dm", minutes)
	default:
		return fmt.Sprintf("%ds", int(d.Seconds()))
	}
}
