package main

import (
	"slices"
	"time"

	"github.com/sqsbatch/sqsbatch/test/chaos/diary"
)

// handling is one handler call of a message.
type handling struct {
	n, attempt int
	process    *process
	start, end time.Time     // end is zero when there was none
	outcome    diary.Outcome // "" without an end
}

// readDiaries returns the handler calls of each message, by their start.
func (r *run) readDiaries() error {
	r.handlings = make([][]handling, r.messages)
	r.slept = make(map[*process][]diary.Line)
	for _, p := range r.fleet.processes {
		lines, err := diary.Read(p.diary)
		if err != nil {
			if p.signal != "" {
				continue // it ended before it began one
			}
			return err
		}
		for _, l := range lines {
			switch l.Kind {
			case diary.Stall:
				r.slept[p] = append(r.slept[p], l)
			case diary.Start:
				r.handlings[l.N] = append(r.handlings[l.N], handling{n: l.N, attempt: l.Attempt, process: p, start: l.At})
			case diary.End:
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
func slept(stalls []diary.Line, from, to time.Time) (sum time.Duration) {
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
	lines, err := diary.Read(path)
	if err != nil {
		return 0 // it began nothing
	}
	for _, l := range lines {
		if l.Kind == diary.Stall && l.At.After(since) {
			longest = max(longest, l.Lasted)
		}
	}
	return longest
}
