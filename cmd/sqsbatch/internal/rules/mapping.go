package rules

import (
	"fmt"
	"time"

	"github.com/sqsbatch/sqsbatch/cmd/sqsbatch/internal/template"
	"github.com/sqsbatch/sqsbatch/internal/settings"
)

// A Mapping is what the rules judge of an event source mapping.
type Mapping struct{ template.Mapping }

// get returns a property of the event.
func (m Mapping) get(path ...string) template.Value { return m.Event.Properties.Get(path...) }

// wanted is the visibility timeout that AWS asks for.
func (m Mapping) wanted() time.Duration { return 6*m.Function.Timeout + m.Event.Window }

// comparable reports whether the queue's visibility timeout and the function's timeout are known.
func (m Mapping) comparable(r *reporter) bool {
	return m.Queue.LogicalID != "" && m.Function.LogicalID != "" &&
		r.known(m.Function.Resource.Get("Timeout"), m.get("MaximumBatchingWindowInSeconds"), m.Queue.Resource.Get("VisibilityTimeout"))
}

// filters is the number of the event's filters.
func (m Mapping) filters() int {
	list, _ := m.get("FilterCriteria", "Filters").List()
	return len(list)
}

// kind reports whether it is known if the queue is a FIFO queue.
func (m Mapping) kind(r *reporter) bool {
	if m.Event.QueueARN == "" {
		r.unsure(m.Event.Pos, "whether event %s polls a FIFO queue is not known", m.Event.Name)
		return false
	}
	return m.Queue.LogicalID == "" || r.known(m.Queue.Resource.Get("FifoQueue"))
}

// bounds reports a number of the event that is out of its bounds.
func (m Mapping) bounds(r *reporter, least, most int, path ...string) {
	v, name := m.get(path...), path[len(path)-1]
	n, ok := r.number(v)
	if !ok || n >= least && n <= most {
		return
	}
	f := r.report(v.Pos, "event %s has a %s of %d; Lambda takes %d to %d", m.Event.Name, name, n, least, most)
	f.Fix = setting(m.get(path[:len(path)-1]...), name, min(max(n, least), most))
}

// Pages of AWS's documentation.
const (
	mappingPage = "Creating and configuring an Amazon SQS event source mapping"
	errorsPage  = "Handling errors for an SQS event source in Lambda"
	scalingPage = "Configuring scaling behavior for SQS event source mappings"
	filterPage  = "Using event filtering with an Amazon SQS event source"
	quotaPage   = "Control which events Lambda sends to your function"
	metricsPage = "Types of metrics for Lambda functions"
)

// longEnough sets the visibility timeout that AWS asks for.
func (m Mapping) longEnough() *Fix {
	return property(m.Queue.Resource, "VisibilityTimeout", int(m.wanted()/time.Second))
}

