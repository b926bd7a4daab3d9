package letter

import (
	"cmp"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/sqsbatch/sqsbatch/cmd/sqsbatch/internal/show"
	"github.com/sqsbatch/sqsbatch/cmd/sqsbatch/internal/view"
)

// Bounds of what Stats keeps.
const (
	maxGroups  = 10_000
	maxName    = 200                 // characters of a group's name
	maxSources = 10                  // of a group
	maxHours   = 14 * 24 * time.Hour // the longest retention of SQS
)

// otherGroup is the group of the letters that came when there were maxGroups.
const otherGroup = "(other)"

// Stats counts letters in groups. It keeps no letter. It is not for concurrent use.
type Stats struct {
	program   *program // nil for a way that has a name
	retention time.Duration
	report    Report // without Groups and Hours
	groups    map[string]*Group
	hours     map[int64]int // by hours since 1970
}

// NewStats returns a Stats that makes groups by
//
//   - "reason", or "": by [ReasonGroup], and letters without a reason by [Shape] and source
//   - "shape": by [Shape]
//   - "source": by the name of the queue that the message came from
//   - "hour": by the hour of [Letter.When], in UTC
//   - else by a jq program whose first output is the group's name (see [Letter.Input])
//
// retention is that of the dead-letter queue; 0 if it is not known. fifo says that it is a FIFO
// queue. There a retention begins anew when SQS moves a message, so that a message may expire
// later than its time of sending says.
func NewStats(by string, retention time.Duration, fifo bool) (*Stats, error) {
	s := &Stats{
		report: Report{By: cmp.Or(by, "reason")}, retention: retention, groups: make(map[string]*Group), hours: make(map[int64]int),
	}
	if retention > 0 {
		s.report.Expiring = &Expiring{AtTheEarliest: fifo}
	}
	if !slices.Contains(ways, s.report.By) {
		program, err := compile("--by", by)
		if err != nil {
			return nil, fmt.Errorf("%w; --by takes reason, shape, source, hour, or a jq program", err)
		}
		s.program = program
	}
	return s, nil
}

// ways of making groups that have a name.
var ways = []string{"reason", "shape", "source", "hour"}

// name returns the name of a letter's group.
func (s *Stats) name(l *Letter, now time.Time) (string, error) {
	source, when := l.SourceName(), l.When()
	switch s.report.By {
	case "shape":
		return Shape(l.Body), nil
	case "source":
		return cmp.Or(source, "(unknown source)"), nil
	case "hour":
		if when.IsZero() {
			return "(unknown time)", nil
		}
		return when.UTC().Format("2006-01-02 15:00"), nil
	case "reason":
		if reason := ReasonGroup(l.Reason()); reason != "" {
			return reason, nil
		}
		if source != "" {
			return Shape(l.Body) + " from " + source, nil
		}
		return Shape(l.Body), nil
	}
	outputs, err := s.program.run(l, now, 1)
	if err != nil || len(outputs) == 0 || outputs[0] == nil {
		return "(none)", err
	}
	if name, ok := outputs[0].(string); ok {
		return name, nil
	}
	return string(marshal(outputs[0])), nil
}

// Add counts a letter. The error says that the jq program failed, and contains nothing of the
// letter's body. Such a letter is not counted.
func (s *Stats) Add(l *Letter, now time.Time) error {
	name, err := s.name(l, now)
	if err != nil {
		return err
	}
	r := &s.report
	r.Total++
	s.group(name).add(l)
	if !l.Sent.IsZero() {
		r.Oldest, r.Newest = earlier(r.Oldest, l.Sent), later(r.Newest, l.Sent)
	}
	if r.Expiring != nil {
		r.Expiring.add(l, s.retention, now)
	}
	switch {
	case l.Source != "":
		r.ByOrigin.MovedBySQS++
	case l.origin() != nil:
		r.ByOrigin.SentBySQSBatch++
	default:
		r.ByOrigin.Neither++
	}
	if when := l.When(); when.Before(now.Add(-maxHours)) || when.After(now.Add(time.Hour)) {
		r.OutsideHours++
	} else {
		s.hours[when.Unix()/3600]++
	}
	return nil
}

func (s *Stats) group(name string) *Group {
	name = show.Fit(name, maxName)
	g := s.groups[name]
	if g == nil && len(s.groups) >= maxGroups {
		name = otherGroup
		g = s.groups[name]
	}
	if g == nil {
		g = &Group{Name: name}
		s.groups[name] = g
	}
	return g
}

// earlier and later choose from two times. A zero time is not known.
func earlier(a, b time.Time) time.Time {
	if a.IsZero() || !b.IsZero() && b.Before(a) {
		return b
	}
	return a
}

