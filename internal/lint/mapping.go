package lint

import (
	"time"

	"github.com/sqsbatch/sqsbatch/internal/settings"
	"github.com/sqsbatch/sqsbatch/internal/template"
)

// A Mapping is an event with the function that it invokes and the queue that it
// polls.
type Mapping struct {
	Function template.Function
	Event    template.Event
	Queue    template.Queue
}

// MappingsOf lists the mappings of a function.
func MappingsOf(d *template.Deployment) []Mapping {
	list := []Mapping{{d.Function, d.Event, d.Source}}
	for _, m := range d.More {
		list = append(list, Mapping{d.Function, m.Event, m.Queue})
	}
	return list
}

// wanted is the visibility timeout that AWS asks for.
func (m Mapping) wanted() time.Duration { return 6*m.Function.Timeout + m.Event.Window }

// Unreported is a mapping that ignores what the function reports.
var Unreported = Rule[Mapping]{
	Info: Info{ID: "SB101", Severity: Error,
		Title: "The mapping has no ReportBatchItemFailures",
		Why:   "Lambda deletes the whole batch when the function returns, with the records that failed.",
		Page:  "Handling errors for an SQS event source in Lambda"},
	check: func(m Mapping, report report) {
		remedy := settings.DeleteSucceeded
		deletes, _ := remedy.Bool(m.Function.Environment[remedy.Name]) // the function refuses a wrong one
		if m.Event.ReportBatchItemFailures || deletes {
			return
		}
		report(m.Event.Pos, "event %s of function %s has no ReportBatchItemFailures: Lambda ignores which records failed and deletes them with the rest of the batch, so they are lost. "+
			"Add FunctionResponseTypes: [ReportBatchItemFailures] to the event, or give the function %s=true", m.Event.Name, m.Function.LogicalID, remedy.Name)
	},
}

// ShortVisibility is a queue that shows records again while a function may still
// handle them.
var ShortVisibility = Rule[Mapping]{
	Info: Info{ID: "SB105", Severity: Error,
		Title: "The visibility timeout is shorter than the function's timeout",
		Why:   "Lambda refuses the mapping.",
		Page:  "Creating and configuring an Amazon SQS event source mapping"},
	check: func(m Mapping, report report) {
		if v, timeout := m.Queue.Visibility(), m.Function.Timeout; m.Queue.LogicalID != "" && v < timeout {
			report(m.Queue.Resource.Get("VisibilityTimeout").Pos,
				"queue %s has a VisibilityTimeout of %d seconds, less than the function's Timeout of %d; Lambda refuses that. Set it to %d (6 × Timeout + window)",
				m.Queue.Name, v/time.Second, timeout/time.Second, m.wanted()/time.Second)
		}
	},
}

// ManyFilters is a mapping with more filters than the quota.
var ManyFilters = Rule[Mapping]{
	Info: Info{ID: "SB116", Severity: Error,
		Title: "The mapping has more than five filters",
		Why:   "Lambda refuses more unless the account's quota was raised.",
		Page:  "Control which events Lambda sends to your function"},
	check: func(m Mapping, report report) {
		const quota = 5
		if n := len(m.Event.Filters); n > quota {
			report(m.Event.Properties.Get("FilterCriteria").Pos,
				"event %s has %d filters: Lambda takes %d, and more only where the account's quota was raised", m.Event.Name, n, quota)
		}
	},
}

// Mappings are the rules of a mapping.
var Mappings = []Rule[Mapping]{
	Unreported,
	{
		Info: Info{ID: "SB102", Severity: Error,
			Title: "A batch size above 10 has no window",
			Why:   "Lambda refuses the mapping.",
			Page:  "Creating and configuring an Amazon SQS event source mapping"},
		check: func(m Mapping, report report) {
			if m.Event.BatchSize > 10 && m.Event.Window < time.Second && !m.Queue.FIFO {
				report(m.Event.Properties.Get("BatchSize").Pos,
					"event %s has a BatchSize of %d without a window; above 10 it needs a MaximumBatchingWindowInSeconds of 1 or more", m.Event.Name, m.Event.BatchSize)
			}
		},
	},
	{
		Info: Info{ID: "SB103", Severity: Error,
			Title: "A FIFO queue has a window",
			Why:   "Lambda refuses the mapping.",
			Page:  "Creating and configuring an Amazon SQS event source mapping"},
		check: func(m Mapping, report report) {
			if m.Queue.FIFO && m.Event.Window > 0 {
				report(m.Event.Properties.Get("MaximumBatchingWindowInSeconds").Pos,
					"event %s has a window of %d seconds on the FIFO queue %s; Lambda takes none there", m.Event.Name, m.Event.Window/time.Second, m.Queue.Name)
			}
		},
	},
	{
		Info: Info{ID: "SB104", Severity: Error,
			Title: "A FIFO queue has a batch size above 10",
			Why:   "Lambda refuses the mapping.",
			Page:  "Creating and configuring an Amazon SQS event source mapping"},
		check: func(m Mapping, report report) {
			if m.Queue.FIFO && m.Event.BatchSize > 10 {
				report(m.Event.Properties.Get("BatchSize").Pos,
					"event %s has a BatchSize of %d on the FIFO queue %s; Lambda takes 10 at most there", m.Event.Name, m.Event.BatchSize, m.Queue.Name)
			}
		},
	},
	ShortVisibility,
	{
		Info: Info{ID: "SB106", Severity: Warning,
			Title: "The visibility timeout is shorter than 6 × timeout + window",
			Why:   "Invocations that Lambda throttles are retried meanwhile; then SQS shows the records to others, and a receive is used up.",
			Page:  "Creating and configuring an Amazon SQS event source mapping"},
		check: func(m Mapping, report report) {
			if v := m.Queue.Visibility(); m.Queue.LogicalID != "" && v < m.wanted() && v >= m.Function.Timeout {
				report(m.Queue.Resource.Get("VisibilityTimeout").Pos, "queue %s has a VisibilityTimeout of %d seconds; set it to %d (6 × Timeout + window)",
					m.Queue.Name, v/time.Second, m.wanted()/time.Second)
			}
		},
	},
	{
		Info: Info{ID: "SB109", Severity: Warning,
			Title: "The maximum concurrency is above the reserved concurrency",
			Why:   "Lambda throttles the invocations above it, and each takes a receive from its records.",
			Page:  "Configuring scaling behavior for SQS event source mappings"},
		check: func(m Mapping, report report) {
			if r := m.Function.ReservedConcurrency; r != nil && m.Event.MaximumConcurrency > *r {
				report(m.Event.Properties.Get("ScalingConfig", "MaximumConcurrency").Pos,
					"event %s has a MaximumConcurrency of %d, above the %d that function %s reserves", m.Event.Name, m.Event.MaximumConcurrency, *r, m.Function.LogicalID)
			}
		},
	},
	ManyFilters,
}
