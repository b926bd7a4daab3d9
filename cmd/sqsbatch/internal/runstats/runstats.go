// Package runstats measures a run of `sqsbatch local`: the outcomes, durations and ages of
// records, and the calls to SQS.
//
//	s := runstats.New(timeout)
//	s.Event(event) // an event of package track
//	s.Call(call)   // a call to the emulator
//	report := s.Report(summary)
//
// These figures do not depend on the function. Metrics that a function writes in CloudWatch's
// Embedded Metric Format are added (emf.go).
package runstats

import (
	"sync"
	"time"

	"github.com/sqsbatch/sqsbatch/cmd/sqsbatch/internal/track"
	"github.com/sqsbatch/sqsbatch/emulator/sqs"
	"github.com/sqsbatch/sqsbatch/telemetry/metric"
)

// Stats are the figures of a run. They are safe for concurrent use.
type Stats struct {
	timeout time.Duration // the function's timeout

	mu       sync.Mutex
	began    time.Time // time of Begin
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

// Outcomes lists the outcomes that a record may have in one delivery.
var Outcomes = []string{
	track.Succeeded, track.Duplicate, track.Expired, track.Retry, track.InProgress, track.DeadLetter, track.Dropped, track.NotStarted, track.Skipped, track.Abandoned, track.Lost, track.CutOff,
}

// New returns empty Stats. timeout is the function's timeout.
func New(timeout time.Duration) *Stats {
	s := &Stats{timeout: timeout, outcomes: map[string]int{}, calls: map[string]*Calls{}}
	for _, o := range Outcomes {
		s.outcomes[o] = 0
	}
	return s
}

// Begin starts the count of calls. Earlier calls are this tool's.
func (s *Stats) Begin() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.began = time.Now()
}

// Call counts a call to SQS.
func (s *Stats) Call(c sqs.Call) { s.call(c, 1) }

// Own subtracts a call of this tool.
func (s *Stats) Own(operation string, began time.Time) {
	s.call(sqs.Call{Operation: operation, Began: began, Messages: 1}, -1)
}

// noAnswer is [sqs.Call.Error] of a call whose client had left.
const noAnswer = "no answer"

func (s *Stats) call(c sqs.Call, n int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.began.IsZero() || c.Began.Before(s.began) {
		return
	}
	of := s.calls[c.Operation]
	if of == nil {
		of = &Calls{}
		s.calls[c.Operation] = of
	}
	of.Calls += n
	of.Messages += n * c.Messages
	of.Failed += c.Failed
	if c.Error != "" && !(c.Operation == "ReceiveMessage" && c.Error == noAnswer) {
		of.Errors++
	}
}

// Event counts an event, and reports whether it is a line of metrics, which is not shown.
func (s *Stats) Event(e track.Event) (metrics bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch e := e.(type) {
	case track.Record:
		if e.Final {
			s.record(e)
		}
	case track.Started:
		s.invocations++
		if e.ColdStart {
			s.coldStarts++
		}
		s.records.Observe(float64(len(e.Bodies)))
	case track.Ended:
		if e.Error != "" {
			s.errors++
		}
		s.took.Observe(milliseconds(e.Duration))
		s.timeoutUsed.Observe(percent(e.Duration, s.timeout))
	case track.Warning:
		s.warnings++
		if e.Serious {
			s.serious++
		}
	case track.Log:
		return s.emf.line(e.Text)
	}
	return false
}

func (s *Stats) record(r track.Record) {
	if r.Invocation == 0 && r.Process == 0 && (r.Outcome == track.DeadLetter || r.Outcome == track.Filtered) { // by SQS or Lambda, without the function
		if r.Outcome == track.DeadLetter {
			s.redriven++
		}
		return
	}
	s.handled++
	s.outcomes[r.Outcome]++
	if r.Duration >= 0 {
		s.duration.Observe(milliseconds(r.Duration))
		if r.Allowed > 0 {
			s.deadline.Observe(percent(r.Duration, r.Allowed))
		}
	}
	if r.Attempt > 0 {
		s.attempts.Observe(float64(r.Attempt))
	}
	if r.Age >= 0 {
		s.age.Observe(milliseconds(r.Age))
	}
}

func milliseconds(d time.Duration) float64 { return float64(d.Microseconds()) / 1000 }

// percent returns d in percent of another duration, to a hundredth, 0 if that is not positive.
func percent(d, of time.Duration) float64 {
	if of <= 0 {
		return 0
	}
	return float64(int64(float64(d)/float64(of)*10_000)) / 100
}
