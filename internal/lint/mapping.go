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
	// A mapping without ReportBatchItemFailures: Lambda deletes the whole batch when the function returns, with the records that failed ("Handling errors for an SQS event source in Lambda").
	ID: "SB101",
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
	// A visibility timeout below the function's timeout: Lambda refuses the mapping ("Creating and configuring an Amazon SQS event source mapping").
	ID: "SB105",
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
	// More than five filters: Lambda refuses more unless the account's quota was raised ("Control which events Lambda sends to your function").
	ID: "SB116",
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
		// A batch size above 10 without a window: Lambda refuses the mapping ("Creating and configuring an Amazon SQS event source mapping").
		ID: "SB102",
		check: func(m Mapping, report report) {
			if m.Event.BatchSize > 10 && m.Event.Window < time.Second && !m.Queue.FIFO {
				report(m.Event.Properties.Get("BatchSize").Pos,
					"event %s has a BatchSize of %d without a window; above 10 it needs a MaximumBatchingWindowInSeconds of 1 or more", m.Event.Name, m.Event.BatchSize)
			}
		},
	},
	{
		// A window on a FIFO queue: Lambda refuses the mapping ("Creating and configuring an Amazon SQS event source mapping").
		ID: "SB103",
		check: func(m Mapping, report report) {
			if m.Queue.FIFO && m.Event.Window > 0 {
				report(m.Event.Properties.Get("MaximumBatchingWindowInSeconds").Pos,
					"event %s has a window of %d seconds on the FIFO queue %s; Lambda takes none there", m.Event.Name, m.Event.Window/time.Second, m.Queue.Name)
			}
		},
	},
	{
		// A batch size above 10 on a FIFO queue: Lambda refuses the mapping ("Creating and configuring an Amazon SQS event source mapping").
		ID: "SB104",
		check: func(m Mapping, report report) {
			if m.Queue.FIFO && m.Event.BatchSize > 10 {
				report(m.Event.Properties.Get("BatchSize").Pos,
					"event %s has a BatchSize of %d on the FIFO queue %s; Lambda takes 10 at most there", m.Event.Name, m.Event.BatchSize, m.Queue.Name)
			}
		},
	},
	ShortVisibility,
	{
		// A visibility timeout below 6 × timeout + window: Invocations that Lambda throttles are retried meanwhile; then SQS shows the records to others, and a receive is used up ("Creating and configuring an Amazon SQS event source mapping").
		ID: "SB106",
		check: func(m Mapping, report report) {
			if v := m.Queue.Visibility(); m.Queue.LogicalID != "" && v < m.wanted() && v >= m.Function.Timeout {
				report(m.Queue.Resource.Get("VisibilityTimeout").Pos, "queue %s has a VisibilityTimeout of %d seconds; set it to %d (6 × Timeout + window)",
					m.Queue.Name, v/time.Second, m.wanted()/time.Second)
			}
		},
	},
	{
		// A maximum concurrency above the reserved concurrency: Lambda throttles the invocations above it, and each takes a receive from its records ("Configuring scaling behavior for SQS event source mappings").
		ID: "SB109",
		check: func(m Mapping, report report) {
			if r := m.Function.ReservedConcurrency; r != nil && m.Event.MaximumConcurrency > *r {
				report(m.Event.Properties.Get("ScalingConfig", "MaximumConcurrency").Pos,
					"event %s has a MaximumConcurrency of %d, above the %d that function %s reserves", m.Event.Name, m.Event.MaximumConcurrency, *r, m.Function.LogicalID)
			}
		},
	},
	ManyFilters,
}
