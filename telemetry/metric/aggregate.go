package metric

import "sync"

// Aggregate is a [Sink] that adds observations up until they are taken. The zero value is
// ready to use. Its memory does not grow with the number of observations.
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
	spare *Summary // the previous one, empty
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

// Take calls visit for each queue with observations since the last Take. visit may use the
// summary until it returns; meanwhile observations go on. If visit panics, the observations
// that it got are lost.
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

// take must not run twice at the same time.
func (s *sums) take(visit func(queue string, s *Summary)) {
	s.mu.Lock()
	taken := s.now
	if taken.empty {
		s.mu.Unlock()
		return
	}
	s.now, s.spare = s.spare, nil
	s.mu.Unlock()
	defer func() { // also if visit panics: without a spare no more observations would be possible
		taken.reset()
		s.spare = taken // only take uses it
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

// Summary has the observations about one queue in a period.
type Summary struct {
	empty  bool
	set    []bool // whether counts has a value: a gauge may be 0
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
		if v := s.values[i]; v != nil && v.Count > 0 {
			visit(m, v)
		}
	}
}
