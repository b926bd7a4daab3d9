package main

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"
)

// A sequence is what is done on both servers: operations on queues of its own,
// which refer to queues by number and to messages by their bodies, so that any
// of them can be left out and the rest still means something.
type sequence struct {
	seed       uint64
	index      int
	fifo       bool // its queues' type
	kept       []int
	operations []operation
	stretch    int // how many times as long it takes; 0 and 1: as it is
}

// operation is one call, or a Pause.
type operation struct {
	Name string `json:"-"`
	// Queue is which of the sequence's queues; QueueName a name in its stead,
	// for CreateQueue and GetQueueUrl; NoQueue the URL of a queue that is not there.
	Queue     int    `json:",omitempty"`
	QueueName string `json:",omitempty"`
	NoQueue   bool   `json:",omitempty"`

	Messages   []message         `json:",omitempty"`
	Receipts   []receipt         `json:",omitempty"`
	Attributes map[string]string `json:",omitempty"` // in values, {arn:1} is the ARN of queue 1
	Tags       map[string]string `json:",omitempty"`
	Names      []string          `json:",omitempty"` // of attributes, or keys of tags
	// A number that is 0 is not sent: the SDK leaves such members out.
	Max        int32  `json:",omitempty"`
	Wait       int32  `json:",omitempty"`
	Visibility int32  `json:",omitempty"`
	Attempt    string `json:",omitempty"`
	Token      string `json:",omitempty"`
	Phases     int    `json:",omitempty"` // how long a Pause is
}

type message struct {
	ID         string `json:",omitempty"` // of a batch's entry
	Body       string
	Pad        int               `json:",omitempty"` // so many ~ after the body
	Delay      int32             `json:",omitempty"`
	Attributes map[string]string `json:",omitempty"` // name to "type:value"
	Trace      string            `json:",omitempty"`
	Group      string            `json:",omitempty"`
	Dedup      string            `json:",omitempty"`
}

func (m message) text() string { return m.Body + strings.Repeat("~", m.Pad) }

// label is the Body of the message whose text this is.
func label(text string) string { return strings.TrimRight(text, "~") }

// receipt names the receipt handle of a message received earlier.
type receipt struct {
	ID         string `json:",omitempty"`
	Of         string `json:",omitempty"` // the message's Body
	First      bool   `json:",omitempty"` // of its first receive, not its latest
	Elsewhere  bool   `json:",omitempty"` // received from the sequence's other queue
	Handle     string `json:",omitempty"` // the handle itself, instead of all that
	Visibility int32  `json:",omitempty"`
}

func (o operation) String() string {
	text, _ := json.Marshal(o) // strings and numbers always marshal
	return o.Name + " " + squeeze(string(text))
}

// squeeze shortens long runs of one character, which only limits need.
func squeeze(text string) string {
	var out strings.Builder
	for rest := []rune(text); len(rest) > 0; {
		n := 1
		for n < len(rest) && rest[n] == rest[0] {
			n++
		}
		if n > 12 {
			fmt.Fprintf(&out, "%c…(%d times)", rest[0], n)
		} else {
			out.WriteString(string(rest[:n]))
		}
		rest = rest[n:]
	}
	return out.String()
}

// Time on the servers is real, so a sequence keeps to a timetable that leaves no
// doubt about what is over: it does everything within the first budget of a
// phase, and uses delays and timeouts of 1 and 2 s (or far longer ones), which
// end between two phases' budgets: of 1 s between 1.0 and 1.4 s after the phase
// began, of 2 s between 2.0 and 2.4 s, where budgets end at 0.4, 1.9 and 3.4 s. A
// run that was later than that proves nothing, and is done again (see stretches).
const (
	phase  = 1500 * time.Millisecond
	budget = 400 * time.Millisecond
)

// phases is how many phases later the next operation is done. A receive that
// may wait is the last of its phase, whether it then waits or not.
func (o operation) phases() int {
	if o.Name == "Pause" {
		return o.Phases
	}
	if o.waits() {
		return int(o.Wait)
	}
	return 0
}

// waits tells whether o is a receive that may wait; longer waits than these
// are generated only where they are refused.
func (o operation) waits() bool { return o.Wait >= 1 && o.Wait <= 2 }

// timely tells whether the timetable works out. Nothing may end at the moment at
// which a receive gives up waiting; at most one thing may end while it waits,
// for it returns with the first of several; and what it gets must not come back
// in the sequence's time.
func (s sequence) timely() bool {
	queues := s.queueTimeouts()
	var before, now []string // the timeouts that began in the phase before, and in this one
	for _, o := range s.operations {
		if o.waits() && (o.Visibility < 30 || slices.Contains(now, fmt.Sprint(o.Wait)) || len(before)+len(now) > 1) {
			return false
		}
		now = append(now, o.timeouts(queues)...)
		switch o.phases() {
		case 0:
		case 1:
			before, now = now, nil
		default:
			before, now = nil, nil
		}
	}
	return true
}

// queueTimeouts are the short delays and visibility timeouts that the queues
// have at any time.
func (s sequence) queueTimeouts() (seconds []string) {
	for _, o := range s.operations {
		for _, name := range []string{"DelaySeconds", "VisibilityTimeout"} {
			if text := o.Attributes[name]; text == "1" || text == "2" {
				seconds = append(seconds, text)
			}
		}
	}
	return seconds
}

// timeouts are the short delays and timeouts that may begin with o, on queues
// that have those of their own.
func (o operation) timeouts(queues []string) (seconds []string) {
	add := func(n int32) {
		switch n {
		case 0:
			seconds = append(seconds, queues...)
		case 1, 2:
			seconds = append(seconds, fmt.Sprint(n))
		}
	}
	for _, m := range o.Messages {
		add(m.Delay)
	}
	for _, r := range o.Receipts {
		if r.Visibility > 0 {
			add(r.Visibility)
		}
	}
	if o.Name == "ReceiveMessage" {
		for range max(1, o.Max) {
			add(o.Visibility)
		}
	}
	if o.Name == "SetQueueAttributes" { // a FIFO queue's delay counts for what is in it
		add(0)
		add(0)
	}
	return seconds
}

// without is s less the operation at i.
func (s sequence) without(drop ...int) sequence {
	out := s
	out.kept, out.operations = nil, nil
	for i, o := range s.operations {
		if !slices.Contains(drop, i) {
			out.kept = append(out.kept, s.kept[i])
			out.operations = append(out.operations, o)
		}
	}
	return out
}

// keep is s with only those operations of the generated sequence.
func (s sequence) keep(kept []int) sequence {
	var drop []int
	for i, at := range s.kept {
		if !slices.Contains(kept, at) {
			drop = append(drop, i)
		}
	}
	return s.without(drop...)
}
