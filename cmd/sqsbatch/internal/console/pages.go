package console

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"html/template"
	"maps"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/sqsbatch/sqsbatch/cmd/sqsbatch/internal/show"
	"github.com/sqsbatch/sqsbatch/cmd/sqsbatch/internal/track"
	"github.com/sqsbatch/sqsbatch/emulator/sqs"
	"github.com/sqsbatch/sqsbatch/internal/settle"
)

// A page is what the templates have.
type page struct {
	Title   string
	Run     Run
	Back    string // the path and the query of this page, for forms
	Bodies  bool   // bodies are shown
	Content any
}

var templates = template.Must(template.New("").Funcs(template.FuncMap{
	"ms":    func(at time.Time) int64 { return at.UnixMilli() },
	"clock": clock,
	"time":  duration,
	"count": show.Count,
	"short": func(id string) string { return id[:min(8, len(id))] },
	"path":  url.PathEscape,
	"rows": func(p page, list []row) any {
		return struct {
			Bodies bool
			Rows   []row
		}{p.Bodies, list}
	},
}).ParseFS(files, "page/*.html"))

// render writes a page. The content is made with the lock.
func (c *Console) render(w http.ResponseWriter, r *http.Request, status int, name, title string, content any) {
	p := page{Title: title, Run: c.run, Back: r.URL.RequestURI(), Content: content}
	if cookie, err := r.Cookie(bodiesCookie); err == nil {
		p.Bodies = cookie.Value == "shown"
	}
	if r.Method != http.MethodGet {
		p.Back = "/"
	}
	var out bytes.Buffer
	if err := templates.ExecuteTemplate(&out, name, p); err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	w.WriteHeader(status)
	_, _ = out.WriteTo(w) // the browser may have left
}

// fail answers with a page that says what is wrong.
func (c *Console) fail(w http.ResponseWriter, r *http.Request, status int, err error) {
	c.render(w, r, status, "error.html", "Not done", err.Error())
}

// A queueRow is a queue of the board.
type queueRow struct {
	Name                       string
	Visible, InFlight, Delayed int
	Dead                       int // in its dead-letter queue
	DeadLetters                string
	DeadOf                     []string // the queues whose dead-letter queue this is
	Max                        int
	Oldest                     time.Time // when its oldest message was sent, zero if it has none
	Sent, Left                 plotView
	Paused                     bool
}

// A plotView is a plot as SVG has it.
type plotView struct {
	Points string
	Most   int // in a second
	Sum    int
}

const plotHeight = 24

func (p *plot) view(at time.Time) (v plotView) {
	values := p.values(at)
	for _, n := range values {
		v.Most, v.Sum = max(v.Most, n), v.Sum+n
	}
	var points strings.Builder
	for i, n := range values {
		if i > 0 && i < len(values)-1 && n == values[i-1] && n == values[i+1] {
			continue // on the line between its neighbours
		}
		fmt.Fprintf(&points, "%d,%.1f ", i, plotHeight-float64(n)*(plotHeight-2)/float64(max(1, v.Most)))
	}
	v.Points = points.String()
	return v
}

// look returns the queues, after it has noted the origins of new dead letters.
func (c *Console) look() []sqs.QueueSnapshot {
	queues := c.run.Server.Queues()
	var names []string
	c.mu.Lock()
	for _, q := range queues {
		dead := policyOf(q).Queue
		if held := c.model.queues[dead]; held != nil && !slices.Contains(names, dead) {
			for _, x := range held.messages {
				if !x.asked {
					names = append(names, dead)
					break
				}
			}
		}
	}
	c.mu.Unlock()
	if len(names) > 0 {
		found := c.run.Server.Snapshot(names...) // without the lock, since the server calls Observe
		c.mu.Lock()
		c.model.readOrigins(found)
		c.mu.Unlock()
	}
	return queues
}

