package sqs

import "time"

// recentWindow is SQS's deduplication interval, and for how long a ReceiveRequestAttemptId is
// good. It starts with the first send or receive; neither a duplicate nor the message's
// deletion changes it.
const recentWindow = 5 * time.Minute

// recent remembers the sends or receives of the last five minutes by their ids. The zero
// value is ready to use.
type recent[V any] struct {
	byID map[string]*remembered[V]
	// order has them from oldest to newest, those that were replaced included.
	order []*remembered[V]
}

type remembered[V any] struct {
	id    string
	until time.Time
	value V
}

// find returns what is remembered for an id.
func (r *recent[V]) find(id string, now time.Time) (value V, ok bool) {
	for len(r.order) > 0 && !r.order[0].until.After(now) {
		if old := r.order[0]; r.byID[old.id] == old {
			delete(r.byID, old.id)
		}
		r.order[0] = nil
		r.order = r.order[1:]
	}
	if found := r.byID[id]; found != nil {
		return found.value, true
	}
	return value, false
}

// remember keeps a value that find did not know, or no longer wants.
func (r *recent[V]) remember(id string, value V, now time.Time) {
	if r.byID == nil {
		r.byID = map[string]*remembered[V]{}
	}
	kept := &remembered[V]{id, now.Add(recentWindow), value}
	r.byID[id] = kept
	r.order = append(r.order, kept)
}
