package metric

import (
	"slices"
	"sync"
)

// Aggregate is a [Sink] that adds observations up until they are taken. The zero value is
// ready to use. Its memory does not grow with the number of observations.
type Aggregate struct {
	mu     sync.Mutex
	queues []*sums
}

type sums struct {
	queue string
	mu    sync.Mutex
	now   *Summary // nil without observations
}

// Series implements [Sink].
func (a *Aggregate) Series(queue string) Series {
	a.mu.Lock()
	defer a.mu.Unlock()
	for _, s := range a.queues {
		if s.queue == queue {
			return s
		}
	}
	s := &sums{queue: queue}
	a.queues = append(a.queues, s)
	return s
}

// Take calls visit for each queue with observations since the last Take. Observations may
// continue meanwhile. If visit panics, the observations that were passed to it are lost.
func (a *Aggregate) Take(visit func(queue string, s *Summary)) {
	a.mu.Lock()
	queues := slices.Clip(a.queues)
	a.mu.Unlock()
	for _, q := range queues {
		q.mu.Lock()
		taken := q.now
		q.now = nil
		q.mu.Unlock()
		if taken != nil {
			visit(q.queue, taken)
		}
	}
}

func (s *sums) Add(m *Metric, n float64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	now := s.summary()
	now.set[m.index] = true
	now.counts[m.index] += n
}

func (s *sums) Set(m *Metric, value float64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	now := s.summary()
	now.set[m.index] = true
	now.counts[m.index] = value
}

func (s *sums) Observe(m *Metric, value float64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.summary().values[m.index].Observe(value)
}

// summary returns the current summary. Callers hold the lock.
func (s *sums) summary() *Summary {
	if s.now == nil {
		s.now = &Summary{make([]bool, len(All)), make([]float64, len(All)), make([]Values, len(All))}
	}
	return s.now
}

// Summary has the observations about one queue in a period.
type Summary struct {
	set    []bool // whether counts has a value: a gauge may be 0
	counts []float64
	values []Values
}

// Counts visits each counter's sum and each gauge's latest value, in the order of [All].
func (s *Summary) Counts(visit func(m *Metric, value float64)) {
	for i, m := range All {
		if s.set[i] {
			visit(m, s.counts[i])
		}
	}
}

// Distributions visits the distributions that have values, in the order of [All].
func (s *Summary) Distributions(visit func(m *Metric, v *Values)) {
	for i, m := range All {
		if v := &s.values[i]; v.Count > 0 {
			visit(m, v)
		}
	}
}
