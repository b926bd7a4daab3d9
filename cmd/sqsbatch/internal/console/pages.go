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
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/sqsbatch/sqsbatch/batch"
	"github.com/sqsbatch/sqsbatch/cmd/sqsbatch/internal/show"
	"github.com/sqsbatch/sqsbatch/cmd/sqsbatch/internal/track"
	"github.com/sqsbatch/sqsbatch/emulator/sqs"
)

// A page is what the templates have.
type page struct {
	Title   string
	Run     Run
	Play    *playView // nil: what happens now is shown
	Note    string    // about the form before, "" for none
	Back    string    // the path and the query of this page, for forms
	Bodies  bool      // bodies are shown
	Message string    // the id of the message that the page is about, "" for none
	Still   bool      // the page is about what the user did, and does not change
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
	p := page{Title: title, Run: c.run, Play: c.playView(), Back: r.URL.RequestURI(), Content: content}
	if cookie, err := r.Cookie(bodiesCookie); err == nil {
		p.Bodies = cookie.Value == "shown"
	}
	p.Message = r.PathValue("id")
	if p.Still = name == "error.html"; r.Method != http.MethodGet {
		p.Back = backTo(r)
	}
	p.Note = note(w, r)
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
	title := "Error"
	if status == http.StatusNotFound {
		title = "Not found"
	}
	c.render(w, r, status, "error.html", title, err.Error())
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

// A look is what the emulator says of its queues at a time.
type look struct {
	queues   []sqs.QueueSnapshot
	policies map[string]redrive
	at       time.Time
}

// look asks the emulator, or the recording. c must not be locked: the emulator calls Observe with its
// own lock.
func (c *Console) look() look {
	l := look{policies: map[string]redrive{}, at: time.Now()}
	if c.run.Server != nil {
		l.queues = c.run.Server.Queues()
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.play != nil {
		l.at = c.play.now()
		l.queues = c.model.snapshots(l.at)
	}
	for _, q := range l.queues {
		l.policies[q.Name] = policyOf(q)
	}
	for name, policy := range l.policies {
		if dead, ok := l.policies[policy.Queue]; ok {
			dead.Sources = append(dead.Sources, name)
			l.policies[policy.Queue] = dead
		}
	}
	c.model.forget(l.queues)
	return l
}

// policyOf reads a queue's RedrivePolicy.
func policyOf(q sqs.QueueSnapshot) redrive {
	r := redrive{Paused: q.Paused}
	var policy struct {
		Target string          `json:"deadLetterTargetArn"`
		Max    json.RawMessage `json:"maxReceiveCount"` // a number, or a text with one
	}
	if json.Unmarshal([]byte(q.Attributes["RedrivePolicy"]), &policy) == nil {
		r.Queue = batch.QueueName(policy.Target)
		r.Max, _ = strconv.Atoi(strings.Trim(string(policy.Max), `"`))
	}
	return r
}

// queueRows lists the queues. c is locked.
func (c *Console) queueRows(l look) []queueRow {
	rows, index := make([]queueRow, len(l.queues)), map[string]int{}
	for i, s := range l.queues {
		q, policy := c.model.queue(s.Name), l.policies[s.Name]
		rows[i] = queueRow{
			Name: s.Name, Visible: s.Visible, InFlight: s.InFlight, Delayed: s.Delayed, DeadLetters: policy.Queue, Max: policy.Max,
			Sent: q.sent.view(l.at), Left: q.left.view(l.at), Paused: s.Paused,
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
	ID, Queue, Body string
	State           phase
	Group           string
	Sent, Until     time.Time
	Attempt         int
	Outcome, Reason string
}

const (
	shownBody  = 120 // characters of a body in a list
	shownGroup = 40  // of a group
)

func (c *Console) row(x *message, l look) row {
	r := row{
		ID: x.id, Queue: x.queue, Body: show.Brief(show.Body(x.body), shownBody), State: x.phase(l.policies[x.queue], l.at), Group: show.Brief(x.group, shownGroup),
		Sent: x.sent, Attempt: x.received,
	}
	if s := x.now(l.at); s == inFlight || s == delayed {
		r.Until = x.due
	}
	if q := c.model.queues[x.queue]; r.State == ready && q != nil && q.ahead(x, l.at) != nil {
		r.State = behind
	}
	if b := c.model.runs(x); b != nil && r.State == held {
		r.Outcome, r.Reason = "running", fmt.Sprintf("invocation %d", b.number)
	} else if a := x.last(); a != nil {
		r.Outcome, r.Reason = a.Outcome, a.Reason
	} else if x.origin != nil {
		r.Outcome, r.Reason, r.Attempt = track.DeadLetter, x.origin.Reason, x.origin.Attempts
	}
	return r
}

// rows are those of messages. c is not locked.
func (c *Console) rows(list []*message, l look) (rows []row) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, x := range list {
		rows = append(rows, c.row(x, l))
	}
	return rows
}

// A failure is what messages failed with.
type failure struct {
	Outcome, Reason string
	Count           int
	Latest          row
	latest          *message
	at              time.Time
}

// maxShown bounds the rows of the lists on the board.
const maxShown = 20

func (c *Console) board(w http.ResponseWriter, r *http.Request) {
	l := c.look()
	content := struct {
		Run
		Endpoint string
		Queues   []queueRow
		InFlight []row
		More     int // in flight, and not in the list
		Failures []failure
		Warnings []warning
		Faults   []sqs.Fault
	}{Run: c.run}
	if c.run.Server != nil {
		content.Endpoint, content.Faults = c.run.Server.URL(), c.run.Server.Faults()
	}
	type inFlightMessage struct {
		*message
		due    time.Time
		number int
	}
	var all []inFlightMessage
	c.mu.Lock()
	content.Queues, content.Failures = c.queueRows(l), c.failures(l)
	for _, q := range c.model.queues {
		for _, x := range q.messages {
			if x.now(l.at) == inFlight {
				all = append(all, inFlightMessage{x, x.due, x.number})
			}
		}
	}
	content.Warnings = slices.Clone(c.model.warnings)
	c.mu.Unlock()
	slices.SortFunc(all, func(a, b inFlightMessage) int { return cmp.Or(a.due.Compare(b.due), a.number-b.number) })
	var first []*message
	for _, x := range all[:min(len(all), maxShown)] {
		first = append(first, x.message)
	}
	content.InFlight, content.More = c.rows(first, l), len(all)-len(first)
	slices.Reverse(content.Warnings)
	c.render(w, r, http.StatusOK, "board.html", "Board", content)
}

// failures groups the messages in queues by what they last failed with, the most frequent first.
func (c *Console) failures(l look) (list []failure) {
	index := map[[2]string]int{}
	for _, q := range c.model.queues {
		for _, x := range q.messages {
			a := x.last()
			if a == nil || a.Done() || l.policies[x.queue].isDead(x) {
				continue
			}
			key := [2]string{a.Outcome, a.general}
			i, ok := index[key]
			if !ok {
				i = len(list)
				index[key] = i
				list = append(list, failure{Outcome: key[0], Reason: key[1]})
			}
			f := &list[i]
			if f.latest == nil || a.at.After(f.at) {
				f.latest, f.at = x, a.at
			}
			f.Count++
		}
	}
	slices.SortFunc(list, func(a, b failure) int { return cmp.Or(b.Count-a.Count, cmp.Compare(a.Reason, b.Reason)) })
	list = list[:min(len(list), maxShown)]
	for i := range list {
		list[i].Latest = c.row(list[i].latest, l)
	}
	return list
}

// pageSize is the number of messages of a page.
const pageSize = 100

func (c *Console) queuePage(w http.ResponseWriter, r *http.Request) {
	l, name := c.look(), r.PathValue("name")
	i := slices.IndexFunc(l.queues, func(q sqs.QueueSnapshot) bool { return q.Name == name })
	if i < 0 {
		c.fail(w, r, http.StatusNotFound, fmt.Errorf("there is no queue %s", name))
		return
	}
	find, want := strings.TrimSpace(r.URL.Query().Get("find")), r.URL.Query().Get("state")
	page, _ := strconv.Atoi(r.URL.Query().Get("page"))
	content := struct {
		queueRow
		URL, Find, State, NextPage, PrevPage string
		Sample                               string
		FIFO                                 bool
		Attributes                           []Setting
		Rows                                 []row
		Matching                             int
		States                               []phase
	}{Find: find, State: want, FIFO: strings.HasSuffix(name, ".fifo"), URL: l.queues[i].URL, States: phases}
	type numbered struct {
		*message
		number int
	}
	var list []numbered
	c.mu.Lock()
	if name == c.run.Source {
		content.Sample = c.run.Sample
	}
	content.queueRow = c.queueRows(l)[i]
	for _, x := range c.model.queue(name).messages {
		if (want == "" || string(x.phase(l.policies[name], l.at)) == want) && x.has(find) {
			list = append(list, numbered{x, x.number})
		}
	}
	if want == "" && find != "" { // a message that is looked for may have left
		for _, x := range c.model.gone {
			if x.queue == name && x.has(find) {
				list = append(list, numbered{x, x.number})
			}
		}
	}
	c.mu.Unlock()
	slices.SortFunc(list, func(a, b numbered) int { return a.number - b.number })
	page = max(0, min(page, (len(list)-1)/pageSize))
	content.Matching = len(list)
	var shown []*message
	for _, x := range list[page*pageSize : min(len(list), (page+1)*pageSize)] {
		shown = append(shown, x.message)
	}
	content.Rows = c.rows(shown, l)
	link := func(n int) string {
		return "?" + url.Values{"find": {find}, "state": {want}, "page": {strconv.Itoa(n)}}.Encode()
	}
	if page > 0 {
		content.PrevPage = link(page - 1)
	}
	if (page+1)*pageSize < len(list) {
		content.NextPage = link(page + 1)
	}
	for _, n := range slices.Sorted(maps.Keys(l.queues[i].Attributes)) {
		content.Attributes = append(content.Attributes, Setting{n, l.queues[i].Attributes[n]})
	}
	c.render(w, r, http.StatusOK, "queue.html", "Queue "+name, content)
}

// has reports whether a message has a text in its id, body or group.
func (x *message) has(text string) bool {
	return strings.Contains(x.id, text) || strings.Contains(x.body, text) || strings.Contains(x.group, text)
}

// An event is a line of a message's page: what happened to it in a queue, or how an attempt ended.
type event struct {
	At                  time.Time
	What, Queue, Text   string
	Outcome             string
	Attempt             int
	Invocation, Process int
	Duration, Allowed   time.Duration // negative if unknown
	Used                int           // percent of the time allowed
	PanickedAt          string
	Lines               []string
	OtherLines          int
}

func (c *Console) messagePage(w http.ResponseWriter, r *http.Request) {
	l := c.look()
	c.mu.Lock()
	x := c.model.messages[r.PathValue("id")]
	if x == nil {
		next := 0
		if c.play != nil {
			if next = c.play.step(1, r.PathValue("id")); next == c.play.at {
				next = 0
			}
		}
		c.mu.Unlock()
		err := fmt.Errorf("there is no message %s: it was never sent, or it has been gone for so long that it is no longer kept", r.PathValue("id"))
		if next > 0 {
			err = fmt.Errorf("message %s is not sent yet: its next event is %d", r.PathValue("id"), next)
		}
		c.fail(w, r, http.StatusNotFound, err)
		return
	}
	content := struct {
		row
		Body, SequenceNumber, DeadOf string
		Inner, InnerOf, Trace        string
		Attributes                   []Setting
		Received, Size               int
		Why                          reason
		About                        string // the id of the message of Why
		Dropped                      int
		Replay                       bool
		Events                       []event
	}{
		row: c.row(x, l), Body: x.body, Size: len(x.body), SequenceNumber: x.sequenceNo, DeadOf: l.policies[x.queue].source(x), Received: x.received,
		Why: c.model.why(x, l.policies[x.queue], l.at), Dropped: x.dropped, Replay: l.policies[x.queue].source(x) != "" && x.now(l.at) == visible, Events: c.model.events(x),
	}
	if content.Why.Message != nil {
		content.About = content.Why.Message.id
	}
	attributes := x.attributes
	content.Trace = x.trace
	c.mu.Unlock()
	for _, name := range slices.Sorted(maps.Keys(attributes)) {
		a := attributes[name]
		value := a.String
		if strings.HasPrefix(a.DataType, "Binary") {
			value = fmt.Sprintf("%x", a.Binary)
		}
		content.Attributes = append(content.Attributes, Setting{name + " (" + a.DataType + ")", value})
	}
	content.InnerOf, content.Inner = opened(content.Body)
	c.render(w, r, http.StatusOK, "message.html", "Message "+x.id, content)
}

// opened returns what an envelope has, and whose envelope it is, "" if the body is none.
func opened(body string) (of, inner string) {
	var e struct {
		Type, Message, TopicArn *string
		DetailType              *string `json:"detail-type"`
		Detail                  json.RawMessage
		Records                 []struct {
			EventSource, EventName string
			S3                     struct {
				Bucket struct{ Name string }
				Object struct{ Key string }
			}
		}
	}
	if json.Unmarshal([]byte(body), &e) != nil {
		return "", ""
	}
	switch {
	case e.Type != nil && e.Message != nil && e.TopicArn != nil:
		return "SNS, " + *e.TopicArn, *e.Message
	case e.DetailType != nil && e.Detail != nil:
		return "EventBridge, " + *e.DetailType, string(e.Detail)
	case len(e.Records) > 0 && e.Records[0].EventSource == "aws:s3":
		var keys []string
		for _, r := range e.Records {
			keys = append(keys, r.EventName+" "+r.S3.Bucket.Name+"/"+r.S3.Object.Key)
		}
		return "S3", strings.Join(keys, "\n")
	}
	return "", ""
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
		case s.kind == sqs.Duplicate:
			e.Text = "sent again with its deduplication id: SQS keeps one"
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
			e.OtherLines = b.linesLeft
			for _, text := range b.lines {
				if strings.Contains(text, x.id) {
					e.Lines = append(e.Lines, text)
				} else {
					e.OtherLines++
				}
			}
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
	first               []*message
}

func (c *Console) deadPage(w http.ResponseWriter, r *http.Request) {
	l := c.look()
	var groups []*deadGroup
	index, total := map[[3]string]*deadGroup{}, map[string]int{}
	c.mu.Lock()
	var list []*message
	for _, q := range c.model.queues {
		for _, x := range q.messages {
			if l.policies[x.queue].isDead(x) {
				list = append(list, x)
			}
		}
	}
	for _, x := range bySent(list) {
		source := l.policies[x.queue].source(x)
		if source != "" {
			total[x.queue]++
		}
		key := [3]string{x.queue, source, x.deadReason()}
		g := index[key]
		if g == nil {
			g = &deadGroup{Queue: key[0], From: key[1], Reason: key[2]}
			index[key], groups = g, append(groups, g)
		}
		if g.Count++; g.Count <= maxShown {
			g.first = append(g.first, x)
		}
	}
	c.mu.Unlock()
	slices.SortStableFunc(groups, func(a, b *deadGroup) int { return b.Count - a.Count })
	for _, g := range groups {
		g.Rows = c.rows(g.first, l)
	}
	c.render(w, r, http.StatusOK, "dead.html", "Dead letters", struct {
		Groups []*deadGroup
		Queues map[string]int
	}{groups, total})
}

// deadReason is why a dead letter failed, without what differs from message to message.
func (x *message) deadReason() string {
	text := ""
	if a := x.lastFailure(); x.origin != nil {
		text = show.General(x.origin.Reason)
	} else if a != nil {
		text = a.general
	}
	return cmp.Or(text, "no reason is known")
}

// A bar is a record of an invocation in the timeline.
type bar struct {
	ID, Outcome, Label string
	X, Y, Width        float64
}

// A batchView is an invocation of the timeline. Its times are in percent of its duration, or of the
// timeout if that is the scale.
type batchView struct {
	Number           int
	Began            time.Time
	ColdStart        bool
	Duration         time.Duration // so far, while it runs
	Running          bool
	Records          int
	Outcomes         []outcomeCount
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
	scale := time.Duration(0)
	if r.URL.Query().Get("scale") == "timeout" {
		scale = c.run.Timeout
	}
	c.mu.Lock()
	now := c.now()
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
func (b *invocation) starts() (times map[string]time.Duration, cutoff time.Duration) {
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

// An outcomeCount is the number of records with an outcome.
type outcomeCount struct {
	Name  string
	Count int
}

func (b *invocation) counts() (list []outcomeCount) {
	counts := map[string]int{}
	for _, id := range b.records {
		counts[cmp.Or(b.outcomes[id].Outcome, "unknown")]++
	}
	for _, name := range slices.Sorted(maps.Keys(counts)) {
		list = append(list, outcomeCount{name, counts[name]})
	}
	return list
}

func (b *invocation) view(scale time.Duration, now time.Time) batchView {
	v := batchView{Number: b.number, Began: b.began, ColdStart: b.coldStart, Records: len(b.records), Running: b.ended == nil, Lines: b.lines, LinesLeft: b.linesLeft}
	end := now
	if b.ended != nil {
		end = b.at
		v.Outcomes, v.Error, v.AllFailed = b.counts(), b.ended.Error, b.ended.AllFailed
	}
	v.Duration = end.Sub(b.began)
	whole := max(scale, v.Duration, time.Millisecond)
	percent := func(d time.Duration) float64 { return max(0, min(100, 100*float64(d)/float64(whole))) }
	v.End = percent(v.Duration)
	begun, cutoff := b.starts()
	if scale > 0 && cutoff > 0 && cutoff < whole {
		v.Cutoff = percent(cutoff)
	}
	for i, id := range b.records[:min(len(b.records), maxBars)] {
		one := bar{ID: id, Y: float64(i * (barHeight + 2)), Width: percent(v.Duration), Outcome: "running", Label: "Message " + id + ": it has no outcome yet"}
		if a, ok := b.outcomes[id]; ok {
			one.Outcome = a.Outcome
			one.Label = fmt.Sprintf("Message %s: %s", id, a.Outcome)
			one.X, one.Width = max(0, v.End-leastWidth), leastWidth // it was not handled
			if a.Duration >= 0 {
				one.X = min(percent(begun[id]), 100-leastWidth)
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
	views := map[int]*slotView{}
	ends := map[int][]time.Time{} // of the last record of each slot, by process
	c.mu.Lock()
	now := c.now()
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
