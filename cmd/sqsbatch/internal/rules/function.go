package rules

import (
	"slices"
	"strings"
	"time"

	"github.com/sqsbatch/sqsbatch/batch"
	"github.com/sqsbatch/sqsbatch/cmd/sqsbatch/internal/template"
	"github.com/sqsbatch/sqsbatch/internal/runner"
	"github.com/sqsbatch/sqsbatch/internal/settings"
)

// A Function is a function with its mappings.
type Function struct {
	template.Function
	Mappings []Mapping
}

// functionsOf groups mappings by function, in their order. Functions that are not in the
// template are left out.
func functionsOf(mappings []Mapping) (list []*Function) {
	known := map[string]*Function{}
	for _, m := range mappings {
		id := m.Function.LogicalID
		if id == "" {
			continue
		}
		if known[id] == nil {
			known[id] = &Function{Function: m.Function}
			list = append(list, known[id])
		}
		known[id].Mappings = append(known[id].Mappings, m)
	}
	return list
}

// reserved is the function's reserved concurrency, false if it has none, or if 0 pauses it.
func (f Function) reserved(r *reporter) (int, bool) {
	n, ok := r.number(f.Resource.Get("ReservedConcurrentExecutions"))
	return n, ok && n > 0
}

// valueOf is what the template gives a function for a setting of the toolkit.
func valueOf(f template.Function, s settings.Setting) template.Value {
	return f.Resource.Get("Environment", "Variables", s.Name)
}

// usesToolkit reports whether a function surely uses the toolkit: its runtime may run Go, and it
// has one of the toolkit's variables.
func usesToolkit(f template.Function) bool {
	if f.LogicalID == "" || isForeign(f.Resource) || f.Resource.Get("Environment", "Variables").Err != nil {
		return false
	}
	return slices.ContainsFunc(settings.All, func(s *settings.Setting) bool {
		return strings.HasPrefix(s.Name, settings.Prefix) && (f.Environment[s.Name] != "" || !valueOf(f, *s).Absent())
	})
}

// Functions are the rules of a function that handles queues.
var Functions = []Rule[Function]{
	{
		Info: Info{ID: "SB109", Severity: Warning, Page: scalingPage,
			Title: "The maximum concurrency is above the reserved concurrency",
			Why:   "Lambda throttles the invocations above the reserved concurrency, and each throttle may take a receive from its records. The sum over the function's mappings counts."},
		check: overReserved,
	},
	{
		Info: Info{ID: "SB110", Severity: Warning, Page: scalingPage,
			Title: "Provisioned pollers may invoke more than the reserved concurrency",
			Why:   "A poller runs up to 10 invocations at a time. Lambda throttles those above the reserved concurrency, and each throttle may take a receive from its records."},
		check: func(f Function, r *reporter) {
			reserved, ok := f.reserved(r)
			for _, m := range f.Mappings {
				config := m.get("ProvisionedPollerConfig")
				if !ok || config.Absent() || !r.known(config) {
					continue
				}
				pollers, err := m.get("ProvisionedPollerConfig", "MaximumPollers").Int(200)
				if err == nil && pollers*10 > reserved {
					r.report(config.Pos, "event %s has up to %d pollers, which may run %d invocations, above the %d that function %s reserves",
						m.Event.Name, pollers, pollers*10, reserved, f.LogicalID)
				}
			}
		},
	},
	{
		Info: Info{ID: "SB112", Severity: Error, Page: "Tenant isolation (AWS Lambda Developer Guide)",
			Title: "The function has tenant isolation",
			Why:   "Lambda refuses event source mappings for such a function: an invocation must name its tenant, which a mapping does not."},
		check: func(f Function, r *reporter) {
			if v := f.Resource.Get("TenancyConfig"); r.known(v) && !v.Absent() {
				r.report(v.Pos, "function %s has a TenancyConfig, and polls the queue of event %s; Lambda does not allow both", f.LogicalID, f.Mappings[0].Event.Name)
			}
		},
	},
	{
		Info: Info{ID: "SB114", Severity: Error, Page: "Configure Lambda function timeout",
			Title: "SQSBATCH_MIN_REMAINING is longer than the function's timeout leaves",
			Why:   "The toolkit starts a record only if that much time is left. Here less is left from the beginning of each invocation: every record uses up its attempts and becomes a dead letter, and the handler never gets it."},
		check: neverStarted,
	},
	{
		Info: Info{ID: "SB115", Severity: Error, Page: "Event source mappings with durable functions",
			Title: "A durable execution may take longer than an invocation",
			Why:   "A mapping invokes a durable function synchronously, so that the whole execution must end within the longest invocation: 15 minutes, or 90 on Lambda Managed Instances."},
		check: func(f Function, r *reporter) {
			v := f.Resource.Get("DurableConfig", "ExecutionTimeout")
			most := 900
			if f.ManagedInstances {
				most = 5400
			}
			if n, ok := r.number(v); ok && n > most {
				r.report(v.Pos, "function %s has an ExecutionTimeout of %d seconds; behind an SQS queue Lambda takes at most %d", f.LogicalID, n, most).
					Fix = setting(f.Resource.Get("DurableConfig"), "ExecutionTimeout", most)
			}
		},
	},
	{
		Info: Info{ID: "SB206", Severity: Warning, Page: deadPage,
			Title: "The function polls its own dead-letter queue",
			Why:   "What could not be handled is tried again by the same code at once, and nothing is left to look into. Without a dead-letter queue of its own it goes round until its retention ends."},
		check: func(f Function, r *reporter) {
			for _, m := range f.Mappings {
				for _, other := range f.Mappings {
					if arn := m.Queue.ARN; arn != "" && arn == other.Queue.DeadLetterARN {
						r.report(m.Event.Pos, "event %s of function %s polls %s, the dead-letter queue of %s, which the function polls as well", m.Event.Name, f.LogicalID, title(m.Queue), title(other.Queue))
						break
					}
				}
			}
		},
	},
}

