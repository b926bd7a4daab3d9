package metric

import (
	"context"
	"errors"
	"math"
	"sync"
	"sync/atomic"
	"time"

	"github.com/sqsbatch/sqsbatch/batch"
	"github.com/sqsbatch/sqsbatch/internal/sqserror"
	"github.com/sqsbatch/sqsbatch/sender"
)

// Sink receives observations. It must be safe for concurrent use.
type Sink interface {
	// Series returns the series of a queue, by the queue's name. It is called once for each
	// queue, and with "" for observations that are not about a queue.
	Series(queue string) Series
}

// Series receives the observations about one queue. It must be safe for concurrent use, and
// must not block.
type Series interface {
	// Add adds n to a [Counter].
	Add(m *Metric, n float64)
	// Observe adds a value to a [Distribution].
	Observe(m *Metric, value float64)
	// Set sets a [Gauge].
	Set(m *Metric, value float64)
}

// Recorder passes observations of hooks to a [Sink], see [Recorder.Hooks]. Make one with
// [NewRecorder]. It is safe for concurrent use. It does not allocate for a record, except for
// the first ones after a report.
type Recorder struct {
	sink   Sink
	warm   atomic.Bool // a batch was settled
	mu     sync.RWMutex
	queues map[string]Series // by ARN and by name

	observed func() // called after each observation

	pollsMu sync.Mutex
	polls   []*poll
}

// poll is a long poll, and its counts at the latest Collect.
type poll struct {
	series         Series
	status         func() batch.Status
	lost, repeated int
}

// NewRecorder returns a Recorder for a Sink.
func NewRecorder(s Sink) *Recorder {
	return &Recorder{sink: s, queues: make(map[string]Series, 1), observed: func() {}}
}

