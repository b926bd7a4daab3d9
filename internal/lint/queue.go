package lint

import (
	"strings"
	"time"

	"github.com/sqsbatch/sqsbatch/internal/template"
)

// A Source is a queue whose messages are handled, with its dead-letter queue.
type Source struct {
	template.Queue
	dead    *template.Queue // nil: none
	mapping *Mapping        // nil: no function of the template's polls it
}

// sourcesOf returns the queues by ARN.
func sourcesOf(queues []template.Queue) map[string]*Source {
	sources := map[string]*Source{}
	for _, q := range queues {
		sources[q.ARN] = &Source{Queue: q}
	}
	for _, s := range sources {
		if dead := sources[s.DeadLetterARN]; dead != nil {
			s.dead = &dead.Queue
		}
	}
	return sources
}

// Queues are the rules of a queue whose messages are handled.
var Queues = []Rule[Source]{
	{
		Info: Info{ID: "SB201", Severity: Warning,
			Title: "The queue has no dead-letter queue",
			Why:   "A record that fails every time is retried until its retention ends, and then gone.",
			Page:  "Using dead-letter queues in Amazon SQS"},
		check: func(s Source, report report) {
			if s.LogicalID != "" && s.DeadLetterARN == "" {
				report(s.Resource.Pos, "queue %s has no dead-letter queue; give it a RedrivePolicy", s.Name)
			}
		},
	},
	{
		Info: Info{ID: "SB202", Severity: Warning,
			Title: "maxReceiveCount is below 5",
			Why:   "An invocation that is throttled takes a receive from its records.",
			Page:  "Creating and configuring an Amazon SQS event source mapping"},
		check: func(s Source, report report) {
			if s.DeadLetterARN != "" && s.MaxReceiveCount < 5 {
				report(s.Resource.Get("RedrivePolicy", "maxReceiveCount").Pos,
					"queue %s has a maxReceiveCount of %d; AWS advises 5 at least", s.Name, s.MaxReceiveCount)
			}
		},
	},
	{
		Info: Info{ID: "SB203", Severity: Error,
			Title: "The dead-letter queue is of the other type",
			Why:   "SQS refuses the RedrivePolicy.",
			Page:  "Using dead-letter queues in Amazon SQS"},
		check: func(s Source, report report) {
			if s.dead != nil && s.dead.FIFO != s.FIFO {
				report(s.Resource.Get("RedrivePolicy").Pos, "of queue %s and its dead-letter queue %s only one is a FIFO queue", s.Name, s.dead.Name)
			}
		},
	},
	{
		Info: Info{ID: "SB204", Severity: Warning,
			Title: "The dead-letter queue keeps messages no longer than the queue does",
			Why:   "On a standard queue a dead letter's age counts from when it was first sent, so it may expire on arrival.",
			Page:  "Using dead-letter queues in Amazon SQS"},
		check: func(s Source, report report) {
			if s.dead != nil && s.dead.LogicalID != "" && !s.FIFO && s.dead.Retention() <= s.Retention() {
				report(s.dead.Resource.Get("MessageRetentionPeriod").Pos,
					"queue %s keeps dead letters for %d seconds, no longer than messages stay in %s", s.dead.Name, s.dead.Retention()/time.Second, s.Name)
			}
		},
	},
	{
		Info: Info{ID: "SB205", Severity: Error,
			Title: "The dead-letter queue does not take the queue's messages",
			Why:   "SQS refuses the RedrivePolicy.",
			Page:  "Using dead-letter queues in Amazon SQS"},
		check: func(s Source, report report) {
			if s.dead == nil {
				return
			}
			allow := s.dead.Attributes["RedriveAllowPolicy"]
			if strings.Contains(allow, "denyAll") || strings.Contains(allow, "byQueue") && !strings.Contains(allow, `"`+s.ARN+`"`) {
				report(s.dead.Resource.Get("RedriveAllowPolicy").Pos, "dead-letter queue %s does not take messages of %s: %s", s.dead.Name, s.ARN, allow)
			}
		},
	},
}
