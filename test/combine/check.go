package combine

import (
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/sqsbatch/sqsbatch/emulator/sqs"
)

// Promise is what holds in every history.
type Promise string

// The promises of all parts together.
const (
	// NothingLost: a message is deleted when its work was done, by its own delivery or by one with
	// its key, or when the function failed it for good and it is in the dead-letter queue.
	NothingLost Promise = "nothing lost"
	// WorkOnce: a key that was completed is not worked on again, in a transaction none is twice.
	WorkOnce Promise = "nothing twice after completion"
	// Together: work in a transaction is committed if and only if the key is completed.
	Together Promise = "work and completion together"
	// KeptFailures: with KeepPermanent, no copy of a record that failed for good is worked on.
	KeptFailures Promise = "a permanent failure is kept"
	// KeptOwn: a duplicate gets what the function has kept for its key.
	KeptOwn Promise = "a duplicate gets what was kept"
	// SendsMade: a record is done, or answered, when SQS has confirmed all messages that it has sent.
	SendsMade Promise = "every send made once its record is done"
	// SendsNamed: a message that a record sends has the id of that record.
	SendsNamed Promise = "a send is of its own record"
	// SendsOnce: on a FIFO queue, a record that comes back within SQS's five minutes sends nothing twice.
	SendsOnce Promise = "no send twice on a FIFO queue"
	// Answered: a request is answered before it is deleted, with an error only if there was one.
	Answered Promise = "every request answered"
	// Ordered: a record of a FIFO group is handled when all before it are done.
	Ordered Promise = "order"
	// BreakerOpens: records that come after failures in a row do not reach the function.
	BreakerOpens Promise = "the breaker opens"
	// BreakerFair: the breaker opens only when the function has failed.
	BreakerFair Promise = "the breaker opens for failures only"
	// OwnRecord: a record's context has that record, a chunk's context has none.
	OwnRecord Promise = "the context has the record"
	// Drained: the queue is empty in the end.
	Drained Promise = "everything ends"
)

// deduplicated is for how long a FIFO queue drops what repeats a message.
const deduplicated = 5 * time.Minute

// Violation is a promise that did not hold.
type Violation struct {
	Promise Promise
	At      time.Time
	Text    string
}

// found notes a message that was left in a queue at the end.
func (h *History) found(w *world, queue string, m sqs.MessageSnapshot) {
	if h.mails == nil {
		h.mails, h.answers, h.ids = map[string][]mail{}, map[string]Reply{}, w.numbers
	}
	switch queue {
	case w.mails:
		h.mails[m.Body] = append(h.mails[m.Body], mail{m.Attributes[correlation].String, m.SentAt})
	case w.replies:
		var a struct {
			ID    string
			Error *struct{ Permanent bool }
		}
		_ = json.Unmarshal([]byte(m.Attributes["sqsbatch.answer"].String), &a)
		r := Reply{Failed: a.Error != nil, Permanent: a.Error != nil && a.Error.Permanent}
		r.Request, _ = strconv.Atoi(a.ID)
		h.answers[m.MessageID] = r
	}
}

// message is what is known of a message so far, key of a key, and process of a process.
type (
	message struct {
		sent, received    time.Time
		gone, dead        bool
		done, failed      bool // the function has returned nil, or failed it for good
		answered, refused bool
		end               End          // the function's latest
		began             map[int]int  // its last call, by process: which entry
		finished          map[int]bool // by process
		last              map[int]End  // how the function ended, by process
		call              map[int]int  // its last call of a function of many records, by process
	}
	key struct {
		completed, kept bool
		done, failed    bool
		commits         int
		mails           map[int]bool
	}
	process struct {
		running  map[int]time.Time // messages of calls of the function, since when
		failed   int               // ends of the function other than OK, since the breaker has opened or closed
		changed  int               // the entry with which the breaker has opened or closed
		failures []time.Time       // of the function, in a row, in calls that began since
	}
)

type checker struct {
	*History
	messages  []message
	keys      []key
	processes map[int]*process
	found     []Violation
	at        time.Time
	number    int // of the entry
}

