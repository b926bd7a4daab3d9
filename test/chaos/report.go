package main

import (
	"fmt"
	"maps"
	"runtime"
	"slices"
	"strings"
	"time"

	"github.com/sqsbatch/sqsbatch/emulator/sqs"
)

// report prints the tables, and what was broken.
func (r *run) report(f *findings) {
	fmt.Printf("%s/%s, %d CPUs, %s; %d messages, %d faults, seed %d\n", runtime.GOOS, runtime.GOARCH, runtime.NumCPU(), runtime.Version(), r.messages, r.faultsWanted, r.seed)
	fmt.Println("\n| phase | messages | handled | handler calls | of these failed | handled again | time | requests a message, standard | FIFO |\n| --- | --- | --- | --- | --- | --- | --- | --- | --- |")
	for p := range phases {
		if r.began[p].IsZero() || r.began[p+1].IsZero() {
			continue
		}
		fmt.Printf("| %s | %d | %d | %d | %d | %d | %.1f s | %.3f | %.3f |\n", phaseNames[p], len(r.of(p)), f.handled[p], f.calls[p], f.failed[p],
			sum(f.again[p]), r.began[p+1].Sub(r.began[p]).Seconds(), r.requests(p, standardName), r.requests(p, fifoName))
	}

	again := map[string]int{}
	for p := range f.again {
		for why, n := range f.again[p] {
			again[why] += n
		}
	}
	table("handled again because of", again)
	if r.sending != nil {
		r.reportSending()
	}
	table("fault", r.faults.struck())
	injected := map[string]int{}
	for _, c := range r.server.state.Calls() {
		if c.Fault != "" {
			injected[string(c.Fault)]++
		}
	}
	table("the server's own fault, by calls", injected)

	released := 0
	for i := range r.ledger.calls {
		for _, e := range r.ledger.calls[i].entries {
			if r.ledger.calls[i].operation == "ChangeMessageVisibilityBatch" && e.seconds == 0 && !e.failed {
				released++
			}
		}
	}
	fmt.Printf("\n%d workers; %d looked at when they had stopped, %d of these on a machine too slow to tell (%d messages in answers that came too late)\n",
		len(r.fleet.processes), r.looked.stops, r.looked.slow, r.looked.late)
	fmt.Printf("%d messages released, %d taken over from killed workers; %d dead-lettered, %d copies too many%s\n", released, f.back, f.dead, sum(f.copies), because(f.copies))
	var still time.Duration
	for _, list := range r.slept {
		for _, s := range list {
			still += s.Lasted
		}
	}
	fmt.Printf("the machine stood still for %.1f s of the driver's time, and %.1f s of the workers'\n", slept(r.stalls, r.began[calm], time.Now()).Seconds(), still.Seconds())

	if !r.violations.print() {
		fmt.Println("\n0 lost, 0 handled again without a reason, 0 stranded, every group in order")
	}
}

// print prints the first of the promises that were broken, and reports whether there are any.
func (v *violations) print() bool {
	if len(v.list) == 0 {
		return false
	}
	const most = 10
	fmt.Printf("\n%d promises were broken:\n", len(v.list))
	for _, text := range v.list[:min(len(v.list), most)] {
		fmt.Printf("\n- %s\n", text)
	}
	if more := len(v.list) - most; more > 0 {
		fmt.Printf("\nand %d more\n", more)
	}
	return true
}

func table(head string, counts map[string]int) {
	if len(counts) == 0 {
		return
	}
	fmt.Printf("\n| %s | |\n| --- | --- |\n", head)
	for _, k := range sorted(counts) {
		fmt.Printf("| %s | %d |\n", k, counts[k])
	}
	fmt.Printf("| all | %d |\n", sum(counts))
}

func because(counts map[string]int) string {
	if len(counts) == 0 {
		return ""
	}
	return " (" + strings.Join(sorted(counts), ", ") + ")"
}

func sorted(counts map[string]int) []string { return slices.Sorted(maps.Keys(counts)) }

func sum(counts map[string]int) (n int) {
	for _, c := range counts {
		n += c
	}
	return n
}

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
