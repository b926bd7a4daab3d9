package main

import (
	"fmt"
	"runtime"
	"slices"
	"strings"
	"time"

	"github.com/sqsbatch/sqsbatch/emulator/sqs"
	"github.com/sqsbatch/sqsbatch/test/chaos/diary"
)

// stalled notes that this machine did not run the driver for a while.
func (r *run) stalled(at time.Time, lasted time.Duration) {
	r.stallsMu.Lock()
	defer r.stallsMu.Unlock()
	r.stalls = append(r.stalls, diary.Line{Kind: diary.Stall, At: at, Lasted: lasted})
}

// report prints the tables, and what was broken.
func (r *run) report(f *findings) {
	fmt.Printf("%s/%s, %d CPUs, %s; %d messages, %d faults, seed %d\n", runtime.GOOS, runtime.GOARCH, runtime.NumCPU(), runtime.Version(), r.messages, r.faultsWanted, r.seed)
	fmt.Println("\n| phase | messages | handled | handler calls | of these failed | handled again | time | requests a message |\n| --- | --- | --- | --- | --- | --- | --- | --- |")
	for p := range phases {
		if r.began[p].IsZero() || r.began[p+1].IsZero() {
			continue
		}
		fmt.Printf("| %s | %d | %d | %d | %d | %d | %.1f s | %.3f |\n", phaseNames[p], len(r.of(p)), f.handled[p], f.calls[p], f.failed[p],
			sum(f.again[p]), r.began[p+1].Sub(r.began[p]).Seconds(), r.requests(p))
	}

	again := map[string]int{}
	for p := range f.again {
		for why, n := range f.again[p] {
			again[why] += n
		}
	}
	table("handled again because of", again)
	r.callTable()
	struck := map[string]int{}
	for _, fault := range r.faults.list {
		struck[string(fault.kind)]++
	}
	table("fault", struck)
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

	const most = 10
	v := r.violations.list
	if len(v) == 0 {
		fmt.Println("\n0 lost, 0 handled again without a reason, 0 stranded, every group in order")
		return
	}
	fmt.Printf("\n%d promises were broken:\n", len(v))
	for _, text := range v[:min(len(v), most)] {
		fmt.Printf("\n- %s\n", text)
	}
	if len(v) > most {
		fmt.Printf("\nand %d more\n", len(v)-most)
	}
}

// callTable tells what the phases' requests were, and how full.
func (r *run) callTable() {
	var calls, full [phases]map[string]int
	names := map[string]int{}
	for p := range calls {
		calls[p], full[p] = map[string]int{}, map[string]int{}
	}
	for i := range r.ledger.calls {
		c := &r.ledger.calls[i]
		for p := range calls {
			if !c.began.Before(r.began[p]) && c.began.Before(r.began[p+1]) {
				name := c.operation + ", " + c.queue
				names[name]++
				calls[p][name]++
				full[p][name] += max(len(c.entries), c.given)
			}
		}
	}
	fmt.Println("\n| calls, and messages in each | A | B | C |\n| --- | --- | --- | --- |")
	for _, name := range sorted(names) {
		fmt.Printf("| %s |", name)
		for p := range calls {
			fmt.Printf(" %d, %.1f |", calls[p][name], float64(full[p][name])/float64(max(1, calls[p][name])))
		}
		fmt.Println()
	}
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

func sorted(counts map[string]int) (keys []string) {
	for k := range counts {
		keys = append(keys, k)
	}
	slices.Sort(keys)
	return keys
}

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
			if h.process.signal != "" {
				add(h.process.signaled, "%v: %s", h.process, h.process.signal)
				add(h.process.ended, "%v: is gone, status %d", h.process, h.process.code)
			}
		}
	}
	if len(list) == 0 {
		return "\n    nothing is known of it"
	}
	byTime := func(a, b line) int { return a.at.Compare(b.at) }
	slices.SortStableFunc(list, byTime)
	from, to := list[0].at, list[len(list)-1].at
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
