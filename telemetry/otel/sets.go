package otel

import (
	"sync"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/metric"
	semconv "go.opentelemetry.io/otel/semconv/v1.43.0"
)

// set is a set of attributes in the form that the instruments take.
type set struct {
	record []metric.RecordOption
	add    []metric.AddOption
}

// sets caches the sets in use, so that measuring allocates nothing.
type sets[K comparable] struct {
	mu    sync.RWMutex
	byKey map[setKey[K]]*set
}

// setKey is what was measured, and its class of error; "" for success.
type setKey[K comparable] struct {
	of      K
	failure string
}

// maxSets limits the cache. Beyond it, errors are not told apart.
const maxSets = 1_000

// get returns the set of these attributes and error.type.
func (s *sets[K]) get(of K, failure string, attrs func(K) []attribute.KeyValue) *set {
	key := setKey[K]{of, failure}
	s.mu.RLock()
	known, n := s.byKey[key], len(s.byKey)
	s.mu.RUnlock()
	if known != nil {
		return known
	}
	if n >= maxSets && failure != "" && failure != otherError {
		return s.get(of, otherError, attrs)
	}
	list := attrs(of)
	if failure != "" {
		list = append(list, semconv.ErrorTypeKey.String(failure))
	}
	with := metric.WithAttributeSet(attribute.NewSet(list...))
	made := &set{record: []metric.RecordOption{with}, add: []metric.AddOption{with}}
	if n < 2*maxSets {
		s.mu.Lock()
		defer s.mu.Unlock()
		if s.byKey == nil {
			s.byKey = make(map[setKey[K]]*set)
		}
		s.byKey[key] = made
	}
	return made
}
