package view

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"strings"
	"sync"
	"time"
	"unicode/utf8"

	"github.com/sqsbatch/sqsbatch/cmd/sqsbatch/internal/show"
	"github.com/sqsbatch/sqsbatch/cmd/sqsbatch/internal/track"
	"github.com/sqsbatch/sqsbatch/emulator/sqs"
	"github.com/sqsbatch/sqsbatch/internal/settle"
)

// Text writes a row for each record, and a status line on a terminal.
type Text struct {
	mu     sync.Mutex
	w      io.Writer
	term   Terminal
	header Header
	bodies int    // width of the column of bodies: the widest so far, up to 40
	times  int    // width of the column "time of deadline": the widest so far
	status string // the current status line
	idle   bool   // the wait was shown since the last event

	all    bool // every event has a line of its own
	lines  int  // of events, since the time of begun
	begun  time.Time
	groups []*group // what had no line of its own since then
}

// A group has events of one kind that had no lines of their own.
type group struct {
	key, latest string // the latest line
	count       int
}

// mostLines is how many lines of events a terminal shows in a second. There is one line for each
// group of the others.
const mostLines = 20

// NewText returns a Text that writes to w, which has the capabilities t.
func NewText(w io.Writer, t Terminal) *Text {
	return &Text{w: w, term: t, bodies: 16, times: 13}
}

// ShowAll gives every event a line of its own, also on a terminal.
func (t *Text) ShowAll() { t.all = true }

// eventLine writes a line of an event, or adds it to its group if there are too many.
func (t *Text) eventLine(key, line string) {
	if !t.term.Redraw || t.all {
		t.line(line)
		return
	}
	t.regroup()
	if t.lines++; t.lines <= mostLines {
		t.line(line)
		return
	}
	i := slices.IndexFunc(t.groups, func(g *group) bool { return g.key == key })
	if i < 0 {
		i = len(t.groups)
		t.groups = append(t.groups, &group{key: key})
	}
	t.groups[i].latest = line
	t.groups[i].count++
}

// regroup writes the groups of a second that is over.
func (t *Text) regroup() {
	if now := time.Now(); now.Sub(t.begun) >= time.Second {
		t.writeGroups()
		t.lines, t.begun = 0, now
	}
}

func (t *Text) writeGroups() {
	for _, g := range t.groups {
		t.line(g.latest)
		if g.count > 1 {
			t.line(t.paint(Aside, fmt.Sprintf("     … and %d more like it", g.count-1)))
		}
	}
	t.groups = nil
}

// Say implements [View].
func (t *Text) Say(line string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.line(line)
}

// Raw writes text without breaking its lines.
func (t *Text) Raw(text string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.raw(text)
}

// Header implements [View].
func (t *Text) Header(h Header) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.header = h
	row := func(name, format string, args ...any) {
		t.lineAt(13, t.paint(Aside, pad(name, 13))+fmt.Sprintf(format, args...))
	}
	if h.Mode == "poll" {
		row("function", "%s: %s in a container, %s", h.Function, h.Package, show.Count(h.Processes, "process", "processes"))
		settings := h.Settings
		if len(h.Variables) > 0 {
			settings += "; with " + strings.Join(h.Variables, " ")
		}
		row("settings", "%s", settings)
	} else {
		t.invoked(h, row)
	}
	row("endpoint", "%s", h.Endpoint)
	if h.Page != "" {
		row("page", "%s", h.Page)
	}
	for _, q := range append([]Queue{{h.QueueURL, h.Visibility}}, h.MoreQueues...) {
		row("queue", "%s  (visibility %s)", q.URL, short(q.Visibility))
	}
	for _, f := range h.Filters {
		row("filter", "%s", show.Clean(f))
	}
	if h.DeadLetterURL != "" {
		row("dead letters", "%s  (after %s)", h.DeadLetterURL, show.Count(h.MaxReceiveCount, "receive"))
	}
	if h.Outage > 0 {
		row("retries", "spaced over %s here (SQSBATCH_OUTAGE), %s when deployed", short(h.Outage), short(settle.DefaultOutage))
	}
	if !h.Once {
		group := ""
		if strings.HasSuffix(h.QueueURL, ".fifo") {
			group = " --message-group-id G --message-deduplication-id 1"
		}
		// Not broken into lines, so that it can be copied as one command.
		t.raw(t.paint(Aside, pad("send more", 13)) + fmt.Sprintf(
			"AWS_ACCESS_KEY_ID=any AWS_SECRET_ACCESS_KEY=any aws sqs send-message --region us-east-1 --endpoint-url %s --queue-url %s%s --message-body BODY",
			h.Endpoint, h.QueueURL, group))
	}
	t.line("")
}