// series returns the series of a queue, by its ARN or name.
func (r *Recorder) series(arn string) Series {
	r.mu.RLock()
	s := r.queues[arn]
	r.mu.RUnlock()
	if s != nil {
		return s
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	name := batch.QueueName(arn)
	if r.queues[name] == nil {
		r.queues[name] = r.sink.Series(name)
	}
	r.queues[arn] = r.queues[name]
	return r.queues[arn]
}

// Hooks returns hooks for handler.Config.Hooks.
func (r *Recorder) Hooks() batch.Hooks {
	return batch.Hooks{BatchSettled: r.batchSettled, Called: r.called, Warned: r.warned, Polling: r.polling}
}

func (r *Recorder) batchSettled(_ context.Context, b batch.BatchInfo, results []batch.Result) {
	defer r.observed()
	s := r.series(b.QueueARN)
	if !b.Started.IsZero() {
		s.Observe(BatchSize, float64(len(results)))
	}
	if !r.warm.Load() && r.warm.CompareAndSwap(false, true) {
		s.Add(ColdStarts, 1)
	}
	var outcomes [batch.Abandoned + 1]int
	last, panicked := 0, 0
	for i := range results {
		result := &results[i]
		if int(result.Outcome) < len(outcomes) {
			outcomes[result.Outcome]++
		}
		observe(s, result)
		if result.Outcome == batch.Succeeded {
			continue
		}
		if !result.Outcome.Done() && result.MaxReceiveCount > 0 && result.Record.Attempt >= result.MaxReceiveCount {
			last++
		}
		if isPanic(result.Err) {
			panicked++
		}
	}
	for o, n := range outcomes {
		add(s, byOutcome[o], n)
	}
	add(s, RecordsLastAttempt, last)
	add(s, RecordsPanicked, panicked)
}

// add adds a number above 0 to a counter, if there is one.
func add(s Series, m *Metric, n int) {
	if m != nil && n > 0 {
		s.Add(m, float64(n))
	}
}

// isPanic reports whether a handler panicked or called Goexit. It returns false for an
// error whose methods panic, so that the other records of the batch are still counted.
func isPanic(err error) (is bool) {
	defer func() { _ = recover() }()
	_, is = errors.AsType[*batch.PanicError](err)
	return is || errors.Is(err, batch.ErrGoexit)
}

// observe adds the distributions of a record whose handler was called.
func observe(s Series, r *batch.Result) {
	switch {
	case r.Started.IsZero():
		return
	case r.Outcome == batch.Skipped, r.Outcome == batch.NotStarted, r.Outcome == batch.Duplicate, r.Outcome == batch.InProgress:
		return // the handler did nothing
	}
	s.Observe(RecordDuration, float64(r.Duration.Microseconds())/1e3)
	if r.Allowed > 0 {
		s.Observe(DeadlineUsed, percent(r.Duration, r.Allowed))
	}
	if r.Record.Attempt > 0 {
		s.Observe(Attempts, float64(r.Record.Attempt))
	}
	if !r.Record.SentAt.IsZero() {
		s.Observe(MessageAge, float64(r.Started.Add(r.Duration).Sub(r.Record.SentAt).Milliseconds())/1e3)
	}
}

// percent returns the share d of of in percent, rounded to a thousandth: most records use
// little of 15 minutes.
func percent(d, of time.Duration) float64 {
	return math.Round(float64(d)/float64(of)*1e5) / 1e3
}

func (r *Recorder) called(_ context.Context, c batch.Call) {
	defer r.observed()
	queue := c.QueueARN
	if queue == "" { // unknown yet
		queue = batch.QueueName(c.URL)
	}
	s := r.series(queue)
	o, known := operations[c.Operation]
	if !known {
		o = operation{calls: OtherCalls, failures: OtherFailures}
	}
	s.Add(o.calls, 1)
	add(s, o.entries, c.Entries)
	failed := c.Failed
	if c.Err != nil && failed == 0 {
		failed = 1
	}
	if !errors.Is(c.Err, context.Canceled) { // a receive that a stop abandoned
		add(s, o.failures, failed)
	}
	if c.Throttled > 0 || sqserror.Of(c.Err) == sqserror.Throttled {
		s.Add(Throttles, 1)
	}
}

// SenderCalled is for sender.Config.OnCall. It measures a call of package sender.
func (r *Recorder) SenderCalled(c sender.Call) {
	defer r.observed()
	s := r.series(batch.QueueName(c.URL))
	s.Observe(SendBatchSize, float64(c.Entries))
	s.Observe(SendWait, float64(c.Waited.Microseconds())/1e3)
	s.Add(SendBytes, float64(c.Bytes))
	add(s, SendRetries, c.Retried)
	add(s, SendFailures, c.Failed)
	if c.Throttled > 0 || sqserror.Of(c.Err) == sqserror.Throttled {
		s.Add(SendThrottles, 1)
	}
}

func (r *Recorder) warned(_ context.Context, w batch.Warning) {
	if w.Info {
		return
	}
	defer r.observed()
	s := r.series(w.Queue)
	s.Add(Warnings, 1)
	if w.Serious {
		s.Add(SeriousWarnings, 1)
	}
}

func (r *Recorder) polling(_ context.Context, queueARN string, status func() batch.Status) {
	defer r.observed()
	r.pollsMu.Lock()
	defer r.pollsMu.Unlock()
	r.polls = append(r.polls, &poll{series: r.series(queueARN), status: status})
}

// Collect passes the current gauges of the long polls to the Sink. Call it before you read the
// Sink. It reports whether a long poll still runs.
func (r *Recorder) Collect() (polling bool) {
	r.pollsMu.Lock()
	defer r.pollsMu.Unlock()
	if len(r.polls) == 0 {
		return false
	}
	sums := make(map[Series]batch.Status, len(r.polls)) // several polls may be of the same queue
	left := r.polls[:0]
	for _, p := range r.polls {
		now := p.status()
		sum := sums[p.series]
		sum.Concurrency += now.Concurrency
		sum.Running += now.Running
		sum.Waiting += now.Waiting
		sum.Undeleted += now.Undeleted
		sum.AbandonedRunning += now.AbandonedRunning
		sum.OldestSeconds = max(sum.OldestSeconds, now.OldestSeconds)
		sum.Counts.Lost += now.Counts.Lost - p.lost
		sum.Counts.Repeated += now.Counts.Repeated - p.repeated
		sums[p.series] = sum
		p.lost, p.repeated = now.Counts.Lost, now.Counts.Repeated
		if now.State != "stopped" {
			left = append(left, p)
		}
	}
	clear(r.polls[len(left):])
	r.polls = left
	for s, sum := range sums {
		set(s, sum)
	}
	return len(left) > 0
}

func set(s Series, sum batch.Status) {
	s.Set(Slots, float64(sum.Concurrency))
	s.Set(Running, float64(sum.Running))
	s.Set(Waiting, float64(sum.Waiting))
	s.Set(Undeleted, float64(sum.Undeleted))
	s.Set(AbandonedRunning, float64(sum.AbandonedRunning))
	s.Set(OldestRunning, float64(time.Duration(sum.OldestSeconds*1e3))/1e3)
	add(s, RecordsLost, sum.Counts.Lost)
	add(s, RecordsRepeated, sum.Counts.Repeated)
}
