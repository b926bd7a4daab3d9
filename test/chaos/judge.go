package main

import (
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/sqsbatch/sqsbatch/test/chaos/diary"
)

type violations struct {
	mu   sync.Mutex
	list []string
}

func (v *violations) add(format string, args ...any) {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.list = append(v.list, fmt.Sprintf(format, args...))
}

// findings are what the tables tell.
type findings struct {
	calls   [phases]int            // of the handler
	handled [phases]int            // messages
	failed  [phases]int            // handler calls that returned an error
	again   [phases]map[string]int // messages handled again, by why
	copies  map[string]int         // beyond one, in the dead-letter queues
	dead    int
	back    int // messages taken back from killed workers
}

// judge reads the history and the diaries, and reports whether a promise was broken.
func (r *run) judge() (broken bool, err error) {
	if err := r.readDiaries(); err != nil {
		return false, err
	}
	r.stalling.Lock()
	r.stalls = slices.Clone(r.standing)
	r.stalling.Unlock()
	for i := range r.faults.list {
		if f := r.faults.list[i]; f.to.IsZero() {
			f.to = time.Now()
		}
	}
	if r.guarded {
		return r.judgeKeys(), nil
	}
	f := &findings{copies: map[string]int{}}
	for i := range f.again {
		f.again[i] = map[string]int{}
	}
	for n := range r.orders {
		r.judgeMessage(n, f)
	}
	r.judgeGroups()
	r.judgeRequests()
	if r.sending != nil {
		r.judgeSending()
	}
	r.report(f)
	return len(r.violations.list) > 0, nil
}

// judgeMessage asks whether a message was lost, and why it was handled again.
func (r *run) judgeMessage(n int, f *findings) {
	o, m, list, phase := &r.orders[n], &r.ledger.messages[n], r.handlings[n], phaseOf(n, r.messages)
	wrong := func(format string, args ...any) {
		r.violations.add("message %d "+format+r.timeline(n), append([]any{n}, args...)...)
	}
	f.calls[phase] += len(list)
	goal, first := diary.OK, time.Time{}
	if o.Permanent {
		goal = diary.Permanent
	}
	for i := range list {
		h := &list[i]
		if h.outcome == diary.Failed || h.outcome == diary.Permanent || h.outcome == diary.Cancelled {
			f.failed[phase]++
		}
		if h.outcome == goal && (first.IsZero() || h.end.Before(first)) {
			first = h.end
		}
		r.judgeHandling(h, wrong)
		if before := unfinished(list[:i], h.start, o.Permanent); before != nil {
			why := r.explainAgain(before, h)
			if why == "" {
				why = "NO REASON"
				wrong("was handled by %v, and again by %v, for no reason", before.process, h.process)
			}
			f.again[phase][why]++
			if before.outcome == "" && why == string(kill) {
				f.back++
			}
		}
	}
	if !first.IsZero() {
		f.handled[phase]++
	}
	switch {
	case m.faulty != "":
		wrong("was %s by the server", m.faulty)
	case m.deleted.IsZero():
		wrong("is not deleted")
	case first.IsZero():
		wrong("is LOST: it was deleted, and no handler call ended as it should (%s)", goal)
	case m.deleted.Before(first):
		wrong("was deleted before it was handled")
	case o.Permanent && (len(m.copies) == 0 || m.deleted.Before(m.copies[0])):
		wrong("is LOST: it was deleted, and was not in the dead-letter queue by then")
	case !o.Permanent && len(m.copies) > 0:
		wrong("is in the dead-letter queue, where it does not belong")
	}
	if len(m.copies) > 0 {
		f.dead++
	}
	if len(m.copies) > 1 {
		why := r.explainCopies(n)
		if why == "" {
			why = "NO REASON"
			wrong("is in the dead-letter queue %d times, for no reason", len(m.copies))
		}
		f.copies[why] += len(m.copies) - 1
	}
}

