package batch

import (
	"sync"
	"time"
)

// gathering is what a record's context has for [gather.Key]: how a handler that
// makes several records' calls one, as package bulk does, finds what it may wait
// for. Its methods are called by that record's handler, or on its behalf, without
// any lock that an idle method takes, see Shared.
type gathering recordContext

func (g *gathering) run() *run { return g.worker.run }

// HandledBy reports whether the engine calls h itself, with no middleware between.
func (g *gathering) HandledBy(h Handler) bool { return g.run().handler == h }

// Behind calls yield for each record that waits for this one, of its FIFO group,
// in order, until that returns false.
func (g *gathering) Behind(yield func(*Record) bool) {
	r := g.run()
	r.mu.Lock()
	i := none
	if g.worker.ctx == (*recordContext)(g) {
		i = g.worker.next
	}
	r.mu.Unlock()
	for ; i != none && yield(&r.records[i]); i = r.order.after(i) {
	}
}

// Shared returns what make has made for key, or nil if neither is there: one for
// each batch, or in a long poll, where each record or FIFO group is a batch, one for
// all of them. If it has a method Idle(), that is called when no further record of
// the batch can join those that are parked, and in a long poll when one is stopped;
// under the batch's lock: it must not block, nor call a method of gathering.
func (g *gathering) Shared(key any, make func() any) any {
	if g.More() {
		return g.run().Engine.shared.get(key, make)
	}
	return g.run().shared.get(key, make)
}

// More reports whether this is a long poll: records of other batches may come.
func (g *gathering) More() bool { return g.run().on != nil }

// Concurrency is how many records are handled at a time.
func (g *gathering) Concurrency() int { return g.run().cfg.Concurrency }

// Grace is how long after the end of its context the record is abandoned, at the latest.
func (g *gathering) Grace() time.Duration { return g.run().cfg.Grace }

// Permanent reports whether an error says that no retry can mend it, by itself or
// by Config.Classify.
func (g *gathering) Permanent(err error) bool {
	return IsPermanent(g.run().classify((*recordContext)(g), err))
}

// Park tells that the record waits for others.
func (g *gathering) Park() {
	r := g.run()
	r.mu.Lock()
	defer r.mu.Unlock()
	if g.worker.ctx != (*recordContext)(g) || g.worker.slot == none || g.parked {
		return
	}
	g.parked = true
	r.parked++
	r.checkIdle()
}

// Wake tells that the record waits no longer, and gives the answers to those
// behind it, in order, which will ask for them in their turn: however little time
// is left, they are started and waited for, since what they are for has been done.
// They are forgotten if the record fails now.
func (g *gathering) Wake(answers ...any) {
	r := g.run()
	r.mu.Lock()
	defer r.mu.Unlock()
	w := g.worker
	if w.ctx != (*recordContext)(g) || w.slot == none {
		return
	}
	r.unpark(w)
	if r.answers == nil && len(answers) > 0 {
		r.answers = map[int]any{}
	}
	for i := w.next; i != none && len(answers) > 0; i = r.order.after(i) {
		r.answers[i], answers = answers[0], answers[1:]
	}
}

// Answer returns what was given to [gathering.Wake] for this record, once, or nil.
func (g *gathering) Answer() any {
	r := g.run()
	r.mu.Lock()
	defer r.mu.Unlock()
	answer := g.worker.answer
	if g.worker.ctx != (*recordContext)(g) {
		return nil
	}
	g.worker.answer = nil
	return answer
}

// unpark counts w's record as one that may join others again.
func (r *run) unpark(w *worker) {
	if w.ctx.parked {
		w.ctx.parked = false
		r.parked--
	}
}

// takeAnswer gives w the answer for its record, if there is one.
func (r *run) takeAnswer(w *worker) {
	if a, ok := r.answers[w.record]; ok {
		w.answer, w.ctx.known = a, true
		delete(r.answers, w.record)
	}
}

// forgetAnswers drops those for what waits for w's record.
func (r *run) forgetAnswers(w *worker) {
	for i := w.next; i != none && len(r.answers) > 0; i = r.order.after(i) {
		delete(r.answers, i)
	}
}

// checkIdle tells those who wait for records to join them when none can.
func (r *run) checkIdle() {
	if r.parked == 0 || r.parked < len(r.active) {
		return // a worker may still bring one
	}
	if !r.stopped && len(r.active) < r.cfg.Concurrency && r.nextChain < r.order.chains() {
		return
	}
	r.shared.idle()
}

// shared is what handlers keep for a batch, or for all batches of a long poll.
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
