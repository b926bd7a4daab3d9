package console

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/sqsbatch/sqsbatch/batch"
	"github.com/sqsbatch/sqsbatch/cmd/sqsbatch/internal/show"
	"github.com/sqsbatch/sqsbatch/cmd/sqsbatch/internal/track"
	"github.com/sqsbatch/sqsbatch/emulator/sqs"
	"github.com/sqsbatch/sqsbatch/internal/words"
	"github.com/sqsbatch/sqsbatch/partialfailure"
)

// Limits of what is kept in memory. Messages that are still in a queue are all kept: the
// emulator has them as well.
const (
	maxGone       = 10_000   // messages that have left their queues
	maxGoneBytes  = 64 << 20 // of their bodies and attributes
	maxSteps      = 100      // of a message
	maxAttempts   = 100      // of a message
	maxBatches    = 200      // invocations
	maxRecent     = 2_000    // attempts of the slots
	maxBatchLines = 200      // of an invocation's output
	maxLine       = 2_000    // bytes of a line, or of a reason
	plotSeconds   = 120      // of the plots
)

// A model is what is known of the queues and of the function. Its owner locks it.
type model struct {
	queues   map[string]*queue
	messages map[string]*message // by id
	gone     []*message          // that have left their queues, the oldest first
	bytes    int                 // of the messages in gone
	batches  []*invocation       // the latest
	byNumber map[int]*invocation
	recent   []handled // the latest
	warnings []warning
	sequence int           // of messages
	running  map[int]int   // process ids by the numbers of processes
	listed   queueList     // of a recording
	timeout  time.Duration // of the function, 0 if it has none
}

// A queue has the messages of one queue of the emulator, and what happened in the last seconds.
type queue struct {
	name        string
	messages    map[string]*message
	sent, left  plot      // sent to it; deleted from it
	lastReceive time.Time // the end of the last ReceiveMessage, zero if there was none
	lastError   string    // of that call, "" if it succeeded
}

type state int

const (
	visible state = iota
	delayed
	inFlight
	gone
)

// A message is one message of the emulator, with everything that happened to it.
type message struct {
	number       int // in the order in which messages came to their queues
	id, queue    string
	body         string
	group        string
	sequenceNo   string
	sent         time.Time
	state        state
	due          time.Time // delayed, inFlight: when it becomes visible; visible: since when it is
	received     int       // ApproximateReceiveCount, which counts receives from all queues
	receivedHere int       // from its queue, whose maxReceiveCount counts these
	deadOf       string    // the queue that it was dead-lettered from
	origin       *partialfailure.Origin
	attributes   map[string]sqs.MessageAttribute
	trace        string // AWSTraceHeader
	movedTo      string // the id of the message that it became
	steps        []step
	attempts     []attempt // by their numbers
	dropped      int       // steps that are no longer kept
}

// A step is one event of a message.
type step struct {
	at     time.Time
	kind   sqs.Kind
	queue  string
	count  int // of receives
	hidden time.Duration
	to     string // the queue that it was moved to
}

// An attempt is the outcome of a message in one invocation, or in one process.
type attempt struct {
	track.Record
	at      time.Time // when the outcome was known
	general string    // the reason without what differs from message to message
}

// A handled is an attempt with its message.
type handled struct {
	attempt
	id string
}

// An invocation is one of the function, with its batch of records.
type invocation struct {
	number    int
	began     time.Time
	coldStart bool
	records   []string // ids of messages
	ended     *track.Ended
	at        time.Time // its end
	lines     []string
	linesLeft int                // lines that are not kept
	outcomes  map[string]attempt // by the ids of messages
}

// A warning is one of the function's or of the tool's. ID is that of a message, if it is about one.
type warning struct {
	At       time.Time
	Text, ID string
	Count    int    // how often it came, each time in place of the last one
	general  string // the text without what differs from time to time
}

func newModel() *model {
	return &model{queues: map[string]*queue{}, messages: map[string]*message{}, byNumber: map[int]*invocation{}, running: map[int]int{}}
}

// queue returns a queue of the emulator.
func (m *model) queue(name string) *queue {
	q := m.queues[name]
	if q == nil {
		q = &queue{name: name, messages: map[string]*message{}}
		m.queues[name] = q
	}
	return q
}

// forget removes queues that the emulator no longer has. Their messages left when they were deleted.
func (m *model) forget(queues []sqs.QueueSnapshot) {
	maps.DeleteFunc(m.queues, func(name string, q *queue) bool {
		return len(q.messages) == 0 && !slices.ContainsFunc(queues, func(s sqs.QueueSnapshot) bool { return s.Name == name })
	})
}

// apply applies an entry.
func (m *model) apply(e entry) {
	switch what := e.what.(type) {
	case sqs.Event:
		m.event(what)
	case sqs.Call:
		m.call(what)
	case queueList:
		m.listed = what
	case About:
		m.timeout = what.Timeout
	default:
		m.tracked(what, e.at)
	}
}

