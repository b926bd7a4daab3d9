package main

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/sqsbatch/sqsbatch/emulator/sqs"
)

// timeline is all that is known of a message, in its order.
func (r *run) timeline(n int) string {
	type line struct {
		at   time.Time
		text string
	}
	var list []line
	add := func(at time.Time, format string, args ...any) {
		list = append(list, line{at, fmt.Sprintf(format, args...)})
	}
	l := r.ledger
	l.mu.Lock()
	for _, e := range l.events {
		if e.n == n {
			text := ""
			if e.kind == sqs.Received || e.kind == sqs.Visibility {
				text = fmt.Sprintf(" for %v", e.hidden.Round(time.Millisecond))
			}
			add(e.at, "server: %s%s, %d receives", e.kind, text, e.attempt)
		}
	}
	for i := l.messages[n].last; i >= 0; i = l.deliveries[i].before {
		add(l.deliveries[i].at, "given to worker %d", l.deliveries[i].process)
	}
	for i := range l.calls {
		c := &l.calls[i]
		for _, e := range c.entries {
			if e.n == n {
				add(c.began, "worker %d: %s (%d s), answered %v later, failed: %t %s", c.process, c.operation, e.seconds, c.ended.Sub(c.began).Round(time.Millisecond), e.failed, c.trouble)
			}
		}
	}
	for _, at := range l.messages[n].copies {
		add(at, "server: in the dead-letter queue")
	}
	l.mu.Unlock()
	if r.handlings != nil {
		for _, h := range r.handlings[n] {
			add(h.start, "%v: handler begins, attempt %d", h.process, h.attempt)
			if h.outcome != "" {
				add(h.end, "%v: handler ends, attempt %d: %s", h.process, h.attempt, h.outcome)
			}
		}
	}
	if len(list) == 0 {
		return "\n    nothing is known of it"
	}
	byTime := func(a, b line) int { return a.at.Compare(b.at) }
	slices.SortStableFunc(list, byTime)
	from, to := list[0].at, list[len(list)-1].at
	if r.handlings != nil {
		for _, h := range r.handlings[n] {
			if p := h.process; p.signal != "" && !p.signaled.After(to) {
				add(p.signaled, "%v: %s", p, p.signal)
				add(p.ended, "%v: is gone, status %d", p, p.code)
			}
		}
	}
	r.faults.mu.Lock()
	for _, f := range r.faults.list {
		if !f.from.After(to) && (f.to.IsZero() || !f.to.Before(from)) {
			add(f.from, "fault: %s on slot %d, %v %s", f.kind, f.slot, f.to.Sub(f.from).Round(time.Millisecond), f.detail)
		}
	}
	r.faults.mu.Unlock()
	slices.SortStableFunc(list, byTime)
	list = slices.CompactFunc(list, func(a, b line) bool { return a == b })
	var b strings.Builder
	for _, l := range list {
		fmt.Fprintf(&b, "\n    %s %s", l.at.Format("15:04:05.000"), l.text)
	}
	return b.String()
}

// lastCalls tells what a worker still asked while it was stopped.
func (r *run) lastCalls(p *process) string {
	var b strings.Builder
	r.ledger.mu.Lock()
	defer r.ledger.mu.Unlock()
	for _, c := range r.ledger.calls {
		if c.process == p.index && c.ended.After(p.signaled) {
			fmt.Fprintf(&b, "\n    %s %v: %s, answered %v later, %d messages given, %d named %s", c.began.Format("15:04:05.000"), p, c.operation,
				c.ended.Sub(c.began).Round(time.Millisecond), c.given, len(c.entries), c.trouble)
		}
	}
	return b.String()
}
