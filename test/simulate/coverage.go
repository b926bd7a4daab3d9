package simulate

import (
	"errors"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"
	"time"

	"github.com/sqsbatch/sqsbatch/batch"
	"github.com/sqsbatch/sqsbatch/emulator/sqs"
	"github.com/sqsbatch/sqsbatch/idempotency"
	"github.com/sqsbatch/sqsbatch/longpoll"
)

// Coverage counts what occurred in histories, so that it can be seen that what
// is checked was also tried. What could occur and did not is there with 0.
type Coverage map[string]int

// NewCoverage expects each value that plans draw, and each fault of each call.
func NewCoverage() Coverage {
	c := Coverage{}
	expect(c, "queue: %s", "standard", "FIFO", "standard with redrive", "FIFO with redrive")
	expect(c, "config: Deadline %s", "", "whole", "fair")
	expect(c, "config: Backoff %s", "", "outage", "constant", "linear", "hashed", "negative", "endless", "panics")
	expect(c, "config: OnPermanent %s", "", "dead-letter", "retry", "drop")
	for o := batch.Succeeded; o <= batch.Abandoned; o++ {
		expect(c, "outcome: %v", o)
		expect(c, "poll outcome: %v", o)
	}
	expect(c, "handler: %s", Succeeded, Failed, ForGood, Panicked, Exited)
	expect(c, "verb: %s", OK, Fail, Late, Permanent, RetryAfter, PermanentAfter, Abort, AbortAfter, Panic, PanicError, NilError, Goexit, Expired)
	expect(c, "killed: %s", Crash, Freeze, BeforeCall, AfterCall, AtResponse)
	expect(c, "poll: process ends by %s", Shutdown, Canceled, Hurried)
	for _, prefix := range []string{"call: %s", "call that fails: %s", "poll call: %s", "poll call that fails: %s"} {
		expect(c, prefix, settling...)
	}
	for _, prefix := range []string{"poll call: %s", "poll call that fails: %s"} {
		expect(c, prefix, "ReceiveMessage", "GetQueueUrl")
	}
	for _, operation := range append([]string{"ReceiveMessage"}, settling...) {
		expect(c, "fault: %s of "+operation, faultKinds(operation)...)
	}
	for mode, polls := range map[string]bool{"fault: %s": false, "poll fault: %s": true} {
		for _, operation := range settling { // between any two steps of settling
			expect(c, mode+" of "+operation, breakKinds(operation)...)
			expect(c, mode+" of "+operation, BeforeCall, AfterCall)
			expect(c, mode+" of "+operation, sqs.Latency, sqs.Refused, sqs.Hang, sqs.LostAnswer)
		}
		expect(c, mode[:len(mode)-2]+"slow hook of %s", slowHooks(polls)...)
	}
	expect(c, "poll fault: %s of a heartbeat", breakKinds("ChangeMessageVisibilityBatch")...)
	c.expectKeys()
	return c
}

func expect[T any](c Coverage, format string, names ...T) {
	for _, name := range names {
		c[fmt.Sprintf(format, name)] += 0
	}
}

// Add counts a history.
func (c Coverage) Add(h *History) {
	c["history"]++
	for _, q := range h.Plan.Queues {
		c.queue(q, h.Plan.Polls())
	}
	for _, f := range h.Plan.Functions {
		c.function(f)
	}
	for i := range h.Plan.Replicas {
		c.replica(h.Plan, i)
	}
	for _, p := range h.Processes {
		c.process(h, p)
	}
	c.config("poll", h.Plan.Polls(), "history")
	for _, g := range h.Handlings {
		c["handler: "+string(g.End)]++
		if acts := h.Plan.message(g.Number).Acts; g.Attempt >= 1 && g.Attempt <= len(acts) {
			a := acts[g.Attempt-1]
			c["verb: "+string(a.Verb)]++
			c.config("handler", a.Takes > 0 && !a.Heeds && g.Ended.At.After(g.Allowed), "ignores its deadline")
		}
	}
	prefix := "fault: "
	if h.Plan.Polls() {
		prefix = "poll fault: "
	}
	for kind, n := range h.Struck {
		c[prefix+kind] += n
	}
	for _, e := range h.Events {
		c.config("SQS", e.Kind == sqs.Redriven, "gives up on a message")
	}
	for _, i := range h.Invocations {
		c.invocation(i)
	}
	c.config("lambda", h.together() >= atATime, "64 invocations of one process at a time")
	indexed := h.checker()
	c.aborts(indexed)
	c.keys(indexed)
	c["message in a dead-letter queue"] += len(h.Dead)
	for _, d := range h.Dead {
		c.config("message in a dead-letter queue", d.Origin != "", "with its origin")
	}
	c.config("faults and failures", h.Healed.Came(), "until they are healed")
}