// Mappings are the rules of a mapping.
var Mappings = []Rule[Mapping]{
	{
		Info: Info{ID: "SB101", Severity: Error, Page: errorsPage,
			Title: "The mapping has no ReportBatchItemFailures",
			Why:   "Lambda ignores the batchItemFailures that the function returns, and deletes the whole batch: the records that failed are lost. If the function returns an error instead, nothing is deleted, and the records that succeeded are handled again. With a BatchSize of 1 an error fails the one record, as it should, so it is a note unless the function has variables of the toolkit, which returns batchItemFailures. It is a warning if the function is in another language than Go, since most such functions return an error."},
		check: func(m Mapping, r *reporter) {
			remedy := settings.DeleteSucceeded
			deletes, _ := remedy.Read(m.Function.Environment[remedy.Name]) // the function refuses a wrong one
			types := m.get("FunctionResponseTypes")
			if m.Event.ReportBatchItemFailures || deletes == true || !r.known(types) || !isForeign(m.Function.Resource) && !r.known(valueOf(m.Function, remedy)) {
				return
			}
			if m.Function.LogicalID == "" {
				r.unsure(m.Event.Pos, "mapping %s has no ReportBatchItemFailures, and its function, which may have %s=true, is not in the template", m.Event.Name, remedy.Name)
				return
			}
			if size := m.get("BatchSize"); !usesToolkit(m.Function) {
				if !r.known(size) {
					return
				}
				if m.Event.BatchSize == 1 {
					r.report(m.Event.Pos, "event %s of function %s has no ReportBatchItemFailures: with a BatchSize of 1 a record is lost only if the function returns batchItemFailures instead of an error", m.Event.Name, m.Function.LogicalID).Severity = Note
					return
				}
			}
			f := r.report(m.Event.Pos, "event %s of function %s has no ReportBatchItemFailures: if the function returns batchItemFailures, as the toolkit does, Lambda ignores them and deletes those records with the rest of the batch. "+
				"Add FunctionResponseTypes: [ReportBatchItemFailures] to the event, or give the function %s=true", m.Event.Name, m.Function.LogicalID, remedy.Name)
			if isForeign(m.Function.Resource) {
				f.Severity = Warning
				f.Message = fmt.Sprintf("event %s of function %s has no ReportBatchItemFailures: one record that fails makes Lambda retry the whole batch, and if the function returns batchItemFailures, the records in it are lost. "+
					"Add FunctionResponseTypes: [ReportBatchItemFailures] to the event, and let the function return batchItemFailures", m.Event.Name, m.Function.LogicalID)
			}
			if types.Absent() {
				f.Fix = setting(m.get(), "FunctionResponseTypes", []string{"ReportBatchItemFailures"})
			}
		},
	},
	{
		Info: Info{ID: "SB102", Severity: Error, Page: mappingPage,
			Title: "A batch size above 10 has no window",
			Why:   "Lambda refuses the mapping: above 10 it needs MaximumBatchingWindowInSeconds."},
		check: func(m Mapping, r *reporter) {
			size, _ := r.number(m.get("BatchSize"))
			window := m.get("MaximumBatchingWindowInSeconds")
			unknown := m.Event.QueueARN == "" // a FIFO queue takes at most 10, so that it is wrong on any queue
			if size > 10 && r.known(window) && m.Event.Window < time.Second && (unknown || m.kind(r) && !m.Queue.FIFO) {
				f := r.report(m.get("BatchSize").Pos,
					"event %s has a BatchSize of %d without a window; above 10 it needs a MaximumBatchingWindowInSeconds of 1 or more", m.Event.Name, size)
				if !unknown {
					f.Fix = setting(m.get(), "MaximumBatchingWindowInSeconds", 1)
				}
			}
		},
	},
	{
		Info: Info{ID: "SB103", Severity: Error, Page: mappingPage,
			Title: "A FIFO queue has a window",
			Why:   "Lambda refuses the mapping: it takes no MaximumBatchingWindowInSeconds there."},
		check: func(m Mapping, r *reporter) {
			window := m.get("MaximumBatchingWindowInSeconds")
			if r.known(window) && m.Event.Window > 0 && m.kind(r) && m.Queue.FIFO {
				edit, ok := window.Remove()
				r.report(window.Pos, "event %s has a window of %d seconds on the FIFO queue %s; Lambda takes none there", m.Event.Name, m.Event.Window/time.Second, title(m.Queue)).
					Fix = fixed(edit, ok, "remove MaximumBatchingWindowInSeconds", "MaximumBatchingWindowInSeconds", nil)
			}
		},
	},
	{
		Info: Info{ID: "SB104", Severity: Error, Page: mappingPage,
			Title: "A FIFO queue has a batch size above 10",
			Why:   "Lambda refuses the mapping: it takes at most 10 there."},
		check: func(m Mapping, r *reporter) {
			size, _ := r.number(m.get("BatchSize"))
			if size > 10 && m.kind(r) && m.Queue.FIFO {
				r.report(m.get("BatchSize").Pos, "event %s has a BatchSize of %d on the FIFO queue %s; Lambda takes 10 at most there", m.Event.Name, size, title(m.Queue)).
					Fix = setting(m.get(), "BatchSize", 10)
			}
		},
	},
	{
		Info: Info{ID: "SB105", Severity: Error, Page: mappingPage,
			Title: "The visibility timeout is shorter than the function's timeout",
			Why:   "Lambda refuses the mapping. The records would be visible again while the function handles them."},
		check: func(m Mapping, r *reporter) {
			if !m.comparable(r) {
				return
			}
			if v, timeout := m.Queue.Visibility(), m.Function.Timeout; v < timeout {
				r.report(m.Queue.Resource.Get("VisibilityTimeout").Pos,
					"queue %s has a VisibilityTimeout of %d seconds, less than the function's Timeout of %d; Lambda refuses that. Set it to %d (6 × Timeout + window)",
					title(m.Queue), v/time.Second, timeout/time.Second, m.wanted()/time.Second).Fix = m.longEnough()
			}
		},
	},
	{
		Info: Info{ID: "SB106", Severity: Warning, Page: mappingPage,
			Title: "The visibility timeout is shorter than 6 × timeout + window",
			Why:   "Lambda retries invocations that are throttled meanwhile. Once the time is over, SQS shows the records to others, and each has lost a receive."},
		check: func(m Mapping, r *reporter) {
			if !m.comparable(r) {
				return
			}
			if v := m.Queue.Visibility(); v < m.wanted() && v >= m.Function.Timeout {
				r.report(m.Queue.Resource.Get("VisibilityTimeout").Pos, "queue %s has a VisibilityTimeout of %d seconds; set it to %d (6 × Timeout + window)",
					title(m.Queue), v/time.Second, m.wanted()/time.Second).Fix = m.longEnough()
			}
		},
	},
	{
		Info: Info{ID: "SB107", Severity: Error, Page: scalingPage,
			Title: "The mapping has a maximum concurrency and provisioned pollers",
			Why:   "Lambda refuses the mapping: the two exclude each other."},
		check: func(m Mapping, r *reporter) {
			most, pollers := m.get("ScalingConfig", "MaximumConcurrency"), m.get("ProvisionedPollerConfig")
			if r.known(most, pollers) && !most.Absent() && !pollers.Absent() {
				r.report(most.Pos, "event %s has a MaximumConcurrency and a ProvisionedPollerConfig; Lambda takes one of them", m.Event.Name)
			}
		},
	},
	{
		Info: Info{ID: "SB108", Severity: Error, Page: scalingPage,
			Title: "The number of provisioned pollers is out of bounds",
			Why:   "Lambda refuses the mapping: it takes 2 to 200 as the minimum and 2 to 10,000 as the maximum."},
		check: func(m Mapping, r *reporter) {
			const config, least, most = "ProvisionedPollerConfig", "MinimumPollers", "MaximumPollers"
			m.bounds(r, 2, 200, config, least)
			m.bounds(r, 2, 10_000, config, most)
			low, ok := r.number(m.get(config, least))
			high, given := r.number(m.get(config, most))
			if ok && given && low > high {
				r.report(m.get(config, least).Pos, "event %s has at least %d pollers and at most %d", m.Event.Name, low, high)
			}
		},
	},
	{
		Info: Info{ID: "SB111", Severity: Warning, Page: "Capturing records of Lambda asynchronous invocations",
			Title: "Failures go to a destination that gets no SQS records",
			Why:   "DestinationConfig of a mapping is for streams. A function's dead-letter queue, and its destination for failures, are for asynchronous invocations. Only the RedrivePolicy of the queue gets records that failed."},
		check: elsewhere,
	},
	{
		Info: Info{ID: "SB113", Severity: Note, Page: metricsPage,
			Title: "The mapping filters, and has no EventCount metrics",
			Why:   "Lambda deletes messages that match no filter. Only FilteredOutEventCount of EventCount says how many, so that a wrong filter is seen. The metrics cost what custom metrics cost."},
		check: func(m Mapping, r *reporter) {
			if metrics := m.get("MetricsConfig"); m.filters() > 0 && r.known(metrics) && metrics.Absent() {
				r.report(m.Event.Pos, "event %s has filters and no MetricsConfig with EventCount: nothing counts the messages that Lambda deletes because of the filters", m.Event.Name).
					Fix = setting(m.get(), "MetricsConfig", map[string]any{"Metrics": []string{"EventCount"}})
			}
		},
	},
	{
		Info: Info{ID: "SB116", Severity: Error, Page: quotaPage,
			Title: "The mapping has more than five filters",
			Why:   "Lambda refuses more unless the account's quota was raised."},
		check: func(m Mapping, r *reporter) {
			const quota = 5
			if n := m.filters(); n > quota {
				r.report(m.get("FilterCriteria").Pos,
					"event %s has %d filters: Lambda takes %d, and more only where the account's quota was raised", m.Event.Name, n, quota)
			}
		},
	},
	{
		Info: Info{ID: "SB117", Severity: Error, Page: scalingPage,
			Title: "The maximum concurrency is out of bounds",
			Why:   "Lambda refuses the mapping: it takes 2 to 1,000. ReservedConcurrentExecutions can be 1."},
		check: func(m Mapping, r *reporter) { m.bounds(r, 2, 1000, "ScalingConfig", "MaximumConcurrency") },
	},
	{
		Info: Info{ID: "SB118", Severity: Error, Page: mappingPage,
			Title: "The batch size or the window is out of bounds",
			Why:   "Lambda refuses the mapping: it takes a batch size of 1 to 10,000 and a window of 0 to 300 seconds."},
		check: func(m Mapping, r *reporter) {
			if n, _ := r.number(m.get("BatchSize")); n <= 10 || !m.Queue.FIFO { // SB104
				m.bounds(r, 1, 10_000, "BatchSize")
			}
			if !m.Queue.FIFO { // SB103
				m.bounds(r, 0, 300, "MaximumBatchingWindowInSeconds")
			}
		},
	},
}

