package dlq

import (
	"maps"
	"regexp"
	"slices"
	"strings"
	"sync"

	"github.com/sqsbatch/sqsbatch/cmd/sqsbatch/internal/dlq/letter"
)

// A result counts what a run did. Its methods may be called from several goroutines.
type result struct {
	mu sync.Mutex
	counts
	edits []string // differences, a few
}

// edited keeps what an edit changes, for a dry run.
func (r *result) edited(before, after letter.Letter) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if len(r.edits) < editExamples {
		r.edits = append(r.edits, before.ID+"\n"+letter.Diff(before, after))
	}
}

// editExamples is how many differences a dry run shows.
const editExamples = 3

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
}

// A failure is a kind of failure.
type failure struct {
	Error    string   `json:"error"`
	Count    int      `json:"count"`
	Examples []string `json:"examples"` // ids, a few
}

const (
	failureExamples = 3
	maxFailures     = 100 // kinds
)

func (r *result) picked(v verdict) {
	r.mu.Lock()
	defer r.mu.Unlock()
	switch v {
	case take:
		r.Selected++
	case other:
		r.NotSelected++
	case arrived:
		r.Arrived++
	case behind:
		r.Behind++
	case over: // SQS returned it together with the last ones; nothing is said of it
	}
}

// count changes counts.
func (r *result) count(change func(c *counts)) {
	r.mu.Lock()
	defer r.mu.Unlock()
	change(&r.counts)
}

// routed counts messages that go to a queue.
func (r *result) routed(arn string, n int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.Destinations == nil {
		r.Destinations = map[string]int{}
	}
	r.Destinations[arn] += n
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
	i := slices.IndexFunc(r.Failures, func(f failure) bool { return f.Error == text })
	if i < 0 && len(r.Failures) >= maxFailures { // senders may write what an error names
		text = "other reasons"
		i = slices.IndexFunc(r.Failures, func(f failure) bool { return f.Error == text })
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

// sent counts messages that SQS has confirmed, and those of them that may have been sent
// twice.
func (r *result) sent(arn string, n int, twice []string) {
	if n > 0 {
		r.routed(arn, n)
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.Sent += n
	r.SentTwice = append(r.SentTwice, twice...)
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