// together is how many invocations one environment had at a time, at most.
func (h *History) together() (together int) {
	under := map[int][]span{}
	for _, i := range h.Invocations {
		end := i.Ended.At
		if i.Killed.Came() {
			end = i.Killed.At
		}
		under[i.Environment] = append(under[i.Environment], span{i.Began.At, end})
	}
	for _, list := range under {
		n, _ := most(list)
		together = max(together, n)
	}
	return together
}

func (c Coverage) queue(q Queue, polled bool) {
	kind := "standard"
	if q.FIFO() {
		kind = "FIFO"
	}
	c["queue: "+kind]++
	if q.MaxReceive > 0 {
		c["queue: "+kind+" with redrive"]++
	}
	c.config("mapping", q.Window > 0, "window")
	c.config("mapping", q.Concurrency > 0, "maximum concurrency")
	c.config("mapping", !q.Report && !polled, "without ReportBatchItemFailures")
	c.config("mapping", q.BatchSize > 10, "batch size above 10")
}

func (c Coverage) function(f Function) {
	c.fields("config", f)
	c.config("config", f.PerEnvironment > 1, "several invocations in one environment")
	c.config("config", strings.HasPrefix(f.DeadLetterQueue, "arn:"), "DeadLetterQueue by ARN")
	c["config: Deadline "+f.Deadline]++
	c["config: Backoff "+f.Backoff]++
	c["config: OnPermanent "+f.OnPermanent]++
}

// fields counts the fields of a struct that are set.
func (c Coverage) fields(of string, v any) {
	value := reflect.ValueOf(v)
	for i := range value.NumField() {
		c.config(of, !value.Field(i).IsZero(), value.Type().Field(i).Name)
	}
}

// config counts something if it occurred.
func (c Coverage) config(of string, is bool, what string) {
	c[of+": "+what] += 0
	if is {
		c[of+": "+what]++
	}
}

func (c Coverage) invocation(i *Invocation) {
	c["invocation"]++
	if i.Killed.Came() {
		c["killed: "+string(i.How)]++
	}
	c.config("invocation", i.Err != nil, "answers with an error")
	if len(i.Records) > 0 && i.heldTwice(i.Records[0].MessageID) {
		c["message twice in one batch"]++
	}
	for _, o := range i.Results {
		c["outcome: "+o.Outcome.String()]++
		c.config("visibility", !o.Outcome.Done() && o.VisibilitySet, "is set")
		c.config("visibility", !o.Outcome.Done() && !o.VisibilitySet, "is not set")
		c.config("visibility", o.VisibilitySet && o.VisibleIn.Hours() > 11, "is cut to what SQS takes")
	}
	for _, call := range i.Calls {
		c.call("", call)
	}
}

// Missing returns what has to occur in many histories, and did not.
func (c Coverage) Missing() (missing []string) {
	for _, name := range slices.Sorted(maps.Keys(c)) {
		if c[name] == 0 {
			missing = append(missing, name)
		}
	}
	return missing
}

// call counts a call of a mode.
func (c Coverage) call(mode string, call *Call) {
	if call.Err == "" && call.Ended.Came() {
		c[mode+"call: "+call.Operation]++
	} else {
		c[mode+"call that fails: "+call.Operation]++
	}
}

// String prints a count a line.
func (c Coverage) String() string {
	var b strings.Builder
	for _, name := range slices.Sorted(maps.Keys(c)) {
		fmt.Fprintf(&b, "%9d  %s\n", c[name], name)
	}
	return b.String()
}

