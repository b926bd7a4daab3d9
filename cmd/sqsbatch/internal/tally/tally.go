// Package tally measures a run of `sqsbatch local`: what became of records, how
// long they took and how old they were, and what was asked of SQS.
//
//	t := tally.New()
//	t.Fact(fact)   // of package track
//	t.Call(call)   // of the emulator
//	report := t.Report(summary)
//
// What the tool sees by itself is measured for every function. One that writes
// metrics as lines of CloudWatch's Embedded Metric Format is asked by them, too:
// emf.go.
package tally

import (
	"sync"
	"time"

	"github.com/sqsbatch/sqsbatch/cmd/sqsbatch/internal/track"
	"github.com/sqsbatch/sqsbatch/emulator/sqs"
	"github.com/sqsbatch/sqsbatch/telemetry/metric"
)

// A Tally adds up. It is safe for concurrent use.
type Tally struct {
	timeout time.Duration // of an invocation

	mu       sync.Mutex
	began    time.Time // zero: not yet
	outcomes map[string]int
	handled  int
	redriven int

	duration, deadline, attempts, age metric.Values

	invocations, coldStarts, errors int
	took, timeoutUsed, records      metric.Values

	calls             map[string]*Calls
	warnings, serious int
	emf               emf
}

// Outcomes are those that a record may have in one delivery.
var Outcomes = []string{
	track.Succeeded, track.Retry, track.DeadLetter, track.Dropped, track.NotStarted, track.Skipped, track.Abandoned, track.Lost, track.CutOff,
}

// New returns a Tally of nothing. Of invocations, timeout is how long one may take.
func New(timeout time.Duration) *Tally {
	t := &Tally{timeout: timeout, outcomes: map[string]int{}, calls: map[string]*Calls{}}
	for _, o := range Outcomes {
		t.outcomes[o] = 0
	}
	return t
}

// Begin says that calls count from now on: what this tool has asked of SQS
// before does not.
func (t *Tally) Begin() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.began = time.Now()
}

// Call takes one that SQS has answered.
func (t *Tally) Call(c sqs.Call) { t.call(c, 1) }

// Own takes a call back that is this tool's.
func (t *Tally) Own(operation string, began time.Time) {
	t.call(sqs.Call{Operation: operation, Began: began, Messages: 1}, -1)
}

// noAnswer is the error of a call whose client had left, as [sqs.Call] says.
const noAnswer = "no answer"

func (t *Tally) call(c sqs.Call, n int) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.began.IsZero() || c.Began.Before(t.began) {
		return
	}
	of := t.calls[c.Operation]
	if of == nil {
		of = &Calls{}
		t.calls[c.Operation] = of
	}
	of.Calls += n
	of.Messages += n * c.Messages
	of.Failed += c.Failed
	if c.Error != "" && !(c.Operation == "ReceiveMessage" && c.Error == noAnswer) {
		of.Errors++
	}
}

// Fact takes what package track found out. It reports whether that was a line
// of metrics, which is not to be shown.
func (t *Tally) Fact(f track.Fact) (metrics bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	switch f := f.(type) {
	case track.Record:
		if f.Final {
			t.record(f)
		}
	case track.Started:
		t.invocations++
		if f.ColdStart {
			t.coldStarts++
		}
		t.records.Observe(float64(len(f.Bodies)))
	case track.Ended:
		if f.Error != "" {
			t.errors++
		}
		t.took.Observe(milliseconds(f.Duration))
		t.timeoutUsed.Observe(percent(f.Duration, t.timeout))
	case track.Warning:
		t.warnings++
		if f.Serious {
			t.serious++
		}
	case track.Log:
		return t.emf.line(f.Text)
	}
	return false
}

func (t *Tally) record(r track.Record) {
	if r.Invocation == 0 && r.Process == 0 && (r.Outcome == track.DeadLetter || r.Outcome == track.Filtered) { // by SQS or Lambda themselves
		if r.Outcome == track.DeadLetter {
			t.redriven++
		}
		return
	}
	t.handled++
	t.outcomes[r.Outcome]++
	if r.Duration >= 0 {
		t.duration.Observe(milliseconds(r.Duration))
		if r.Allowed > 0 {
			t.deadline.Observe(percent(r.Duration, r.Allowed))
		}
	}
	if r.Attempt > 0 {
		t.attempts.Observe(float64(r.Attempt))
	}
	if r.Age >= 0 {
		t.age.Observe(milliseconds(r.Age))
	}
}

func milliseconds(d time.Duration) float64 { return float64(d.Microseconds()) / 1000 }

// percent is how much of it a duration is, to a hundredth; 0 of nothing.
func percent(d, of time.Duration) float64 {
	if of <= 0 {
		return 0
	}
	return float64(int64(float64(d)/float64(of)*10_000)) / 100
}