// event applies an event of the emulator.
func (m *model) event(e sqs.Event) {
	q := m.queue(e.Queue)
	if e.Kind == sqs.Purged {
		for _, x := range slices.Collect(maps.Values(q.messages)) {
			x.add(step{at: e.Time, kind: e.Kind, queue: e.Queue})
			m.leave(x)
		}
		return
	}
	s := step{at: e.Time, kind: e.Kind, queue: e.Queue, count: e.ReceiveCount, hidden: e.Visibility}
	x := m.messages[e.MessageID]
	if e.Kind == sqs.Duplicate { // has the id of the message that was sent before, which may be gone
		if x != nil {
			x.add(s)
		}
		return
	}
	if x == nil {
		x = m.arrive(e.MessageID, e.Queue, e)
	}
	x.received = e.ReceiveCount
	switch e.Kind {
	case sqs.Sent:
		m.readAttributes(x, e)
	case sqs.Received:
		x.state, x.due = inFlight, e.Time.Add(e.Visibility)
		x.receivedHere++
	case sqs.Visibility:
		x.due = e.Time.Add(e.Visibility)
		if e.Visibility <= 0 {
			x.state = visible
		}
	case sqs.Returned:
		x.state, x.due = visible, e.Time
	case sqs.Deleted, sqs.Expired:
		if e.Kind == sqs.Deleted {
			q.left.add(e.Time)
		}
		m.leave(x)
	case sqs.Redriven:
		s.to, s.count = e.DeadLetterQueue, x.receivedHere
		delete(q.messages, x.id)
		m.enter(x, e.DeadLetterQueue, e.Time, 0)
		x.deadOf = e.Queue
	case sqs.Moved:
		s.to, x.movedTo = e.MovedTo, e.NewMessageID
		m.leave(x)
		m.arrive(e.NewMessageID, e.MovedTo, e).add(step{at: e.Time, kind: sqs.Sent, queue: e.MovedTo, hidden: e.Visibility})
	}
	x.add(s)
}

// arrive adds a message that is new in a queue.
func (m *model) arrive(id, queue string, e sqs.Event) *message {
	x := &message{id: id, body: e.Body, group: e.MessageGroupID, sequenceNo: e.SequenceNumber, sent: e.Time}
	m.messages[id] = x
	m.enter(x, queue, e.Time, e.Visibility)
	return x
}

// enter puts a message into a queue.
func (m *model) enter(x *message, queue string, at time.Time, delay time.Duration) {
	m.sequence++
	x.number, x.queue, x.receivedHere = m.sequence, queue, 0
	x.state, x.due = visible, at.Add(delay)
	if delay > 0 {
		x.state = delayed
	}
	q := m.queue(queue)
	q.messages[x.id] = x
	q.sent.add(at)
}

// readAttributes keeps the attributes of a message, and notes where a dead letter came from that the
// toolkit sent: it is a new message. Anyone who may send to the queue can write such an attribute, so
// it must name a message that is known.
func (m *model) readAttributes(x *message, e sqs.Event) {
	if e.Attributes == nil {
		return
	}
	x.attributes, x.trace = e.Attributes()
	o, err := partialfailure.ParseOrigin(x.attributes[partialfailure.OriginAttribute].String)
	if err != nil {
		return
	}
	source := m.messages[o.MessageID]
	if source == nil || source == x || source.queue == x.queue || source.queue != batch.QueueName(o.Queue) {
		return
	}
	o.Reason = cut(o.Reason)
	x.origin, x.deadOf, source.movedTo = &o, source.queue, x.id
}

// leave takes a message out of its queue, and forgets the oldest ones that have left theirs.
func (m *model) leave(x *message) {
	if x.state == gone {
		return
	}
	delete(m.queue(x.queue).messages, x.id)
	x.state = gone
	m.gone, m.bytes = append(m.gone, x), m.bytes+x.size()
	for len(m.gone) > maxGone || m.bytes > maxGoneBytes {
		old := m.gone[0]
		m.gone[0] = nil
		m.gone, m.bytes = m.gone[1:], m.bytes-old.size()
		delete(m.messages, old.id)
	}
}

// size is that of the message in memory, without what happened to it.
func (x *message) size() int {
	n := len(x.body)
	for name, a := range x.attributes {
		n += len(name) + len(a.DataType) + len(a.String) + len(a.Binary)
	}
	return n
}

// add keeps the first step, which is the send, and the latest.
func (x *message) add(s step) {
	if len(x.steps) >= maxSteps {
		x.steps = slices.Delete(x.steps, 1, 2)
		x.dropped++
	}
	x.steps = append(x.steps, s)
}

// call notes the receives, which say whether there is a consumer.
func (m *model) call(c sqs.Call) {
	if c.Fault != "" {
		m.warn(warning{At: c.Ended, Text: fmt.Sprintf("%s of queue %s had the fault %q", c.Operation, c.Queue, c.Fault)})
	}
	if c.Operation != "ReceiveMessage" || c.Error == "no answer" || c.Error != "" && m.queues[c.Queue] == nil {
		return // a client that left, or a queue that there may not be
	}
	q := m.queue(c.Queue)
	q.lastReceive, q.lastError = c.Ended, c.Error
}

