package simulate

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/sqsbatch/sqsbatch/batch"
	"github.com/sqsbatch/sqsbatch/emulator/sqs"
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
	indexed := newChecker(h)
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
	c.config("config", f.JSON, "JSON")
	c.config("config", f.Bulk > 0, "Bulk")
	c.config("config", f.PerEnvironment > 1, "several invocations in one environment")
	c.config("config", f.Concurrency > 0, "Concurrency")
	c.config("config", f.MaxHandlers > 0, "MaxHandlers")
	c.config("config", f.Reserve > 0, "Reserve")
	c.config("config", f.RecordTimeout > 0, "RecordTimeout")
	c.config("config", f.MinRemaining > 0, "MinRemaining")
	c.config("config", f.Grace > 0, "Grace")
	c.config("config", f.MaxReceiveCount > 0, "MaxReceiveCount")
	c.config("config", f.ErrorIfAllFail, "ErrorIfAllFail")
	c.config("config", f.DeleteSucceeded, "DeleteSucceeded")
	c.config("config", f.LogSucceeded, "LogSucceeded")
	c.config("config", f.SlowHook != "", "slow hook")
	c.config("config", f.DeadLetterQueue != "", "DeadLetterQueue")
	c.config("config", strings.HasPrefix(f.DeadLetterQueue, "arn:"), "DeadLetterQueue by ARN")
	c["config: Deadline "+f.Deadline]++
	c["config: Backoff "+f.Backoff]++
	c["config: OnPermanent "+f.OnPermanent]++
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
	if i.Batch.Records > 0 && len(i.Records) > 0 && i.heldTwice(i.Records[0].MessageID) {
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