// policyOf reads a queue's RedrivePolicy.
func policyOf(q sqs.QueueSnapshot) redrive {
	var policy struct {
		Target string          `json:"deadLetterTargetArn"`
		Max    json.RawMessage `json:"maxReceiveCount"` // a number, or a text with one
	}
	if json.Unmarshal([]byte(q.Attributes["RedrivePolicy"]), &policy) != nil {
		return redrive{Paused: q.Paused}
	}
	n, _ := strconv.Atoi(strings.Trim(string(policy.Max), `"`))
	return redrive{Queue: policy.Target[strings.LastIndex(policy.Target, ":")+1:], Max: n, Paused: q.Paused}
}

// queueRows lists the queues. c is locked.
func (c *Console) queueRows(queues []sqs.QueueSnapshot, at time.Time) []queueRow {
	rows, index := make([]queueRow, len(queues)), map[string]int{}
	for i, s := range queues {
		q, policy := c.model.queue(s.Name), policyOf(s)
		rows[i] = queueRow{
			Name: s.Name, Visible: s.Visible, InFlight: s.InFlight, Delayed: s.Delayed, DeadLetters: policy.Queue, Max: policy.Max,
			Sent: q.sent.view(at), Left: q.left.view(at), Paused: s.Paused,
		}
		for _, x := range q.messages {
			if rows[i].Oldest.IsZero() || x.sent.Before(rows[i].Oldest) {
				rows[i].Oldest = x.sent
			}
		}
		index[s.Name] = i
	}
	for i := range rows {
		if j, ok := index[rows[i].DeadLetters]; ok {
			rows[i].Dead = rows[j].Visible + rows[j].InFlight + rows[j].Delayed
			rows[j].DeadOf = append(rows[j].DeadOf, rows[i].Name)
		}
	}
	return rows
}

// A row is a message of a list.
type row struct {
	ID, Queue, Body, State string
	Group                  string
	Sent, Until            time.Time
	Attempt                int
	Outcome, Reason        string
}

const shownBody = 120 // characters of a body in a list

func (x *message) row(at time.Time) row {
	r := row{ID: x.id, Queue: x.queue, Body: show.Brief(show.Body(x.body), shownBody), State: x.stateName(at), Group: x.group, Sent: x.sent, Attempt: x.received}
	if s := x.now(at); s == inFlight || s == delayed {
		r.Until = x.due
	}
	if a := x.last(); a != nil {
		r.Outcome, r.Reason = a.Outcome, a.Reason
	} else if x.origin != nil {
		r.Outcome, r.Reason, r.Attempt = track.DeadLetter, x.origin.Reason, x.origin.Attempts
	}
	return r
}

func (x *message) stateName(at time.Time) string {
	switch x.now(at) {
	case visible:
		if x.deadOf != "" {
			return "dead letter"
		}
		return "visible"
	case delayed:
		return "delayed"
	case inFlight:
		if a := x.last(); a != nil && a.Attempt == x.received && !a.Done() {
			return "backoff"
		}
		return "in flight"
	}
	s, _ := x.lastStep(sqs.Deleted, sqs.Expired, sqs.Purged, sqs.Moved)
	return string(s.kind)
}

// A failure is what records failed with.
type failure struct {
	Outcome, Reason string
	Count           int
	Latest          row
	at              time.Time
}

// maxShown bounds the rows of the lists on the board.
const maxShown = 20

func (c *Console) board(w http.ResponseWriter, r *http.Request) {
	queues, now := c.look(), time.Now()
	c.mu.Lock()
	content := struct {
		Run
		Endpoint string
		Queues   []queueRow
		InFlight []row
		More     int // in flight, and not in the list
		Failures []failure
		Warnings []warning
		Faults   []sqs.Fault
	}{Run: c.run, Endpoint: c.run.Server.URL(), Queues: c.queueRows(queues, now), Failures: c.failures(now), Faults: c.faults}
	var held []*message
	for _, q := range c.model.queues {
		for _, x := range q.messages {
			if x.now(now) == inFlight {
				held = append(held, x)
			}
		}
	}
	slices.SortFunc(held, func(a, b *message) int { return cmp.Or(a.due.Compare(b.due), cmp.Compare(a.number, b.number)) })
	for _, x := range held[:min(len(held), maxShown)] {
		content.InFlight = append(content.InFlight, x.row(now))
	}
	content.More = len(held) - len(content.InFlight)
	content.Warnings = slices.Clone(c.model.warnings)
	slices.Reverse(content.Warnings)
	c.mu.Unlock()
	c.render(w, r, http.StatusOK, "board.html", "Board", content)
}