// tracked applies an event of the function.
func (m *model) tracked(e track.Event, at time.Time) {
	switch e := e.(type) {
	case track.Started:
		b := &invocation{number: e.Invocation, began: at, coldStart: e.ColdStart, records: e.MessageIDs, outcomes: map[string]attempt{}}
		m.batches = append(m.batches, b)
		m.byNumber[b.number] = b
		if len(m.batches) > maxBatches {
			delete(m.byNumber, m.batches[0].number)
			m.batches = slices.Delete(m.batches, 0, 1)
		}
	case track.Record:
		m.record(e, at)
	case track.Ended:
		if b := m.byNumber[e.Invocation]; b != nil {
			e.Error, e.AllFailed = cut(e.Error), cut(e.AllFailed)
			b.ended, b.at = &e, at
			if e.Duration >= 0 {
				b.at = b.began.Add(e.Duration)
			}
		}
	case track.Process:
		if m.running[e.Process] = e.PID; e.Ended != "" {
			delete(m.running, e.Process)
		}
	case track.Log:
		if b := m.byNumber[e.Invocation]; b != nil && len(b.lines) < maxBatchLines {
			b.lines = append(b.lines, cut(e.Text))
		} else if b != nil {
			b.linesLeft++
		}
	case track.Warning:
		m.warn(warning{At: at, Text: cut(e.Text), ID: cut(e.MessageID)})
	}
}

func (m *model) warn(w warning) {
	w.general = show.General(w.Text)
	if i := slices.IndexFunc(m.warnings, func(other warning) bool { return other.ID == w.ID && other.general == w.general }); i >= 0 {
		w.Count = m.warnings[i].Count
		m.warnings = slices.Delete(m.warnings, i, i+1)
	}
	w.Count++
	if m.warnings = append(m.warnings, w); len(m.warnings) > maxSteps {
		m.warnings = slices.Delete(m.warnings, 0, 1)
	}
}

// record adds an outcome. The final one of an invocation takes the place of the one that the
// function logged.
func (m *model) record(r track.Record, at time.Time) {
	x := m.messages[r.MessageID]
	if x == nil {
		return
	}
	r.Reason, r.Outcome, r.PanickedAt, r.Body = cut(r.Reason), cut(r.Outcome), cut(r.PanickedAt), ""
	a := attempt{r, at, show.General(r.Reason)}
	i := slices.IndexFunc(x.attempts, func(other attempt) bool {
		return other.Invocation == r.Invocation && other.Attempt == r.Attempt && other.Process == r.Process
	})
	switch {
	case i >= 0:
		a.at = x.attempts[i].at
		x.attempts[i] = a
	case len(x.attempts) >= maxAttempts:
		x.attempts = append(slices.Delete(x.attempts, 0, 1), a)
	default:
		x.attempts = append(x.attempts, a)
	}
	// The outcomes of a batch come when it ends, those of later attempts perhaps before.
	slices.SortStableFunc(x.attempts, func(a, b attempt) int { return cmp.Compare(a.Attempt, b.Attempt) })
	if received, ok := x.lastStep(sqs.Received); r.Outcome == track.CutOff && ok { // nobody measured it
		a.Duration = at.Sub(received.at)
	}
	if i < 0 && r.Process > 0 && a.Duration >= 0 {
		if m.recent = append(m.recent, handled{a, x.id}); len(m.recent) > maxRecent {
			m.recent = slices.Delete(m.recent, 0, 1)
		}
	}
	if b := m.byNumber[r.Invocation]; b != nil {
		b.outcomes[x.id] = a
	}
}

// last returns the latest attempt, nil if there is none.
func (x *message) last() *attempt {
	if len(x.attempts) == 0 {
		return nil
	}
	return &x.attempts[len(x.attempts)-1]
}

// lastStep returns the latest step of a kind.
func (x *message) lastStep(kinds ...sqs.Kind) (step, bool) {
	for _, s := range slices.Backward(x.steps) {
		if slices.Contains(kinds, s.kind) {
			return s, true
		}
	}
	return step{}, false
}

// now returns the state at a time: a timeout may be over that the emulator has not reported yet.
func (x *message) now(at time.Time) state {
	if (x.state == delayed || x.state == inFlight) && !x.due.After(at) {
		return visible
	}
	return x.state
}

func cut(text string) string {
	if len(text) > maxLine {
		text = words.Shorten(text, maxLine) + "…"
	}
	return text
}

// A plot counts events in each of the last seconds.
type plot struct {
	counts [plotSeconds]int
	second int64 // of the newest count
}

func (p *plot) add(at time.Time) {
	p.advance(at.Unix())
	p.counts[at.Unix()%plotSeconds]++
}

func (p *plot) advance(second int64) {
	for s := max(p.second+1, second-plotSeconds+1); s <= second; s++ {
		p.counts[s%plotSeconds] = 0
	}
	p.second = max(p.second, second)
}

// values returns the counts of the seconds up to a time, the oldest first.
func (p *plot) values(at time.Time) []int {
	p.advance(at.Unix())
	list := make([]int, 0, plotSeconds)
	for s := p.second - plotSeconds + 1; s <= p.second; s++ {
		list = append(list, p.counts[s%plotSeconds])
	}
	return list
}