// invoked shows the function and the settings of its invocations.
func (t *Text) invoked(h Header, row func(name, format string, args ...any)) {
	batches := fmt.Sprintf("batches of %d", h.BatchSize)
	if h.Window > 0 {
		batches += ", window " + short(h.Window)
	}
	if h.MaximumConcurrency > 0 {
		batches += fmt.Sprintf(", %d at a time", h.MaximumConcurrency)
	}
	if !h.ReportBatchItemFailures {
		batches += ", no ReportBatchItemFailures"
	}
	row("function", "%s: %s, timeout %s, %d MB, %s", h.Function, h.Package, short(h.Timeout), h.MemoryMB, batches)
	row("settings", "%s", h.Settings)
}

// Event implements [View].
func (t *Text) Event(e track.Event) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.idle = false
	switch e := e.(type) {
	case track.Started:
		for _, body := range e.Bodies {
			t.widen(show.Body(body))
		}
		if len(e.Bodies) == 1 && !e.ColdStart {
			return // the lines of the record and of the end are enough
		}
		line := by(e.Invocation, 0) + show.Count(len(e.Bodies), "record")
		if e.ColdStart {
			line += ", cold start"
		}
		t.eventLine("started", t.paint(bold, line))
	case track.Record:
		if !e.Repeats {
			t.record(e)
		}
	case track.Ended:
		t.ended(e)
	case track.Process:
		t.process(e)
	case sqs.Event: // a moved message
		t.line(t.term.Row(by(0, 0)+t.paint(Waiting, pad("moved", 12))+pad("", 7+t.timesWidth()+2), show.Body(e.Body), t.bodies,
			"from "+e.Queue+" to "+e.MovedTo+" by a message move task"))
	case track.Log:
		if strings.HasPrefix(e.Text, `{"_aws":{`) {
			return // metrics of telemetry/emf, which the summary shows
		}
		from := pad("", 5)
		if e.Invocation+e.Process > 0 {
			from = by(e.Invocation, e.Process)
		}
		text := show.Log(e.Text)
		if t.term.Width != nil {
			text = show.Fit(text, longLog)
		}
		t.eventLine("log", t.term.wrap(t.paint(Aside, from+"│ "+text), 7))
	case track.Warning:
		line := t.paint(Waiting, "warning: ")
		if e.Serious {
			line = t.paint(Bad, "error: ")
		}
		line += show.Clean(e.Text)
		if e.MessageID != "" {
			line += t.paint(Aside, " ("+cmp.Or(show.Brief(e.Body, longBody), e.MessageID)+")")
		}
		t.eventLine("warning"+show.General(e.Text), line)
	}
}

// timesWidth returns the width of the column "time of deadline". A narrow terminal shows
// only the time.
func (t *Text) timesWidth() int {
	if t.term.Narrow() {
		return 7
	}
	return t.times
}

func (t *Text) record(r track.Record) {
	body := show.Body(r.Body)
	t.widen(body)
	times := ""
	if r.Duration >= 0 {
		times = fmt.Sprintf("%7s", short(r.Duration))
		if r.Allowed >= 0 && !t.term.Narrow() {
			times += " of " + short(r.Allowed)
		}
		t.times = max(t.times, len(times))
	}
	head := by(r.Invocation, r.Process) + t.paint(colourOf(r.Outcome), pad(r.Outcome, 12)) +
		pad(fmt.Sprintf("try %d", r.Attempt), 7) + pad(times, t.timesWidth()) + "  "
	t.eventLine(r.Outcome+show.General(r.Reason), t.term.Row(head, body, t.bodies, show.Clean(note(r))))
}

// widen widens the column of bodies to fit body, up to 40.
func (t *Text) widen(body string) {
	t.bodies = min(40, max(t.bodies, utf8.RuneCountInString(body)))
}

// note returns the next step for a record that did not succeed, and the reason.
func note(r track.Record) string {
	var what string
	switch {
	case r.Outcome == track.DeadLetter && r.DeadLetterQueue != "":
		what = "to " + r.DeadLetterQueue
	case r.Done():
	case r.LastAttempt:
		what = "dead-letter queue next"
	case r.VisibleIn > 0:
		what = "back in " + short(r.VisibleIn)
	case r.VisibleIn == 0:
		what = "back at once"
	}
	switch {
	case r.Shared || r.Reason == "":
		return what
	case what != "":
		what += ": "
	}
	if r.PanickedAt != "" {
		return what + r.Reason + " (" + r.PanickedAt + ")"
	}
	return what + r.Reason
}

func (t *Text) ended(e track.Ended) {
	line := by(e.Invocation, 0) + t.paint(Aside, "took "+short(e.Duration)+" of "+short(t.header.Timeout))
	switch {
	case e.Error != "":
		line += ": " + t.paint(Bad, "failed") + ": " + show.Clean(e.Error)
	case e.AllFailed != "":
		line += ": " + t.paint(Bad, "counts as failed") + ": " + show.Clean(e.AllFailed)
	default:
		line += t.paint(Aside, fmt.Sprintf(": %d deleted, %d to come back", e.Deleted, e.Back))
	}
	t.eventLine("ended"+show.General(e.Error+e.AllFailed), line)
}

