package dlq

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/sqsbatch/sqsbatch/cmd/sqsbatch/internal/dlq/letter"
	"github.com/sqsbatch/sqsbatch/cmd/sqsbatch/internal/show"
)

// A verdict says whether a verb acts on a message.
type verdict int

const (
	take    verdict = iota
	other           // it is not selected
	arrived         // it was sent after the run began
	behind          // it is selected, and a message before it in its group stays
	over            // --limit is reached
)

// A picker decides which messages a verb acts on.
type picker struct {
	selection *letter.Selection
	limit     int // how many messages are taken, those on which the verb then fails included; 0 for none
	// before is when the run began. A message that was sent later is left, because it may
	// be one that this run sent and that failed again. Zero: every message is taken.
	before time.Time
	// ordered is set for verbs that move messages of a FIFO queue: a message is taken only
	// if everything before it in its group is, too.
	ordered bool

	mu      sync.Mutex
	taken   int
	blocked map[string]bool // groups of which a message stays
}

// pick decides about one message. Messages of a group come in their order. An error says
// that the selection cannot be evaluated; the message stays.
func (p *picker) pick(l *letter.Letter) (v verdict, err error) {
	matches := false
	late := !p.before.IsZero() && l.Sent.After(p.before)
	if !late {
		matches, err = p.selection.Matches(l, time.Now())
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	switch {
	case late:
		v = arrived
	case !matches:
		v = other
	case p.blocked[l.GroupID]:
		v = behind
	case p.limit > 0 && p.taken >= p.limit:
		v = over
	default:
		p.taken++
		return take, nil
	}
	p.block(l)
	return v, err
}

// stays notes that a message that was taken stays in the queue after all.
func (p *picker) stays(l *letter.Letter) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.block(l)
}

func (p *picker) block(l *letter.Letter) {
	if !p.ordered {
		return
	}
	if p.blocked == nil {
		p.blocked = map[string]bool{}
	}
	p.blocked[l.GroupID] = true
}

// isBlocked reports whether a message of a letter's group stays.
func (p *picker) isBlocked(l *letter.Letter) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.blocked[l.GroupID]
}

// full reports whether the limit is reached.
func (p *picker) full() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.limit > 0 && p.taken >= p.limit
}

// A result counts what a run did. Its methods may be called from several goroutines.
type result struct {
	mu sync.Mutex
	counts
	edits []string // differences, a few
}

// counts are what a result counts.
type counts struct {
	Selected    int `json:"selected"` // and acted on, as far as nothing below says otherwise
	NotSelected int `json:"notSelected"`
	Arrived     int `json:"arrived"` // after the run began; they are left
	Behind      int `json:"behind"`  // a message of their group that stays; they are left
	LeftByEdit  int `json:"leftByEdit"`
	Sent        int `json:"sent"`
	Deleted     int `json:"deleted"`
	Failed      int `json:"failed"`
	// Failures are by kind, the most frequent first.
	Failures []failure `json:"failures,omitempty"`
	// Destinations are how many messages go to each queue, by ARN.
	Destinations map[string]int `json:"destinations,omitempty"`
	// SentTwice are the ids of messages that may have been sent twice.
	SentTwice []string `json:"sentTwice,omitempty"`
	// Unsure are the ids of messages that stay in the queue and may have been sent.
	Unsure []string `json:"unsure,omitempty"`
	account
}

// A failure is a kind of failure.
type failure struct {
	Error    string   `json:"error"`
	Count    int      `json:"count"`
	Examples []string `json:"examples"` // ids, a few
}

// ids lists the examples.
func (f failure) ids() string {
	if more := f.Count - len(f.Examples); more > 0 {
		return fmt.Sprintf("%s and %s more", strings.Join(f.Examples, ", "), show.Number(more))
	}
	return strings.Join(f.Examples, ", ")
}

const (
	failureExamples = 3
	maxFailures     = 100 // kinds
	editExamples    = 3   // differences that a dry run shows
)

// count changes counts.
func (r *result) count(change func(c *counts)) {
	r.mu.Lock()
	defer r.mu.Unlock()
	change(&r.counts)
}

func (r *result) picked(v verdict) {
	r.mu.Lock()
	defer r.mu.Unlock()
	// Nothing is said of a message over the limit: SQS returned it together with the last ones.
	counters := map[verdict]*int{take: &r.Selected, other: &r.NotSelected, arrived: &r.Arrived, behind: &r.Behind, over: new(int)}
	*counters[v]++
}

// edited keeps what an edit changes, for a dry run.
func (r *result) edited(before, after letter.Letter) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if len(r.edits) < editExamples {
		r.edits = append(r.edits, before.ID+"\n"+letter.Diff(before, after))
	}
}

// routed counts messages that go to a queue.
func (c *counts) routed(arn string, n int) {
	if c.Destinations == nil {
		c.Destinations = map[string]int{}
	}
	c.Destinations[arn] += n
}

// requestID differs in each error of SQS.
var requestID = regexp.MustCompile(`RequestID: [^,)]*, `)

// failed counts a message that stays because of an error. Errors that only differ in the
// ids of message and request are of one kind.
func (r *result) failed(id string, err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.Failed++
	text := requestID.ReplaceAllString(strings.ReplaceAll(err.Error(), id, "ID"), "")
	kind := func() int { return slices.IndexFunc(r.Failures, func(f failure) bool { return f.Error == text }) }
	i := kind()
	if i < 0 && len(r.Failures) >= maxFailures { // senders may write what an error names
		text = "other reasons"
		i = kind()
	}
	if i < 0 {
		i = len(r.Failures)
		r.Failures = append(r.Failures, failure{Error: text})
	}
	f := &r.Failures[i]
	f.Count++
	if len(f.Examples) < failureExamples {
		f.Examples = append(f.Examples, id)
	}
}

// now is a copy of the counts.
func (r *result) now() counts {
	r.mu.Lock()
	defer r.mu.Unlock()
	c := r.counts
	c.Failures = slices.Clone(c.Failures)
	slices.SortStableFunc(c.Failures, func(a, b failure) int { return b.Count - a.Count })
	c.Destinations = maps.Clone(c.Destinations)
	return c
}
