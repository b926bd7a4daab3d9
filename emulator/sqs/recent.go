package sqs

import "time"

// recentWindow is SQS's deduplication interval, and the lifetime of a
// ReceiveRequestAttemptId. It starts with the first send or receive. A duplicate, or the
// message's deletion, does not change it.
const recentWindow = 5 * time.Minute

// recent has the sends or receives of the last five minutes by their ids. The zero
// value is ready to use.
type recent[V any] struct {
	byID map[string]*remembered[V]
	// order has all values from oldest to newest, including replaced ones.
	order []*remembered[V]
}

type remembered[V any] struct {
	id    string
	until time.Time
	value V
}

// find returns the value of an id, and drops values older than recentWindow.
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

// remember stores a value. It replaces an earlier value of the id.
func (r *recent[V]) remember(id string, value V, now time.Time) {
	if r.byID == nil {
		r.byID = map[string]*remembered[V]{}
	}
	kept := &remembered[V]{id, now.Add(recentWindow), value}
	r.byID[id] = kept
	r.order = append(r.order, kept)
}
