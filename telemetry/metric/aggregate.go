package metric

import "sync"

// Aggregate is a [Sink] that sums up until it is taken. The zero value is empty
// and ready. Its memory does not grow with the number of observations.
type Aggregate struct {
	mu     sync.Mutex
	queues []*sums
	taking sync.Mutex
}

// sums are the observations about one queue.
type sums struct {
	queue string
	mu    sync.Mutex
	now   *Summary
	spare *Summary // the one before, empty
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
	s := &sums{queue: queue, now: newSummary(), spare: newSummary()}
	a.queues = append(a.queues, s)
	return s
}

// Take calls visit for each queue of which something was observed since the last
// Take. The summary is visit's until it returns; observations go on. When visit
// panics, what it was given is lost.
func (a *Aggregate) Take(visit func(queue string, s *Summary)) {
	a.taking.Lock()
	defer a.taking.Unlock()
	a.mu.Lock()
	queues := a.queues[:len(a.queues):len(a.queues)]
	a.mu.Unlock()
	for _, q := range queues {
		q.take(visit)
	}
}

// take is for one Take at a time.
func (s *sums) take(visit func(queue string, s *Summary)) {
	s.mu.Lock()
	taken := s.now
	if taken.empty {
		s.mu.Unlock()
		return
	}
	s.now, s.spare = s.spare, nil
	s.mu.Unlock()
	defer func() { // also when visit panics: without a spare nothing could be observed any more
		taken.reset()
		s.spare = taken // only take looks at it
	}()
	visit(s.queue, taken)
}

func (s *sums) Add(m *Metric, n float64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.now.put(m, s.now.counts[m.index]+n)
}

func (s *sums) Set(m *Metric, value float64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.now.put(m, value)
}

func (s *sums) Observe(m *Metric, value float64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.now.empty = false
	v := s.now.values[m.index]
	if v == nil {
		v = &Values{}
		s.now.values[m.index] = v
	}
	v.Observe(value)
}

// Summary is what was observed about one queue in a time.
type Summary struct {
	empty  bool
	set    []bool // of counts: a gauge may be 0
	counts []float64
	values []*Values
}

func newSummary() *Summary {
	return &Summary{empty: true, set: make([]bool, len(All)), counts: make([]float64, len(All)), values: make([]*Values, len(All))}
}

func (s *Summary) put(m *Metric, value float64) {
	s.empty, s.set[m.index], s.counts[m.index] = false, true, value
}

func (s *Summary) reset() {
	s.empty = true
	clear(s.set)
	clear(s.counts)
	for _, v := range s.values {
		if v != nil {
			v.Reset()
		}
	}
}

// Counts visits each counter's sum and gauge's latest value, in [All]'s order.
func (s *Summary) Counts(visit func(m *Metric, value float64)) {
	for i, m := range All {
		if s.set[i] {
			visit(m, s.counts[i])
		}
	}
}

// Distributions visits those that have values, in the order of [All].
func (s *Summary) Distributions(visit func(m *Metric, v *Values)) {
	for i, m := range All {
		if v := s.values[i]; v != nil && v.Count > 0 {
			visit(m, v)
		}
	}
}