// judgeHandling asks whether a handler call ended as it may.
func (r *run) judgeHandling(h *handling, wrong func(string, ...any)) {
	switch h.outcome {
	case "":
		if h.process.signal != kill {
			wrong("was begun by %v, which ended in peace before the handler did", h.process)
		}
	case diary.Cancelled:
		if r.explain(h.n, h.process, r.received(h), h.end) == "" {
			wrong("was cancelled in %v for no reason", h.process)
		}
	}
}

// unfinished returns the latest earlier call of the handler after which no other
// was due: it succeeded, was cut off, or still ran. What fails for good may be
// tried again.
func unfinished(earlier []handling, at time.Time, permanent bool) (last *handling) {
	for i := range earlier {
		h := &earlier[i]
		over := !h.end.IsZero() && h.end.Before(at)
		if over && (h.outcome == diary.Failed || h.outcome == diary.Cancelled || h.outcome == diary.Permanent && permanent) {
			continue
		}
		last = h
	}
	return last
}

// judgeGroups asks whether FIFO groups were handled in order, one at a time.
func (r *run) judgeGroups() {
	groups := map[string][]handling{}
	latest := map[string]*handling{} // first success of the group's message before
	for n := range r.orders {
		group := r.orders[n].group
		if group == "" {
			continue
		}
		groups[group] = append(groups[group], r.handlings[n]...)
		var done *handling
		for i := range r.handlings[n] {
			h := &r.handlings[n][i]
			if (h.outcome == diary.OK || h.outcome == diary.Permanent) && (done == nil || h.end.Before(done.end)) {
				done = h
			}
		}
		if done == nil {
			continue // told by judgeMessage
		}
		if before := latest[group]; before != nil && done.end.Before(before.end) {
			r.violations.add("message %d of %s was done before message %d, which was sent earlier%s%s", n, group, before.n, r.timeline(before.n), r.timeline(n))
		}
		latest[group] = done
	}
	for group, list := range groups {
		sortByStart(list)
		var longest *handling
		for i := range list {
			h := &list[i]
			if longest != nil && h.start.Before(longest.over()) &&
				(h.process == longest.process || r.explain(longest.n, longest.process, r.received(longest), h.start) == "") {
				r.violations.add("two of %s were handled at a time for no reason: message %d by %v and %d by %v%s%s",
					group, longest.n, longest.process, h.n, h.process, r.timeline(longest.n), r.timeline(h.n))
			}
			if longest == nil || h.over().After(longest.over()) {
				longest = h
			}
		}
	}
}

// over is when a handler call was over; of a killed worker, when that was killed.
func (h *handling) over() time.Time {
	if h.end.IsZero() {
		return h.process.signaled
	}
	return h.end
}

func sortByStart(list []handling) {
	slices.SortStableFunc(list, func(a, b handling) int { return a.start.Compare(b.start) })
}

// maxRequests is what a message of phase A may cost on the standard queue: 0.2 by
// tens, and what the 2 % of failures take.
const maxRequests = 0.25

// judgeRequests holds phase A to that. A slow machine fills fewer calls: each
// worker may make ten calls a second of each of three kinds.
func (r *run) judgeRequests() {
	if r.began[stops].IsZero() {
		return // it has not come to its end, which another check reports
	}
	cost, took := r.requests(calm, standardName), r.began[stops].Sub(r.began[calm]).Seconds()
	allowed := 0.2 + slots*3*10*took/float64(r.sent(calm, standardName))
	if cost > max(maxRequests, allowed) {
		r.violations.add("%.3f requests a message of the standard queue in phase A, of which at most %.3f can be explained", cost, max(maxRequests, allowed))
	}
}

// sent is how many messages of a phase went to a queue.
func (r *run) sent(phase int, queue string) (n int) {
	for _, o := range r.of(phase) {
		if (o.group != "") == (queue == fifoName) {
			n++
		}
	}
	return n
}

// requests is how many calls a message of a phase cost, to its queue.
func (r *run) requests(phase int, queue string) float64 {
	calls := 0
	for i := range r.ledger.calls {
		c := &r.ledger.calls[i]
		if c.queue == queue && !c.began.Before(r.began[phase]) && c.began.Before(r.began[phase+1]) {
			calls++
		}
	}
	return float64(calls) / float64(max(1, r.sent(phase, queue)))
}
