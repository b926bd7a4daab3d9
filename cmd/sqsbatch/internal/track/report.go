package track

import (
	"maps"
	"math"
	"time"

	"github.com/sqsbatch/sqsbatch/telemetry/metric"
)

// Report has the figures of a run, in the form of `--metrics FILE`. The field names are stable.
type Report struct {
	Mode      string  `json:"mode"` // "lambda" or "poll"
	ElapsedMs float64 `json:"elapsedMs"`

	// Handled counts deliveries to the function, and Outcomes counts them by outcome,
	// including outcomes with 0. Redriven counts messages that SQS dead-lettered.
	Handled  int            `json:"handled"`
	Outcomes map[string]int `json:"outcomes"`
	Redriven int            `json:"redriven"`

	// Distributions without values are null. Only functions that use sqsbatch have DurationMs
	// and DeadlineUsedPercent.
	DurationMs          *Distribution `json:"durationMs"`
	DeadlineUsedPercent *Distribution `json:"deadlineUsedPercent"`
	Attempts            *Distribution `json:"attempts"`
	AgeMs               *Distribution `json:"ageMs"` // time from the send to the outcome

	Invocations *Invocations `json:"invocations"` // null with --mode poll
	Processes   *Processes   `json:"processes"`   // null with --mode lambda

	// Requests counts the calls to SQS while the function ran, except this tool's. Calls counts
	// them by operation.
	Requests int              `json:"requests"`
	Calls    map[string]Calls `json:"calls"`

	Warnings        int `json:"warnings"`
	SeriousWarnings int `json:"seriousWarnings"`

	EMF *EMF `json:"emf"` // null if the function wrote none
}

// Distribution has percentiles. They are exact for up to 64 different values, and
// otherwise accurate to 2 %.
type Distribution struct {
	Count int     `json:"count"`
	Sum   float64 `json:"sum"`
	Min   float64 `json:"min"`
	P50   float64 `json:"p50"`
	P90   float64 `json:"p90"`
	P99   float64 `json:"p99"`
	Max   float64 `json:"max"`
}

// Invocations sums up the invocations of a function on Lambda.
type Invocations struct {
	Count              int           `json:"count"`
	ColdStarts         int           `json:"coldStarts"`
	Errors             int           `json:"errors"`
	Records            *Distribution `json:"records"` // batch size
	DurationMs         *Distribution `json:"durationMs"`
	TimeoutUsedPercent *Distribution `json:"timeoutUsedPercent"`
}

// Processes sums up the processes of a function in containers.
type Processes struct {
	Starts  int `json:"starts"`
	Crashes int `json:"crashes"`
}

// Calls sums up the calls of one operation of SQS.
type Calls struct {
	Calls    int `json:"calls"`
	Messages int `json:"messages"` // messages received, sent, or named by receipt handles
	Failed   int `json:"failed"`   // messages in calls that failed as entries of a batch
	Errors   int `json:"errors"`   // failed calls, except receives that the client abandoned, as at each stop
}

// Run has the facts of a run that Stats cannot observe.
type Run struct {
	Poll            bool
	Elapsed         time.Duration
	Starts, Crashes int // starts of processes, and ends that were not stops
}

// Report returns the figures so far.
func (s *Stats) Report(run Run) *Report {
	s.mu.Lock()
	defer s.mu.Unlock()
	r := &Report{
		Mode: "lambda", ElapsedMs: milliseconds(run.Elapsed),
		Handled: s.handled, Outcomes: maps.Clone(s.outcomes), Redriven: s.redriven,
		DurationMs: distribution(&s.duration), DeadlineUsedPercent: distribution(&s.deadline), Attempts: distribution(&s.attempts), AgeMs: distribution(&s.age),
		Calls: map[string]Calls{}, Warnings: s.warnings, SeriousWarnings: s.serious, EMF: s.emf.report(),
	}
	for operation, c := range s.calls {
		if c.Calls > 0 {
			r.Calls[operation] = *c
			r.Requests += c.Calls
		}
	}
	if run.Poll {
		r.Mode, r.Processes = "poll", &Processes{run.Starts, run.Crashes}
		return r
	}
	r.Invocations = &Invocations{
		Count: s.invocations, ColdStarts: s.coldStarts, Errors: s.errors,
		Records: distribution(&s.records), DurationMs: distribution(&s.took), TimeoutUsedPercent: distribution(&s.timeoutUsed),
	}
	return r
}

// distribution returns the distribution of values, nil if there are none.
func distribution(v *metric.Values) *Distribution {
	if v.Count == 0 {
		return nil
	}
	sum := min(v.Sum, math.MaxFloat64) // JSON has no infinity
	if sum < 1e9 {
		sum = math.Round(sum*1e6) / 1e6 // removes errors of floating-point sums
	}
	return &Distribution{v.Count, sum, v.Min, v.Quantile(0.5), v.Quantile(0.9), v.Quantile(0.99), v.Max}
}
