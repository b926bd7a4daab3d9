package main

import (
	"fmt"
	"slices"
	"sync"
	"time"
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
	goal, first := endedOK, time.Time{}
	if o.Permanent {
		goal = endedPermanent
	}
	for i := range list {
		h := &list[i]
		if h.outcome == endedFailed || h.outcome == endedPermanent || h.outcome == endedCancelled {
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
	case endedCancelled:
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
		if over && (h.outcome == endedFailed || h.outcome == endedCancelled || h.outcome == endedPermanent && permanent) {
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
			if (h.outcome == endedOK || h.outcome == endedPermanent) && (done == nil || h.end.Before(done.end)) {
				done = h
			}
		}
		if done == nil {
			continue // judgeMessage reports it
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

// handling is one handler call of a message.
type handling struct {
	n, attempt int
	process    *process
	start, end time.Time // end is zero when there was none
	outcome    ending    // "" without an end
}

// readDiaries returns the handler calls of each message, by their start.
func (r *run) readDiaries() error {
	r.handlings = make([][]handling, r.messages)
	r.slept = make(map[*process][]diaryLine)
	for _, p := range r.fleet.processes {
		lines, err := readDiary(p.diary)
		if err != nil {
			if p.signal != "" {
				continue // it ended before it began one
			}
			return err
		}
		for _, l := range lines {
			switch l.Kind {
			case lineStall:
				r.slept[p] = append(r.slept[p], l)
			case lineStart:
				r.handlings[l.N] = append(r.handlings[l.N], handling{n: l.N, attempt: l.Attempt, process: p, start: l.At})
			case lineEnd:
				list := r.handlings[l.N]
				for i := range list {
					if h := &list[i]; h.process == p && h.attempt == l.Attempt && h.outcome == "" {
						h.end, h.outcome = l.At, l.Outcome
						break
					}
				}
			}
		}
	}
	for _, list := range r.handlings {
		sortByStart(list)
	}
	return nil
}

// received is when a message was delivered for a handler call.
func (r *run) received(h *handling) time.Time {
	for i := r.ledger.messages[h.n].last; i >= 0; i = r.ledger.deliveries[i].before {
		if d := r.ledger.deliveries[i]; d.attempt == h.attempt {
			return d.at
		}
	}
	return h.start
}

// explainAgain says why a message was handled again, "" for no reason: what befell
// the process that had it first, until another was given it.
func (r *run) explainAgain(before, again *handling) string {
	holder, from, to := before.process, r.received(before), r.received(again)
	if to.Before(from) {
		holder, from, to = again.process, to, from
	}
	return r.explain(before.n, holder, from, to)
}

// explain says what kept a process from keeping a message: a kill, a second
// delivery, its network, its machine, or as many failed calls for it as it takes
// for the visibility timeout to end.
func (r *run) explain(n int, holder *process, from, to time.Time) string {
	if holder.signal == kill && !holder.signaled.Before(from) && !holder.signaled.After(to) {
		return string(kill)
	}
	if r.ledger.messages[n].sent > 1 {
		return "sent twice"
	}
	if r.ledger.messages[n].struck {
		return "delivered twice by the server"
	}
	var worst *fault
	for _, f := range r.faults.list {
		if f.kind == kill || f.kind == term || f.slot >= 0 && f.slot != holder.slot || f.from.After(to) || f.to.Before(from) {
			continue
		}
		if worst == nil || slices.Index(kinds, f.kind) > slices.Index(kinds, worst.kind) {
			worst = f
		}
	}
	if worst != nil {
		return string(worst.kind)
	}
	if slept(r.slept[holder], from, to)+slept(r.stalls, from, to) >= holder.visibility/5 {
		return "the machine stood still"
	}
	const lapse = 3 // an extension is due after a third, and tried again each second
	failed := 0
	for i := range r.ledger.calls {
		c := &r.ledger.calls[i]
		if c.process != holder.index || c.ended.Before(from) || c.began.After(to) {
			continue
		}
		for _, e := range c.entries {
			if e.n == n && e.failed {
				failed++
			}
		}
	}
	if failed >= lapse {
		return "calls failed by the server"
	}
	return ""
}

// slept is how much of a time a process was not run by its machine.
func slept(stalls []diaryLine, from, to time.Time) (sum time.Duration) {
	for _, s := range stalls {
		began, ended := s.At.Add(-s.Lasted), s.At
		if began.Before(from) {
			began = from
		}
		if ended.After(to) {
			ended = to
		}
		sum += max(0, ended.Sub(began))
	}
	return sum
}

// explainCopies says why a message is more than once in the dead-letter queue.
func (r *run) explainCopies(n int) string {
	copies, list := r.ledger.messages[n].copies, r.handlings[n]
	var sender *handling
	for i := range list {
		if list[i].start.Before(copies[0]) {
			sender = &list[i]
		}
	}
	if sender == nil {
		return ""
	}
	if why := r.explain(n, sender.process, r.received(sender), copies[len(copies)-1]); why != "" {
		return why
	}
	for i := range r.ledger.calls {
		c := &r.ledger.calls[i]
		if c.operation == "SendMessageBatch" && c.process == sender.process.index && c.trouble == "no answer" &&
			!c.began.Before(sender.start) && !c.began.After(copies[len(copies)-1]) {
			return "lost answer"
		}
	}
	return ""
}

// longestStall is the longest time since then that a worker was not run.
func longestStall(path string, since time.Time) (longest time.Duration) {
	lines, err := readDiary(path)
	if err != nil {
		return 0 // it began nothing
	}
	for _, l := range lines {
		if l.Kind == lineStall && l.At.After(since) {
			longest = max(longest, l.Lasted)
		}
	}
	return longest
}