// replica counts what a replica's configuration has.
func (c Coverage) replica(p Plan, i int) {
	r := p.Replicas[i]
	c.fields("poll config", r)
	c.config("poll config", r.Prefetch > 0, "more Prefetch")
	c.config("poll config", r.Prefetch < 0, "no Prefetch")
	for _, other := range p.Replicas[:i] {
		c.config("poll", other.Queue == r.Queue, "replicas share a queue")
	}
}

// process counts what happened to a process.
func (c Coverage) process(h *History, p *Process) {
	c["poll: process"]++
	dies, abandoned := p.Killed.Came(), errors.Is(p.Err, longpoll.ErrAbandoned)
	unusable := errors.As(p.Err, new(*longpoll.ConfigError))
	c.config("poll", dies, "process dies")
	c.config("poll", !dies && abandoned, "process ends with too many abandoned")
	c.config("poll", !dies && unusable, "process ends since the queue cannot be used")
	if !dies && !abandoned && !unusable {
		c["poll: process ends by "+string(p.How)]++
	}
	for _, call := range p.Calls {
		c.config("poll", dies && !call.Ended.Came() && call.Operation != "ReceiveMessage", "process dies in a call that settles")
	}
	c.config("poll", len(p.Paused) > 0, "process is paused")
	busy := false
	for _, g := range h.Handlings {
		if g.Process != p {
			continue
		}
		c.config("poll", g.Canceled.Came() && p.Stopping.Before(g.Canceled), "handler is cut off by a stop")
		busy = busy || g.Started.Before(p.Stopping) && p.Stopping.Before(g.Ended)
	}
	c.config("poll", busy, "stop waits for a handler")
	for _, o := range p.Results {
		c["poll outcome: "+o.Outcome.String()]++
	}
	held := map[string]bool{}
	for _, call := range p.Calls {
		c.pollCall(call, held)
		if call.Broken != "" && h.beats(p, call) {
			c["poll fault: "+string(call.Broken)+" of a heartbeat"]++
		}
	}
}

// beats reports whether a call extends the visibility of a record that is handled.
func (h *History) beats(p *Process, call *Call) bool {
	return call.Operation == "ChangeMessageVisibilityBatch" && slices.ContainsFunc(h.Handlings, func(g *Handling) bool {
		return g.Process == p && g.Started.Before(call.Began) && !g.Ended.Before(call.Began) &&
			slices.ContainsFunc(call.Entries, func(e Entry) bool { return e.Receipt == g.Receipt })
	})
}

func (c Coverage) pollCall(call *Call, held map[string]bool) {
	c.call("poll ", call)
	for _, e := range call.Entries {
		if call.Operation != "ChangeMessageVisibilityBatch" || !e.OK {
			continue
		}
		c.config("poll", e.Seconds == 0, "record is released")
		c.config("poll", e.Seconds > 0 && held[e.Receipt], "record is extended again")
		held[e.Receipt] = true
	}
	c.config("poll", len(call.Got) == call.Most && call.Most == 10, "receive is full")
	c.config("poll", call.GivenUp && call.Operation == "ReceiveMessage", "receive is given up")
}

// aborts counts what was tried of batch.Abort.
func (c Coverage) aborts(h *checker) {
	for _, g := range h.Handlings {
		after, aborts := g.abortsFor()
		d := g.delivery
		if !aborts {
			continue
		}
		c.config("abort", d.queue.FIFO(), "FIFO")
		c.config("abort", !d.queue.FIFO(), "standard")
		c.config("abort", after == 0, "for no time")
		c.config("abort", after > d.received.Visibility, "for longer than the visibility")
		c.config("abort", after > longest, "for longer than SQS hides")
		c.config("abort", d.story.failsLast(g), "at the last delivery of a group's head")
	}
	for _, i := range h.Invocations {
		list := h.abortsIn(i)
		for _, o := range i.Results {
			c.config("abort", o.Aborted, "something was not started")
			c.config("abort", o.Aborted && isFIFO(i.Queue), "something was not started of a FIFO queue")
		}
		c.config("abort", len(list) > 1, "several in one batch")
		c.config("abort", slices.ContainsFunc(h.Handlings, func(g *Handling) bool {
			return g.Invocation == i && slices.ContainsFunc(list, func(a *Handling) bool {
				return g.Started.Before(a.Ended) && g.Ended.At.After(a.Ended.At)
			})
		}), "something goes on")
	}
	for _, p := range h.Processes {
		c.delays(h, p)
	}
}