// failures groups the messages in queues by what they last failed with, the most frequent first.
func (c *Console) failures(at time.Time) (list []failure) {
	index := map[[2]string]int{}
	for _, q := range c.model.queues {
		for _, x := range q.messages {
			a := x.last()
			if a == nil || a.Done() {
				continue
			}
			key := [2]string{a.Outcome, general(a.Reason)}
			i, ok := index[key]
			if !ok {
				i = len(list)
				index[key] = i
				list = append(list, failure{Outcome: a.Outcome, Reason: key[1]})
			}
			if f := &list[i]; f.Count == 0 || a.at.After(f.at) {
				f.Latest, f.at = x.row(at), a.at
			}
			list[i].Count++
		}
	}
	slices.SortFunc(list, func(a, b failure) int { return cmp.Or(b.Count-a.Count, cmp.Compare(a.Reason, b.Reason)) })
	return list[:min(len(list), maxShown)]
}

// pageSize is the number of messages of a page.
const pageSize = 100

func (c *Console) queuePage(w http.ResponseWriter, r *http.Request) {
	name, now := r.PathValue("name"), time.Now()
	queues := c.look()
	i := slices.IndexFunc(queues, func(q sqs.QueueSnapshot) bool { return q.Name == name })
	if i < 0 {
		c.fail(w, r, http.StatusNotFound, fmt.Errorf("there is no queue %s", name))
		return
	}
	find, want := strings.TrimSpace(r.URL.Query().Get("find")), r.URL.Query().Get("state")
	at, _ := strconv.Atoi(r.URL.Query().Get("page"))
	c.mu.Lock()
	content := struct {
		queueRow
		URL, Find, State, NextPage, PrevPage string
		FIFO                                 bool
		Attributes                           []Setting
		Rows                                 []row
		Matching, From                       int
		States                               []string
	}{Find: find, State: want, FIFO: strings.HasSuffix(name, ".fifo"), URL: queues[i].URL, States: []string{"visible", "in flight", "backoff", "delayed", "dead letter"}}
	content.queueRow = c.queueRows(queues, now)[i]
	var list []*message
	q := c.model.queue(name)
	for _, x := range q.messages {
		if (want == "" || x.stateName(now) == want) && x.has(find) {
			list = append(list, x)
		}
	}
	if want == "" && find != "" { // a message that is looked for may have left
		for _, x := range c.model.gone {
			if x.queue == name && x.has(find) {
				list = append(list, x)
			}
		}
	}
	bySent(list)
	at = max(0, min(at, (len(list)-1)/pageSize))
	content.Matching, content.From = len(list), at*pageSize+1
	for _, x := range list[at*pageSize : min(len(list), (at+1)*pageSize)] {
		content.Rows = append(content.Rows, x.row(now))
	}
	c.mu.Unlock()
	link := func(n int) string {
		return "?" + url.Values{"find": {find}, "state": {want}, "page": {strconv.Itoa(n)}}.Encode()
	}
	if at > 0 {
		content.PrevPage = link(at - 1)
	}
	if (at+1)*pageSize < len(list) {
		content.NextPage = link(at + 1)
	}
	for _, n := range slices.Sorted(maps.Keys(queues[i].Attributes)) {
		content.Attributes = append(content.Attributes, Setting{n, queues[i].Attributes[n]})
	}
	c.render(w, r, http.StatusOK, "queue.html", "Queue "+name, content)
}

// has reports whether a message has a text in its id, body or group.
func (x *message) has(text string) bool {
	return strings.Contains(x.id, text) || strings.Contains(x.body, text) || strings.Contains(x.group, text)
}