// Check returns what is wrong with a history.
func Check(h *History) []Violation {
	c := &checker{History: h, messages: make([]message, len(h.Plan.Messages)), keys: make([]key, len(h.Plan.Messages)), processes: map[int]*process{}}
	for i := range c.messages {
		c.messages[i] = message{began: map[int]int{}, finished: map[int]bool{}, last: map[int]End{}, call: map[int]int{}}
		c.keys[i].mails = map[int]bool{}
	}
	for i, e := range h.Entries {
		c.at, c.number = e.At, i
		if c.processes[e.Env] == nil {
			c.processes[e.Env] = &process{running: map[int]time.Time{}}
		}
		c.entry(e, &c.messages[e.Message], &c.keys[e.Key], c.processes[e.Env])
	}
	for n, k := range c.keys {
		if h.Plan.Tx && k.completed != (k.commits > 0) {
			c.violated(Together, "key %d: completed %v, committed %d times", n, k.completed, k.commits)
		}
	}
	for body, mails := range h.mails {
		owner, _, _ := strings.Cut(body, "/")
		last := map[string]time.Time{}
		for _, m := range mails {
			if n, known := h.ids[m.record]; !known || strconv.Itoa(h.Plan.Messages[n].Key) != owner {
				c.violated(SendsNamed, "message %s has the id of message %d", body, n)
			}
			if at := last[m.record]; h.Plan.FIFO && m.sent.Sub(at) < deduplicated {
				c.violated(SendsOnce, "message %s is sent again %v after the first time", body, m.sent.Sub(at))
			}
			last[m.record] = m.sent
		}
	}
	if h.Stuck > 0 {
		c.violated(Drained, "%d messages are left", h.Stuck)
	}
	return c.found
}

func (c *checker) violated(p Promise, format string, args ...any) {
	c.found = append(c.found, Violation{p, c.at, fmt.Sprintf(format, args...)})
}

// undisturbed reports whether nothing goes wrong but the function.
func (c *checker) undisturbed() bool {
	return len(c.Plan.Faults)+len(c.Plan.Kills)+c.Plan.Broken == 0
}

func (c *checker) entry(e Entry, m *message, k *key, p *process) {
	switch e.Kind {
	case Sent:
		m.sent = e.At
	case Received:
		m.received = e.At
	case Called:
		c.called(e, m, k, p)
		p.running[e.Message] = e.At
		m.call[e.Env], m.began[e.Env] = e.Call, c.number
		m.finished[e.Env] = false
	case Ended:
		m.end, m.last[e.Env] = e.End, e.End
		m.done = m.done || e.End == OK && !c.Plan.Tx
		k.done = k.done || m.done
		m.failed = m.failed || e.End.forGood()
		if delete(p.running, e.Message); e.End != OK {
			p.failed++
		}
		switch {
		case e.End == OK:
			p.failures = nil
		case e.InTime && !e.End.forGood() && m.began[e.Env] > p.changed:
			p.failures = append(p.failures, e.At)
		}
	case Committed:
		m.done, k.done = true, true
		if k.commits++; k.commits > 1 {
			c.violated(WorkOnce, "the work of key %d is committed %d times", e.Key, k.commits)
		}
	case Completed:
		k.completed = true
	case KeptFailure:
		k.kept = true
	case Finished:
		m.finished[e.Env] = true
		p.failures = nil // perhaps it was a success without a call of the function
	case Repeated:
		if e.Index != e.Key {
			c.violated(KeptOwn, "message %d is a duplicate of key %d, and gets what was kept for key %d", e.Message, e.Key, e.Index)
		}
	case Mail:
		k.mails[e.Index] = true
	case Answer:
		c.answer(e)
	case Changed:
		hangs := false // perhaps its time is over
		for _, since := range p.running {
			hangs = hangs || e.At.Sub(since) > timeout/2
		}
		if e.Opened && p.failed == 0 && !hangs && c.undisturbed() {
			c.violated(BreakerFair, "the breaker opens, and the function has not failed")
		}
		p.changed, p.failed, p.failures = c.number, 0, nil
	case Dead:
		if m.dead = true; !m.failed {
			c.violated(NothingLost, "message %d is in the dead-letter queue, and the function did not fail it for good", e.Message)
		}
		k.failed = true
	case Deleted:
		c.deleted(e, m, k)
		m.gone = true
	case Foreign:
		c.violated(OwnRecord, "the context of message %d has another record", e.Message)
	}
}