func later(a, b time.Time) time.Time {
	if b.After(a) {
		return b
	}
	return a
}

// A Report is what Stats counted.
type Report struct {
	At    time.Time `json:"at"`
	By    string    `json:"by"`
	Total int       `json:"total"`
	// Oldest and Newest are when the oldest and the newest message were sent.
	Oldest time.Time `json:"oldest,omitzero"`
	Newest time.Time `json:"newest,omitzero"`
	// Expiring is nil if the queue's retention is not known.
	Expiring *Expiring `json:"expiring,omitempty"`
	ByOrigin Origins   `json:"byOrigin"`
	// Groups are sorted by their counts, the largest first.
	Groups []Group `json:"groups"`
	// Hours counts the letters by the hour of their When in UTC, from the first to the last
	// hour that has one. OutsideHours are those without a time or more than 14 days old.
	Hours        []Hour `json:"hours"`
	OutsideHours int    `json:"outsideHours,omitempty"`
}

// A Group is letters that have something in common. First and Last are the earliest and the
// latest When of them.
type Group struct {
	Name    string    `json:"name"`
	Count   int       `json:"count"`
	First   time.Time `json:"first,omitzero"`
	Last    time.Time `json:"last,omitzero"`
	Example string    `json:"example"`           // the id of one
	Sources []string  `json:"sources,omitempty"` // names of queues, at most ten
}

func (g *Group) add(l *Letter) {
	g.Count++
	if when := l.When(); !when.IsZero() {
		g.First, g.Last = earlier(g.First, when), later(g.Last, when)
	}
	if g.Example == "" {
		g.Example = l.ID
	}
	if source := l.SourceName(); source != "" && len(g.Sources) < maxSources && !slices.Contains(g.Sources, source) {
		g.Sources = append(g.Sources, source)
	}
}

// An Hour counts the letters of an hour.
type Hour struct {
	Start time.Time `json:"start"`
	Count int       `json:"count"`
}

// Origins says how the letters came into the queue.
type Origins struct {
	SentBySQSBatch int `json:"sentBySqsbatch"`
	MovedBySQS     int `json:"movedBySqs"`
	Neither        int `json:"neither"`
}

// Expiring counts when the letters expire, each once. The counts are as of the time at which a
// letter was added.
type Expiring struct {
	Within1h int `json:"within1h"`
	Within1d int `json:"within1d"`
	Within4d int `json:"within4d"`
	Later    int `json:"later"`
	Unknown  int `json:"unknown,omitempty"`
	// First is when the first letter expires, and FirstID its id.
	First   time.Time `json:"first,omitzero"`
	FirstID string    `json:"firstId,omitempty"`
	// AtTheEarliest says that the letters may expire later (see [NewStats]).
	AtTheEarliest bool `json:"atTheEarliest,omitempty"`
}

func (e *Expiring) add(l *Letter, retention time.Duration, now time.Time) {
	if l.Sent.IsZero() {
		e.Unknown++
		return
	}
	expires := l.Sent.Add(retention)
	switch left := expires.Sub(now); {
	case left <= time.Hour:
		e.Within1h++
	case left <= 24*time.Hour:
		e.Within1d++
	case left <= 4*24*time.Hour:
		e.Within4d++
	default:
		e.Later++
	}
	if e.First.IsZero() || expires.Before(e.First) {
		e.First, e.FirstID = expires, l.ID
	}
}

// Report returns what was counted so far.
func (s *Stats) Report(now time.Time) Report {
	r := s.report
	r.At, r.Groups, r.Hours = now, make([]Group, 0, len(s.groups)), s.histogram()
	for _, g := range s.groups {
		group := *g
		group.Sources = slices.Sorted(slices.Values(g.Sources))
		r.Groups = append(r.Groups, group)
	}
	slices.SortFunc(r.Groups, func(a, b Group) int {
		return cmp.Or(cmp.Compare(b.Count, a.Count), cmp.Compare(a.Name, b.Name))
	})
	return r
}

// histogram fills the gaps between the hours.
func (s *Stats) histogram() []Hour {
	hours := []Hour{}
	if len(s.hours) == 0 {
		return hours
	}
	all := slices.Sorted(maps.Keys(s.hours))
	for h := all[0]; h <= all[len(all)-1]; h++ {
		hours = append(hours, Hour{time.Unix(h*3600, 0).UTC(), s.hours[h]})
	}
	return hours
}

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
	by := "group"
	if slices.Contains(ways, r.By) {
		by = r.By
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