// An event is a line of a message's page: what happened to it in a queue, or how an attempt ended.
type event struct {
	At                     time.Time
	What, Queue, Text      string
	Outcome                string
	Attempt                int
	Invocation, Process    int
	Duration, Allowed      time.Duration // negative if unknown
	Used                   int           // percent of the time allowed
	PanickedAt             string
	Lines                  []string
	OtherLines, MissingLog int
}

func (c *Console) messagePage(w http.ResponseWriter, r *http.Request) {
	queues, now := c.look(), time.Now()
	c.mu.Lock()
	x := c.model.messages[r.PathValue("id")]
	if x == nil {
		c.mu.Unlock()
		c.fail(w, r, http.StatusNotFound, fmt.Errorf("there is no message %s: it was never sent, or it has been gone for so long that it is no longer kept", r.PathValue("id")))
		return
	}
	var policy redrive
	if i := slices.IndexFunc(queues, func(q sqs.QueueSnapshot) bool { return q.Name == x.queue }); i >= 0 {
		policy = policyOf(queues[i])
		if c.run.Outage > 0 {
			policy.Delays, _ = settle.Delays(c.run.Outage, policy.Max)
		}
	}
	content := struct {
		row
		Body, SequenceNumber, DeadOf, MovedTo string
		Size                                  int
		Why                                   reason
		About                                 string // the id of the message of Why
		Dropped                               int
		Events                                []event
	}{row: x.row(now), Body: x.body, Size: len(x.body), SequenceNumber: x.sequenceNo, DeadOf: x.deadOf, MovedTo: x.movedTo, Why: c.model.why(x, policy, now), Dropped: x.dropped}
	if content.Why.Message != nil {
		content.About = content.Why.Message.id
	}
	content.Events = c.model.events(x)
	c.mu.Unlock()
	c.render(w, r, http.StatusOK, "message.html", "Message "+x.id, content)
}

// events are the steps and the attempts of a message, in their order.
func (m *model) events(x *message) (list []event) {
	for _, s := range x.steps {
		e := event{At: s.at, What: string(s.kind), Queue: s.queue, Attempt: s.count, Duration: -1, Allowed: -1}
		switch {
		case s.kind == sqs.Received:
			e.Text = "hidden for " + duration(s.hidden)
		case s.kind == sqs.Visibility && s.hidden <= 0:
			e.Text = "released: it is visible at once"
		case s.kind == sqs.Visibility:
			e.Text = "comes back in " + duration(s.hidden) + ", unless that is changed again"
		case s.kind == sqs.Sent && s.hidden > 0:
			e.Text = "delayed for " + duration(s.hidden)
		case s.kind == sqs.Redriven:
			e.Text = "moved to the dead-letter queue " + s.to
		case s.kind == sqs.Moved:
			e.Text = "moved to queue " + s.to
		}
		list = append(list, e)
	}
	for _, a := range x.attempts {
		e := event{
			At: a.at, What: "outcome", Outcome: a.Outcome, Text: a.Reason, Attempt: a.Attempt, Invocation: a.Invocation, Process: a.Process,
			Duration: a.Duration, Allowed: a.Allowed, PanickedAt: a.PanickedAt,
		}
		if a.Allowed > 0 && a.Duration >= 0 {
			e.Used = int(100 * a.Duration / a.Allowed)
		}
		if b := m.byNumber[a.Invocation]; b != nil {
			for _, l := range b.lines {
				if strings.Contains(l, x.id) {
					e.Lines = append(e.Lines, l)
				} else {
					e.OtherLines++
				}
			}
			e.MissingLog = b.linesLeft
		}
		list = append(list, e)
	}
	slices.SortStableFunc(list, func(a, b event) int { return a.At.Compare(b.At) })
	return list
}

// A deadGroup has the dead letters of a queue that failed in the same way.
type deadGroup struct {
	Queue, From, Reason string
	Count               int
	Rows                []row
}