func (c Coverage) delays(h *checker, p *Process) {
	list := h.delaysOf(p)
	for k, a := range list {
		c.config("abort while polling", a.sure, "it must have an effect")
		c.config("abort while polling", k > 0 && a.from.At.Before(list[k-1].until), "another before it is over")
		c.config("abort while polling", p.Stopping.Came() && p.Stopping.At.After(a.from.At) && p.Stopping.At.Before(a.until), "a stop")
		c.config("abort while polling", slices.ContainsFunc(p.Paused, func(q *Paused) bool {
			return q.From.At.Before(a.until) && a.from.At.Before(q.Until.At)
		}), "a pause")
		c.config("abort while polling", slices.ContainsFunc(p.Calls, func(call *Call) bool {
			return call.Operation == "ReceiveMessage" && call.Began.At.After(a.from.At.Add(time.Second)) && !call.Began.At.Before(a.until)
		}), "it is over and receives go on")
	}
	for _, o := range p.Results {
		c.config("abort while polling", o.Aborted, "something of a group was not started")
	}
	for _, d := range h.deliveries {
		last := p.lastEntry(d.received.ReceiptHandle)
		if len(list) == 0 || d.process != p || last == nil || !h.putOff(d, last.at.At.Add(last.hidden)) {
			continue
		}
		for _, a := range list {
			c.config("abort while polling", d.got.At.Before(a.from.At) && last.at.At.Before(a.until), "something waited")
			c.config("abort while polling", d.got.At.After(a.from.At) && d.got.At.Before(a.until), "an open receive brings something")
		}
	}
}

// expectKeys expects each fault of each call to the idempotency store, in both modes.
func (c Coverage) expectKeys() {
	for _, mode := range []string{"", "poll "} {
		for _, operation := range storeOperations {
			expect(c, mode+"store fault: %s of "+operation, storeFaultKinds...)
		}
		expect(c, mode+"idempotency: %s", "function", "copy", "copy of another queue", "copy in its group", "work", "work is taken over",
			"completion by one who lost the claim", "claim is renewed", "handler loses its claim", "permanent failure is kept", "record waits at its last attempt")
	}
}

// keys counts what was tried of package idempotency.
func (c Coverage) keys(h *checker) {
	mode := ""
	if h.Plan.Polls() {
		mode = "poll "
	}
	is := func(what string, is bool) { c.config(mode+"idempotency", is, what) }
	for _, f := range h.Plan.Functions {
		is("function", f.Guard.On)
	}
	for _, m := range h.Plan.Messages {
		if m.Key == 0 {
			continue
		}
		of := h.Plan.message(m.Key - 1)
		is("copy", true)
		is("copy of another queue", m.Queue != of.Queue)
		is("copy in its group", m.Queue == of.Queue && m.Group != "" && m.Group == of.Group)
	}
	for k, t := range h.Tasks {
		is("work", true)
		is("handler loses its claim", t.Handling.TakenOver)
		is("permanent failure is kept", t.End == ForGood && h.deliveries[t.Receipt].function.Guard.KeepPermanent)
		is("work is taken over", slices.ContainsFunc(h.Tasks[:k], func(before *Task) bool {
			return before.Key == t.Key && (!before.Ended.Came() || t.Started.Before(before.Ended))
		}))
	}
	claims := map[string]int{} // by receipt handle
	for _, call := range h.StoreCalls {
		if call.Struck != "" {
			c[mode+"store fault: "+string(call.Struck)+" of "+call.Operation]++
		}
		is("completion by one who lost the claim", call.Operation == "Complete" && call.Refusal != nil)
		is("claim is renewed", call.Operation == "Renew" && call.Done.Came() && call.Refusal == nil)
		if call.Operation == "Claim" && call.State == idempotency.InProgress {
			claims[call.Receipt]++
			is("record waits at its last attempt", claims[call.Receipt] == 2)
		}
	}
}
