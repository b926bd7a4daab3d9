package combine

import (
	"fmt"
	"strings"
	"time"

	"github.com/sqsbatch/sqsbatch/emulator/sqs"
)

// History is what happened while a plan was carried out.
type History struct {
	Plan    *Plan
	Began   time.Time
	Entries []Entry // in the order in which they took effect
	Stuck   int     // messages that were left at the end

	mails   map[string][]mail // by body
	answers map[string]Reply  // by the id of the message in the reply queue
	ids     map[string]int    // numbers of messages, by id
}

// mail is a message that the function has sent.
type mail struct {
	record string // its id, as the message has it
	sent   time.Time
}

// Reply is an answer to a request.
type Reply struct {
	Request           int
	Failed, Permanent bool
}

// Entry is one thing that happened.
type Entry struct {
	At      time.Time
	Kind    Kind
	Env     int // the process, from 1
	Message int
	Key     int    // of Mail, Completed and KeptFailure
	Index   int    // of Mail: which of the record's; of Repeated: what was kept, a key
	Call    int    // of Called and Ended: the call of a function of many records, from 1
	End     End    // of Ended
	Opened  bool   // of Changed: the breaker is open now
	InTime  bool   // of Ended: its context had not ended
	ID      string // of Answer: the message's
}

// Kind is what happened.
type Kind string

// Kinds of entries.
const (
	Sent        Kind = "sent"
	Received    Kind = "received"
	Deleted     Kind = "deleted"
	Dead        Kind = "in the dead-letter queue"
	Called      Kind = "function called"
	Ended       Kind = "function ended"
	Committed   Kind = "work committed"
	Completed   Kind = "key completed"
	KeptFailure Kind = "key completed by a failure"
	Finished    Kind = "done for the toolkit"
	Repeated    Kind = "a duplicate"
	Mail        Kind = "mail sent"
	Answer      Kind = "answered"
	Changed     Kind = "breaker opened or closed"
	Killed      Kind = "killed"
	Foreign     Kind = "the context has another record"
)

func (h *History) String() string {
	var b strings.Builder
	fmt.Fprint(&b, h.Plan)
	for _, e := range h.Entries {
		fmt.Fprintf(&b, "%10v env %d message %d key %d index %d call %d %s %s", e.At.Sub(h.Began).Round(time.Millisecond), e.Env, e.Message, e.Key, e.Index, e.Call, e.Kind, e.End)
		if r, is := h.answers[e.ID]; is {
			fmt.Fprintf(&b, " %+v", r)
		}
		fmt.Fprintln(&b)
	}
	return b.String()
}

// add adds an entry. The caller holds the lock.
func (w *world) add(e Entry) {
	e.At = time.Now()
	w.history.Entries = append(w.history.Entries, e)
}

func (w *world) write(e Entry) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.add(e)
}

// note writes an entry of the process. It returns false, and does nothing, if the process is dead.
func (e *env) note(entry Entry) bool {
	e.w.mu.Lock()
	defer e.w.mu.Unlock()
	if e.ctx.Err() != nil {
		return false
	}
	entry.Env = e.number
	if entry.Kind != Changed {
		entry.Key = e.w.plan.Messages[entry.Message].Key
	}
	e.w.add(entry)
	return true
}

// observe is the server's Observe.
func (w *world) observe(e sqs.Event) {
	w.mu.Lock()
	defer w.mu.Unlock()
	n := w.numbers[e.Body]
	entry := Entry{Message: n}
	switch e.Queue {
	case w.source:
		switch e.Kind {
		case sqs.Sent:
			w.numbers[e.MessageID] = n
			w.left++
			entry.Kind = Sent
		case sqs.Received:
			entry.Kind = Received
		case sqs.Deleted:
			w.left--
			entry.Kind = Deleted
		}
	case w.dead:
		if e.Kind == sqs.Sent {
			entry.Kind = Dead
		}
	case w.mails:
		if e.Kind == sqs.Sent {
			entry.Kind, entry.Message = Mail, 0
			_, _ = fmt.Sscanf(e.Body, "%d/%d", &entry.Key, &entry.Index)
		}
	case w.replies:
		if e.Kind == sqs.Sent {
			entry.Kind, entry.ID = Answer, e.MessageID
		}
	}
	if entry.Kind != "" {
		if entry.Kind != Mail {
			entry.Key = w.plan.Messages[n].Key
		}
		w.add(entry)
	}
}