func (c *Console) deadPage(w http.ResponseWriter, r *http.Request) {
	queues, now := c.look(), time.Now()
	c.mu.Lock()
	var groups []*deadGroup
	index, total := map[[3]string]*deadGroup{}, map[string]int{}
	for _, s := range queues {
		for _, x := range bySent(slices.Collect(maps.Values(c.model.queue(s.Name).messages))) {
			if x.deadOf == "" {
				continue
			}
			total[s.Name]++
			g := deadGroup{Queue: s.Name, From: x.deadOf, Reason: x.deadReason()}
			key := [3]string{g.Queue, g.From, g.Reason}
			if index[key] == nil {
				index[key] = &g
				groups = append(groups, &g)
			}
			at := index[key]
			if at.Count++; at.Count <= maxShown {
				at.Rows = append(at.Rows, x.row(now))
			}
		}
	}
	c.mu.Unlock()
	slices.SortStableFunc(groups, func(a, b *deadGroup) int { return b.Count - a.Count })
	c.render(w, r, http.StatusOK, "dead.html", "Dead letters", struct {
		Groups []*deadGroup
		Queues map[string]int
	}{groups, total})
}

// deadReason is why a dead letter failed, without what differs from message to message.
func (x *message) deadReason() string {
	text := ""
	if a := x.lastFailure(); x.origin != nil {
		text = x.origin.Reason
	} else if a != nil {
		text = a.Reason
	}
	return cmp.Or(general(text), "the consumer gave no reason")
}

var particular = regexp.MustCompile(`[0-9a-fA-F]{8}(-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}|[0-9]+`)

// general leaves numbers and ids out of a reason, so that messages with the same problem have
// the same one.
func general(reason string) string { return particular.ReplaceAllString(reason, "…") }

// A bar is a record of an invocation in the timeline.
type bar struct {
	ID, Outcome, Reason, Label string
	X, Y, Width                float64
}

// A batchView is an invocation of the timeline. Its times are in percent of its duration, or of the
// timeout if that is the scale.
type batchView struct {
	Number           int
	RequestID        string
	Began            time.Time
	ColdStart        bool
	Duration         time.Duration // so far, while it runs
	Running          bool
	Records          int
	Deleted, Back    int
	Error, AllFailed string
	Bars             []bar
	Height           float64
	End              float64
	Cutoff           float64 // 0 if it is not shown
	Lines            []string
	LinesLeft        int
}

const (
	barHeight  = 6
	maxBars    = 50
	leastWidth = 0.5 // percent
)

func (c *Console) batchesPage(w http.ResponseWriter, r *http.Request) {
	now, scale := time.Now(), time.Duration(0)
	if r.URL.Query().Get("scale") == "timeout" {
		scale = c.run.Timeout
	}
	c.mu.Lock()
	var list []batchView
	for _, b := range slices.Backward(c.model.batches) {
		if len(list) < maxShown {
			list = append(list, b.view(scale, now))
		}
	}
	c.mu.Unlock()
	c.render(w, r, http.StatusOK, "batches.html", "Batches", struct {
		Timeout   time.Duration
		ByTimeout bool
		Batches   []batchView
	}{c.run.Timeout, scale > 0, list})
}

// starts are the times after which the handlers of an invocation began, and its cutoff. The log has
// no such times. But each handler may take what is left until the cutoff, so one that may take less
// began later, unless a record's own limit is the reason.
func (b *batch) starts() (times map[string]time.Duration, cutoff time.Duration) {
	times = map[string]time.Duration{}
	for _, a := range b.outcomes {
		cutoff = max(cutoff, a.Allowed)
	}
	for id, a := range b.outcomes {
		if a.Allowed > 0 {
			times[id] = cutoff - a.Allowed
		}
	}
	return times, cutoff
}

