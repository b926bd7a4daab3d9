package runner

import (
	"context"
	"sync"

	"github.com/sqsbatch/sqsbatch/batch"
	"github.com/sqsbatch/sqsbatch/internal/ctxkey"
)

// View is what package bulk sees of a runner from the context of a record, to have
// records wait for each other. After its record has finished it does nothing. None of
// its methods may be called with a lock that Idle takes (see [View.Shared]).
type View struct{ delivery *Delivery }

// From returns the view of the record whose context ctx is, and false where that is
// no runner's.
func From(ctx context.Context) (View, bool) {
	v, ok := ctx.Value(ctxkey.Runner{}).(View)
	return v, ok
}

// HandledBy reports whether the runner calls h itself, with no middleware between.
func (v View) HandledBy(h batch.Handler) bool { return v.delivery.runner.handler == h }

// Behind returns the records that wait for this one, of its FIFO group, in order, most
// at most. Until it has finished, they are not taken back: it may handle them as well.
func (v View) Behind(most int) (list []*batch.Record) {
	r, d := v.delivery.runner, v.delivery
	r.mu.Lock()
	defer r.mu.Unlock()
	if d.state != running {
		return nil
	}
	for d = d.next; d != nil && len(list) < most; d = d.next {
		d.claimed = true
		list = append(list, d.Record)
	}
	return list
}

// Shared returns what make has made for key, or nil if neither is there: one for each
// runner. make must call no method of View. If it has a method Idle(), that is called when no further record of the
// runner can join those that are parked, or none is started any more; under the
// runner's lock: it must not block, nor call a method of View.
func (v View) Shared(key any, make func() any) any { return v.delivery.runner.shared.get(key, make) }

// More reports whether further records may be added.
func (v View) More() bool {
	r := v.delivery.runner
	r.mu.Lock()
	defer r.mu.Unlock()
	return !r.closed
}

// Config is how the runner handles records.
func (v View) Config() batch.Config { return v.delivery.runner.cfg }

// Permanent reports whether an error says that no retry can mend it, by itself or
// by Config.Classify.
func (v View) Permanent(err error) bool {
	d := v.delivery
	return batch.IsPermanent(d.runner.classify(&d.ctx, err))
}

// Park tells that the record waits for others.
func (v View) Park() {
	r, d := v.delivery.runner, v.delivery
	r.mu.Lock()
	defer r.mu.Unlock()
	if d.state != running || d.parked {
		return
	}
	d.parked = true
	r.parked++
	r.checkParked()
}

// Wake tells that the record waits no longer, and gives the answers to those
// behind it, in order, which will ask for them in their turn: however little time
// is left, they are started and waited for, since what they are for has been done.
// They are forgotten if the record fails now.
func (v View) Wake(answers ...any) {
	r, d := v.delivery.runner, v.delivery
	r.mu.Lock()
	defer r.mu.Unlock()
	if d.state != running {
		return
	}
	r.unpark(d)
	for d = d.next; d != nil && d.claimed && len(answers) > 0; d = d.next { // not what joined the group since
		if d.answer == nil {
			r.answers++
		}
		d.answer, answers = answers[0], answers[1:]
	}
}

// Answer returns what was given to [View.Wake] for this record, once, or nil.
func (v View) Answer() (answer any) {
	r, d := v.delivery.runner, v.delivery
	r.mu.Lock()
	defer r.mu.Unlock()
	if d.state == running {
		answer, d.answer = d.answer, nil
	}
	return answer
}

// unpark counts d as one that may join others again.
func (r *Runner) unpark(d *Delivery) {
	if d.parked {
		d.parked = false
		r.parked--
	}
}

// forget drops the answer for a delivery that is not started.
func (r *Runner) forget(d *Delivery) {
	if d.answer != nil {
		d.answer = nil
		r.answers--
	}
}

// checkParked tells those who wait for records to join them when none can.
func (r *Runner) checkParked() {
	if r.parked == 0 || !r.closed || r.parked < len(r.active) {
		return // one may still come
	}
	if !r.held && r.ready.first != nil && len(r.active) < r.slots {
		return
	}
	r.shared.idle()
}

// shared is what handlers keep for a runner.
type shared struct {
	mu     sync.Mutex
	values map[any]any
}

func (s *shared) get(key any, make func() any) any {
	s.mu.Lock()
	defer s.mu.Unlock()
	v, ok := s.values[key]
	if !ok && make != nil {
		if s.values == nil {
			s.values = map[any]any{}
		}
		v = make()
		s.values[key] = v
	}
	return v
}

func (s *shared) idle() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, v := range s.values {
		if v, ok := v.(interface{ Idle() }); ok {
			v.Idle()
		}
	}
}
