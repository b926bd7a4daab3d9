package otel

import (
	"sync"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/metric"
)

// set is a set of attributes in the form that the instruments take.
type set struct {
	record []metric.RecordOption
	add    []metric.AddOption
}

// setsKey is the key of a set; other returns the same key without the kind of error.
type setsKey[K any] interface {
	comparable
	other() (K, bool)
}

// sets caches the sets in use, so that measuring allocates nothing.
type sets[K setsKey[K]] struct {
	mu    sync.RWMutex
	byKey map[K]*set
}

// maxSets limits the cache. Beyond it, errors are not told apart.
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