func (b *batch) view(scale time.Duration, now time.Time) batchView {
	v := batchView{Number: b.number, RequestID: b.requestID, Began: b.began, ColdStart: b.coldStart, Records: len(b.records) + b.unknownIDs, Running: b.ended == nil, Lines: b.lines, LinesLeft: b.linesLeft}
	end := now
	if b.ended != nil {
		end = b.at
		v.Deleted, v.Back, v.Error, v.AllFailed = b.ended.Deleted, b.ended.Back, b.ended.Error, b.ended.AllFailed
	}
	v.Duration = end.Sub(b.began)
	whole := max(scale, v.Duration, time.Millisecond)
	percent := func(d time.Duration) float64 { return max(0, min(100, 100*float64(d)/float64(whole))) }
	v.End = percent(v.Duration)
	begun, cutoff := b.starts()
	if scale > 0 && cutoff > 0 && cutoff < whole {
		v.Cutoff = percent(cutoff)
	}
	for i, x := range b.records[:min(len(b.records), maxBars)] {
		one := bar{ID: x.id, Y: float64(i * (barHeight + 2)), Width: percent(v.Duration), Outcome: "running", Label: "Message " + x.id + ": it has no outcome yet"}
		if a, ok := b.outcomes[x.id]; ok {
			one.Outcome, one.Reason = a.Outcome, a.Reason
			one.Label = fmt.Sprintf("Message %s: %s", x.id, a.Outcome)
			one.X, one.Width = max(0, v.End-leastWidth), leastWidth // it was not handled
			if a.Duration >= 0 {
				one.X = min(percent(begun[x.id]), 100-leastWidth)
				one.Width = max(leastWidth, percent(a.Duration))
				one.Label += " after " + duration(a.Duration)
			}
			if a.Reason != "" {
				one.Label += ": " + a.Reason
			}
		}
		v.Bars = append(v.Bars, one)
	}
	v.Height = float64(len(v.Bars) * (barHeight + 2))
	return v
}

// A slotView has the records that a process handled lately, each in the first free slot.
type slotView struct {
	Process, PID int // PID is 0 if it does not run
	Bars         []bar
	Height       float64
}

// window is the time that the slots show.
const window = time.Minute

func (c *Console) slotsPage(w http.ResponseWriter, r *http.Request) {
	now := time.Now()
	views := map[int]*slotView{}
	ends := map[int][]time.Time{} // of the last record of each slot, by process
	c.mu.Lock()
	for number, pid := range c.model.running {
		views[number] = &slotView{Process: number, PID: pid}
	}
	list := slices.Clone(c.model.recent)
	began := func(h handled) time.Time { return h.at.Add(-h.Duration) }
	slices.SortStableFunc(list, func(a, b handled) int { return began(a).Compare(began(b)) })
	for _, h := range list {
		if now.Sub(h.at) > window {
			continue
		}
		v := views[h.Process]
		if v == nil {
			v = &slotView{Process: h.Process}
			views[h.Process] = v
		}
		slots := ends[h.Process]
		i := slices.IndexFunc(slots, func(end time.Time) bool { return !end.After(began(h)) })
		if i < 0 && len(slots) == maxBars {
			continue
		}
		if i < 0 {
			i, slots = len(slots), append(slots, time.Time{})
		}
		slots[i] = h.at
		ends[h.Process] = slots
		percent := func(d time.Duration) float64 { return 100 * float64(d) / float64(window) }
		one := bar{ID: h.id, Outcome: h.Outcome, Y: float64(i * (barHeight + 2)), Width: max(0.2, percent(h.Duration))}
		one.X = max(0, 100-percent(now.Sub(began(h))))
		one.Label = fmt.Sprintf("Message %s: %s after %s", h.id, h.Outcome, duration(h.Duration))
		v.Bars = append(v.Bars, one)
		v.Height = float64(len(slots) * (barHeight + 2))
	}
	c.mu.Unlock()
	numbers := slices.Sorted(maps.Keys(views))
	var shown []*slotView
	for _, n := range numbers {
		shown = append(shown, views[n])
	}
	c.render(w, r, http.StatusOK, "slots.html", "Slots", shown)
}

// duration writes a duration as people read it.
func duration(d time.Duration) string {
	switch {
	case d < 0:
		return "–"
	case d < 100*time.Microsecond:
		return "<0.1ms"
	case d < time.Second:
		return d.Round(10 * time.Microsecond).String()
	case d < time.Minute:
		return d.Round(100 * time.Millisecond).String()
	}
	text := d.Round(time.Second).String()
	if strings.HasSuffix(text, "m0s") {
		text = strings.TrimSuffix(text, "0s")
	}
	return text
}