// A consumer is a function or a container with the only queue that it handles.
type consumer struct {
	Variables
	queue template.Queue
}

// consumers are the rules of what handles a queue, wherever it runs.
var consumers = []Rule[consumer]{{
	Info: Info{ID: "SB119", Severity: Warning, Page: "Using dead-letter queues in Amazon SQS",
		Title: "Variables name another dead-letter queue or maxReceiveCount than the queue",
		Why:   "The backoff is spread over the number of attempts, and records that cannot succeed are sent to the queue that the variable names. The toolkit reads both from the queue if the variables are not set."},
	check: told,
}}

// neverStarted is the check of SB114.
func neverStarted(f Function, r *reporter) {
	variables := variablesOf(f.Function)
	v := valueOf(f.Function, settings.MinRemaining)
	if v.Absent() || !r.known(v, valueOf(f.Function, settings.Reserve), f.Resource.Get("Timeout")) {
		return
	}
	least := variables.duration(settings.MinRemaining)
	left := f.Timeout - runner.Reserve(variables.duration(settings.Reserve), f.Timeout)
	if least >= left {
		r.report(v.Pos, "function %s starts a record only if %v are left (%s), and its Timeout of %d seconds leaves less than %v: it never starts one",
			f.LogicalID, least, settings.MinRemaining.Name, f.Timeout/time.Second, left)
	}
}

// overReserved is the check of SB109.
func overReserved(f Function, r *reporter) {
	reserved, ok := f.reserved(r)
	if !ok {
		return
	}
	sum, names, alone := 0, []string{}, false
	for _, m := range f.Mappings {
		v := m.get("ScalingConfig", "MaximumConcurrency")
		most, given := r.number(v)
		if !given {
			continue
		}
		sum += most
		names = append(names, m.Event.Name)
		if most > reserved {
			alone = true
			found := r.report(v.Pos, "event %s has a MaximumConcurrency of %d, above the %d that function %s reserves", m.Event.Name, most, reserved, f.LogicalID)
			if len(f.Mappings) == 1 && reserved >= 2 {
				found.Fix = setting(m.get("ScalingConfig"), "MaximumConcurrency", reserved)
			}
		}
	}
	if sum > reserved && !alone {
		r.report(f.Resource.Get("ReservedConcurrentExecutions").Pos, "events %s have a MaximumConcurrency of %d together, above the %d that function %s reserves",
			strings.Join(names, " and "), sum, reserved, f.LogicalID)
	}
}

// told is the check of SB119.
func told(c consumer, r *reporter) {
	q := c.queue
	if q.LogicalID == "" || c.more != "" || !c.known(r, settings.MaxReceiveCount, settings.DeadLetterQueue) {
		return
	}
	v := c.values[settings.MaxReceiveCount.Name]
	if count, ok := r.number(v); ok && q.MaxReceiveCount > 0 && count != q.MaxReceiveCount {
		r.report(v.Pos, "%s has %s=%d, and queue %s a maxReceiveCount of %d", c.title, settings.MaxReceiveCount.Name, count, title(q), q.MaxReceiveCount)
	}
	v = c.values[settings.DeadLetterQueue.Name]
	named := c.texts[settings.DeadLetterQueue.Name]
	if named == "" || q.DeadLetterARN == "" {
		return
	}
	if name := batch.QueueName(named); name != batch.QueueName(q.DeadLetterARN) {
		r.report(v.Pos, "%s has %s=%s, and queue %s has the dead-letter queue %s", c.title, settings.DeadLetterQueue.Name, name, title(q), batch.QueueName(q.DeadLetterARN))
	}
}
