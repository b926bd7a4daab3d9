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
// is checked was also tried.
type Coverage map[string]int

// Add counts a history.
func (c Coverage) Add(h *History) {
	c["history"]++
	for _, q := range h.Plan.Queues {
		c.queue(q, h.Plan.Polls())
	}
	for _, f := range h.Plan.Functions {
		c.function(f)
	}
	for _, r := range h.Plan.Replicas {
		c.replica(h.Plan, r)
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
			if a.Takes > 0 && !a.Heeds && g.Ended.At.After(g.Allowed) {
				c["handler: ignores its deadline"]++
			}
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
		if e.Kind == sqs.Redriven {
			c["SQS gives up on a message"]++
		}
	}
	for _, i := range h.Invocations {
		c.invocation(i)
	}
	c.config("lambda", h.together() >= atATime, "64 invocations of one process at a time")
	c.aborts(newChecker(h))
	c["message in a dead-letter queue"] += len(h.Dead)
	for _, d := range h.Dead {
		if d.Origin != "" {
			c["message in a dead-letter queue with its origin"]++
		}
	}
	if h.Healed.Came() {
		c["faults and failures until they are healed"]++
	}
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

func (c Coverage) config(of string, is bool, what string) {
	if is {
		c[of+": "+what]++
	}
}

func (c Coverage) invocation(i *Invocation) {
	c["invocation"]++
	if i.Killed.Came() {
		c["killed: "+string(i.How)]++
	}
	if i.Err != nil {
		c["invocation: answers with an error"]++
	}
	if i.Batch.Records > 0 && len(i.Records) > 0 && i.heldTwice(i.Records[0].MessageID) {
		c["message twice in one batch"]++
	}
	for _, o := range i.Results {
		c["outcome: "+o.Outcome.String()]++
		switch {
		case o.Outcome.Done():
		case o.VisibilitySet:
			c["visibility is set"]++
		default:
			c["visibility is not set"]++
		}
		if o.VisibilitySet && o.VisibleIn.Hours() > 11 {
			c["visibility is cut to what SQS takes"]++
		}
	}
	for _, call := range i.Calls {
		if call.Err == "" && call.Ended.Came() {
			c["call: "+call.Operation]++
		} else {
			c["call that fails: "+call.Operation]++
		}
	}
}

// Missing returns what has to occur in many histories, and did not.
func (c Coverage) Missing() (missing []string) {
	want := []string{
		"queue: standard", "queue: FIFO", "queue: standard with redrive", "queue: FIFO with redrive",
		"mapping: window", "mapping: maximum concurrency", "mapping: without ReportBatchItemFailures", "mapping: batch size above 10",
		"handler: ignores its deadline", "SQS gives up on a message", "invocation: answers with an error",
		"message in a dead-letter queue with its origin", "visibility is set", "visibility is not set", "visibility is cut to what SQS takes",
		"faults and failures until they are healed",
	}
	for _, name := range []string{"JSON", "Bulk", "several invocations in one environment", "Concurrency", "Reserve", "RecordTimeout", "MinRemaining", "Grace",
		"MaxReceiveCount", "ErrorIfAllFail", "DeleteSucceeded", "LogSucceeded", "slow hook", "DeadLetterQueue", "DeadLetterQueue by ARN",
		"Deadline ", "Deadline whole", "Deadline fair",
		"Backoff ", "Backoff outage", "Backoff constant", "Backoff linear", "Backoff hashed", "Backoff negative", "Backoff endless", "Backoff panics",
		"OnPermanent ", "OnPermanent dead-letter", "OnPermanent retry", "OnPermanent drop"} {
		want = append(want, "config: "+name)
	}
	for o := batch.Succeeded; o <= batch.Abandoned; o++ {
		want = append(want, "outcome: "+o.String())
	}
	for _, end := range []End{Succeeded, Failed, ForGood, Panicked, Exited} {
		want = append(want, "handler: "+string(end))
	}
	for _, v := range []Verb{OK, Fail, Late, Permanent, RetryAfter, PermanentAfter, Abort, AbortAfter, Panic, PanicError, NilError, Goexit} {
		want = append(want, "verb: "+string(v))
	}
	for _, k := range []KillKind{Crash, Freeze, BeforeCall, AfterCall, AtResponse} {
		want = append(want, "killed: "+string(k))
	}
	for _, operation := range []string{"ChangeMessageVisibilityBatch", "SendMessageBatch", "DeleteMessageBatch", "GetQueueAttributes", "ReceiveMessage"} {
		if operation != "ReceiveMessage" {
			want = append(want, "call: "+operation, "call that fails: "+operation)
		}
		for _, kind := range faultKinds(operation) {
			want = append(want, fmt.Sprintf("fault: %s of %s", kind, operation))
		}
	}
	want = append(want, wideFeatures()...)
	want = append(want, abortFeatures()...)
	want = append(want, pollFeatures()...)
	for _, name := range want {
		if c[name] == 0 {
			missing = append(missing, name)
		}
	}
	return missing
}

// wideFeatures are what has to occur between any two steps of settling, in both modes.
func wideFeatures() []string {
	want := []string{"lambda: 64 invocations of one process at a time"}
	for mode, polls := range map[string]bool{"fault: ": false, "poll fault: ": true} {
		for _, operation := range settling {
			for _, kind := range breakKinds(operation) {
				want = append(want, fmt.Sprintf("%s%s of %s", mode, kind, operation))
			}
			for _, kind := range []KillKind{BeforeCall, AfterCall} {
				want = append(want, fmt.Sprintf("%s%s of %s", mode, kind, operation))
			}
			for _, kind := range []sqs.FaultKind{sqs.Latency, sqs.Refused, sqs.Hang, sqs.LostAnswer} {
				want = append(want, fmt.Sprintf("%s%s of %s", mode, kind, operation))
			}
		}
		for _, hook := range slowHooks(polls) {
			want = append(want, mode+"slow hook of "+hook)
		}
	}
	for _, kind := range breakKinds("ChangeMessageVisibilityBatch") {
		want = append(want, "poll fault: "+string(kind)+" of a heartbeat")
	}
	return want
}

// String prints a count a line.
func (c Coverage) String() string {
	var b strings.Builder
	for _, name := range slices.Sorted(maps.Keys(c)) {
		fmt.Fprintf(&b, "%9d  %s\n", c[name], name)
	}
	return b.String()
}