// Tick implements [View]. An output that cannot be redrawn shows each wait once.
func (t *Text) Tick(p track.Progress) {
	t.mu.Lock()
	defer t.mu.Unlock()
	line := progressLine(p)
	end := p.InFlight == 0 && p.Waiting == 0 && !t.header.Once
	if end {
		line += "; Ctrl-C ends"
	}
	if t.term.Redraw {
		t.regroup()
		t.redraw(line)
		return
	}
	waiting := p.InFlight == 0 && p.Waiting > 0 && p.NextIn > 0
	if (waiting || end) && !t.idle {
		t.idle = true
		t.line("waiting: " + line)
	}
}

// Status sets the status line of a terminal until the next call, "" for none.
func (t *Text) Status(line string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.redraw(line)
}

// A fate is the number of messages with the same final state.
type fate struct {
	n            int
	colour, what string
}

// fates returns the final states, with their numbers of messages.
func fates(p track.Progress) []fate {
	return []fate{
		{p.Succeeded, Good, "succeeded"},
		{p.Duplicates, Aside, "duplicates"},
		{p.Expired, Aside, "expired"},
		{p.DeadLettered, Bad, "dead-lettered"},
		{p.Dropped, Bad, "dropped"},
		{p.Lost, Bad, "lost"},
		{p.Filtered, Aside, "filtered out"},
		{p.Moved, Aside, "moved to another queue"},
		{p.Removed, Aside, "removed by others"},
	}
}

// progressLine returns the counts so far as text.
func progressLine(p track.Progress) string {
	parts := []string{fmt.Sprintf("%d sent", p.Sent)}
	for _, f := range append(fates(p), fate{p.InFlight, "", "in flight"}) {
		if f.n > 0 {
			parts = append(parts, fmt.Sprintf("%d %s", f.n, f.what))
		}
	}
	switch {
	case p.Waiting > 0 && p.NextIn > 0:
		parts = append(parts, fmt.Sprintf("%d to come back, next in %s: %s", p.Waiting, short(p.NextIn.Round(100*time.Millisecond)), show.Brief(p.Next, longBody)))
	case p.Waiting > 0:
		parts = append(parts, fmt.Sprintf("%d waiting", p.Waiting))
	}
	return strings.Join(parts, " · ")
}

// Summary implements [View].
func (t *Text) Summary(s Summary) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.writeGroups()
	t.redraw("")
	t.line("")
	var parts []string
	for i, f := range append(fates(s.Progress), fate{s.HandledAgain, Waiting, "handled again"}, fate{s.Remaining(), Waiting, "still in the queue"}) {
		if f.n > 0 || i == 0 {
			parts = append(parts, t.paint(f.colour, fmt.Sprintf("%d %s", f.n, f.what)))
		}
	}
	ran := show.Count(s.Invocations, "invocation")
	if s.Starts > 0 {
		ran = show.Count(s.Starts, "process", "processes")
		if s.Crashes > 0 {
			ran += fmt.Sprintf(", %d of them ended by itself", s.Crashes)
		}
	}
	t.line(t.paint(bold, show.Count(s.Sent, "message")+" sent: ") + strings.Join(parts, ", ") +
		t.paint(Aside, fmt.Sprintf("  (%s, %s back to the queue, %s)", ran, show.Count(s.Retried, "time"), short(s.Elapsed))))
	t.dead(s)
	t.metrics(s.Metrics)
}

// dead shows the dead-lettered messages.
func (t *Text) dead(s Summary) {
	if len(s.Dead) == 0 {
		return
	}
	in := "in the dead-letter queue"
	if s.DeadName != "" {
		in = "in " + s.DeadName
	}
	t.line(in + ":")
	for _, d := range s.Dead {
		t.line(t.term.Row("  ", show.Body(d.Body), t.bodies, show.Clean(d.Reason)))
	}
}

// by returns the first column: an invocation, a process or SQS.
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

// process shows the start or end of a process.
func (t *Text) process(p track.Process) {
	switch {
	case p.Ended == "":
		t.line(t.paint(bold, by(0, p.Process)+"started") + t.paint(Aside, fmt.Sprintf(", process %d", p.PID)))
	case p.Asked:
		line := by(0, p.Process) + t.paint(Aside, "stopped: "+p.Ended)
		if p.CutOff > 0 {
			line += t.paint(Bad, fmt.Sprintf(", while it held %s", show.Count(p.CutOff, "record")))
		}
		t.line(line)
	default:
		line := by(0, p.Process) + t.paint(Bad, "ended by itself: ") + show.Clean(p.Ended)
		if p.Again > 0 {
			line += t.paint(Aside, "; it starts again in "+short(p.Again))
		}
		if p.CutOff < 0 {
			line += t.paint(Aside, "; the records that it held come back after their visibility timeout")
		}
		t.line(line)
	}
}