// elsewhere is the check of SB111.
func elsewhere(m Mapping, r *reporter) {
	if v := m.get("DestinationConfig", "OnFailure"); r.known(v) && !v.Absent() {
		r.report(v.Pos, "event %s has a destination for failures; Lambda sends none of an SQS queue there. Give the queue a RedrivePolicy", m.Event.Name)
	}
	q := m.Queue
	if q.LogicalID == "" || !q.Resource.Get("RedrivePolicy").Absent() || !onlySQS(m.Function.Resource) {
		return
	}
	for _, path := range [][]string{{"DeadLetterQueue"}, {"DeadLetterConfig"}, {"EventInvokeConfig", "DestinationConfig", "OnFailure"}} {
		if v := m.Function.Resource.Get(path...); r.known(v) && !v.Absent() {
			r.report(v.Pos, "the %s of function %s gets events of asynchronous invocations and no records of %s. Give that queue a RedrivePolicy", path[len(path)-1], m.Function.LogicalID, title(q))
		}
	}
}

// onlySQS reports whether a function has no other events than SQS queues.
func onlySQS(f template.Resource) bool {
	for _, event := range f.Get("Events").Entries() {
		if kind, err := event.Get("Type").Str(); err != nil || kind != "SQS" {
			return false
		}
	}
	return true
}