func (c *checker) called(e Entry, m *message, k *key, p *process) {
	if k.completed && !k.kept {
		c.violated(WorkOnce, "message %d is worked on, and its key %d is completed", e.Message, e.Key)
	}
	if c.Plan.KeepPermanent && c.undisturbed() && k.failed && !m.dead {
		c.violated(KeptFailures, "message %d is worked on, and a message with its key %d is a dead letter", e.Message, e.Key)
	}
	// A failure that is known when the record's time is over does not count for the breaker.
	counted := c.Plan.has("breaker") && !c.Plan.has("bulk") && !c.Plan.has("sender")
	if counted && len(p.failures) >= trips && p.failures[trips-1].Add(time.Second).Before(m.received) {
		c.violated(BreakerOpens, "message %d reaches the function after %d failures in a row", e.Message, len(p.failures))
	}
	if !c.Plan.FIFO {
		return
	}
	for n := range e.Message {
		before := &c.messages[n]
		if c.Plan.Messages[n].Group != c.Plan.Messages[e.Message].Group || before.gone || before.dead || before.finished[e.Env] {
			continue
		}
		// A function of many records that the toolkit calls directly gets them together. It does not get
		// one whose key is completed, or whose object was deleted.
		done := before.call[e.Env] == e.Call || before.last[e.Env] == OK || c.keys[c.Plan.Messages[n].Key].completed || before.done && c.Plan.has("s3payload")
		if c.Plan.Parts[0] == "bulk" && done {
			continue
		}
		c.violated(Ordered, "message %d is handled, and message %d before it is not done", e.Message, n)
	}
}

// answer checks an answer, which may be to a request that was handled before.
func (c *checker) answer(e Entry) {
	r := c.answers[e.ID]
	m := &c.messages[r.Request]
	k := &c.keys[c.Plan.Messages[r.Request].Key]
	m.answered = true
	switch {
	case r.Failed:
		m.refused = true
		if r.Permanent && !m.failed && !k.kept {
			c.violated(Answered, "request %d is answered with a permanent error, and the function did not fail it or its key for good", r.Request)
		}
		if !r.Permanent && m.end.forGood() && c.Plan.Broken == 0 { // else it may not have been called
			c.violated(Answered, "request %d is answered with an error that is not permanent, and the function failed it for good", r.Request)
		}
	case !m.done && !k.done:
		c.violated(Answered, "request %d is answered, and its work was not done", r.Request)
	default:
		c.sent(r.Request, k)
	}
}

// sent checks that the messages of a record's work were sent.
func (c *checker) sent(n int, k *key) {
	if c.Plan.has("sender") && len(k.mails) < sends {
		c.violated(SendsMade, "message %d is done, and %d of its %d messages were sent", n, len(k.mails), sends)
	}
}

func (c *checker) deleted(e Entry, m *message, k *key) {
	if c.Plan.has("reply") {
		// One that fails when its time is over is not answered, and may be a dead letter.
		if gaveUp := m.sent.Add(c.Plan.Messages[e.Message].Patience); !m.answered && !m.dead && gaveUp.After(e.At) {
			c.violated(Answered, "request %d is deleted, was not answered, and its caller waits", e.Message)
		}
		if m.refused || !m.answered {
			return
		}
	}
	switch {
	case m.dead, k.kept: // checked before
	case m.done, k.done && k.completed:
		c.sent(e.Message, k)
	default:
		c.violated(NothingLost, "message %d is deleted, and its work was not done", e.Message)
	}
}
