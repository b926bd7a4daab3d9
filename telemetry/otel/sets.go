package otel

import (
	"sync"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/metric"
)

// set is a set of attributes, as the instruments take it.
type set struct {
	record []metric.RecordOption
	add    []metric.AddOption
}

// setsKey tells sets apart; other is the same without its kind of error.
type setsKey[K any] interface {
	comparable
	other() (K, bool)
}

// sets remembers the sets that were used, so that measuring allocates nothing.
type sets[K setsKey[K]] struct {
	mu    sync.RWMutex
	byKey map[K]*set
}

// maxSets bounds the sets: beyond it errors are not told apart.
const maxSets = 1_000

func (s *sets[K]) get(key K, attrs func(K) []attribute.KeyValue) *set {
	s.mu.RLock()
	known, n := s.byKey[key], len(s.byKey)
	s.mu.RUnlock()
	if known != nil {
		return known
	}
	if n >= maxSets {
		if other, ok := key.other(); ok {
			return s.get(other, attrs)
		}
	}
	with := metric.WithAttributeSet(attribute.NewSet(attrs(key)...))
	made := &set{record: []metric.RecordOption{with}, add: []metric.AddOption{with}}
	if n < 2*maxSets {
		s.mu.Lock()
		defer s.mu.Unlock()
		if s.byKey == nil {
			s.byKey = make(map[K]*set)
		}
		s.byKey[key] = made
	}
	return made
}
