package track

import (
	"sync"
	"time"

	"github.com/sqsbatch/sqsbatch/emulator/sqs"
	"github.com/sqsbatch/sqsbatch/telemetry/metric"
)

// Stats measure a run: the outcomes, durations and ages of records ([Stats.Event]), and the calls
// to SQS ([Stats.Call]). These figures do not depend on the function. Metrics that it writes in
// CloudWatch's Embedded Metric Format are added (emf.go). They are safe for concurrent use.
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
	Succeeded, Duplicate, Expired, Retry, InProgress, DeadLetter, Dropped, NotStarted, Skipped, Abandoned, Lost, CutOff,
}

// NewStats returns empty Stats. timeout is the function's timeout.
func NewStats(timeout time.Duration) *Stats {
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
func (s *Stats) Event(e Event) (metrics bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch e := e.(type) {
	case Record:
		if e.Final {
			s.record(e)
		}
	case Started:
		s.invocations++
		if e.ColdStart {
			s.coldStarts++
		}
		s.records.Observe(float64(len(e.Bodies)))
	case Ended:
		if e.Error != "" {
			s.errors++
		}
		s.took.Observe(milliseconds(e.Duration))
		s.timeoutUsed.Observe(percent(e.Duration, s.timeout))
	case Warning:
		s.warnings++
		if e.Serious {
			s.serious++
		}
	case Log:
		return s.emf.line(e.Text)
	}
	return false
}

func (s *Stats) record(r Record) {
	if r.Invocation == 0 && r.Process == 0 && (r.Outcome == DeadLetter || r.Outcome == Filtered) { // by SQS or Lambda, without the function
		if r.Outcome == DeadLetter {
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

// milliseconds returns d in milliseconds, to the microsecond.
func milliseconds(d time.Duration) float64 { return float64(d.Microseconds()) / 1000 }

// percent returns d in percent of another duration, to a hundredth, 0 if that is not positive.
func percent(d, of time.Duration) float64 {
	if of <= 0 {
		return 0
	}
	return float64(int64(float64(d)/float64(of)*10_000)) / 100
}
