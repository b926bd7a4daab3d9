package simulate

import (
	"errors"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"time"

	"github.com/sqsbatch/sqsbatch/batch"
	"github.com/sqsbatch/sqsbatch/emulator/sqs"
	"github.com/sqsbatch/sqsbatch/idempotency"
	"github.com/sqsbatch/sqsbatch/internal/longpoll"
	"github.com/sqsbatch/sqsbatch/test/random"
)

// coverage counts what occurred in a history, so that it can be seen that what
// is checked was also tried. What could occur and did not is there with 0.
type coverage struct{ random.Seen }

// expected are the values that plans draw, and the faults of each call.
func expected() []string {
	c := coverage{random.Seen{}}
	expect(c, "queue: %s", "standard", "FIFO", "standard with redrive", "FIFO with redrive")
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
	for _, mode := range []string{"", "poll "} {
		for _, operation := range storeOperations {
			expect(c, mode+"store fault: %s of "+operation, storeFaultKinds...)
		}
		expect(c, mode+"idempotency: %s", "function", "copy", "copy of another queue", "copy in its group", "work", "work is taken over",
			"completion by one who lost the claim", "claim is renewed", "handler loses its claim", "permanent failure is kept", "record waits at its last attempt")
	}
	for _, s := range states() {
		c.Saw(s.String(), false)
	}
	return slices.Collect(maps.Keys(c.Seen))
}

func expect[T any](c coverage, format string, names ...T) {
	for _, name := range names {
		c.Saw(fmt.Sprintf(format, name), false)
	}
}

func (c coverage) history(h *History) {
	indexed := h.checker()
	c.Seen["history"]++
	c.Seen["record"] += len(h.Plan.Messages)
	if n := len(h.Events); n > 0 {
		c.Seen["virtual second"] += int(h.Events[n-1].At.Sub(h.Began) / time.Second)
	}
	c.Saw("poll: history", h.Plan.Polls())
	c.plan(h.Plan)
	for _, g := range h.Handlings {
		c.Seen["handler: "+string(g.End)]++
		if acts := h.Plan.message(g.Number).Acts; g.Attempt >= 1 && g.Attempt <= len(acts) {
			a := acts[g.Attempt-1]
			c.Seen["verb: "+string(a.Verb)]++
			c.Saw("handler: ignores its deadline", a.Takes > 0 && !a.Heeds && g.Ended.At.After(g.Allowed))
		}
	}
	mode := ""
	if h.Plan.Polls() {
		mode = "poll "
	}
	for kind, n := range h.Struck {
		c.Seen[mode+"fault: "+kind] += n
	}
	for _, e := range h.Events {
		c.Saw("SQS: gives up on a message", e.Kind == sqs.Redriven)
	}
	for _, i := range h.Invocations {
		c.invocation(i)
	}
	for _, p := range h.Processes {
		c.process(p)
	}
	c.Saw("lambda: 64 invocations of one process at a time", h.together() >= atATime)
	c.aborts(indexed)
	c.states(indexed)
	c.keys(indexed, mode)
	for _, d := range h.Dead {
		c.Seen["message in a dead-letter queue"]++
		c.Saw("message in a dead-letter queue: with its origin", d.Origin != "")
	}
	c.Saw("faults and failures: until they are healed", h.Healed.Came())
}

// plan counts the fields that queues, functions and replicas have, and what plans draw most.
func (c coverage) plan(p Plan) {
	for _, q := range p.Queues {
		kind := "queue: standard"
		if q.FIFO() {
			kind = "queue: FIFO"
		}
		c.Seen[kind]++
		c.Saw(kind+" with redrive", q.MaxReceive > 0)
		c.fields("queue", q)
		c.Saw("mapping: without ReportBatchItemFailures", !q.Report && !p.Polls())
	}
	for _, f := range p.Functions {
		c.fields("config", f)
		c.Saw("config: several invocations in one environment", f.PerEnvironment > 1)
		c.Seen["config: Backoff "+f.Backoff]++
		c.Seen["config: OnPermanent "+f.OnPermanent]++
	}
	for i, r := range p.Replicas {
		c.fields("poll config", r)
		c.Saw("poll: replicas share a queue", slices.ContainsFunc(p.Replicas[:i], func(other Replica) bool { return other.Queue == r.Queue }))
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

// fields counts the fields of a struct that are set.
func (c coverage) fields(of string, v any) {
	value := reflect.ValueOf(v)
	for i := range value.NumField() {
		c.Saw(of+": "+value.Type().Field(i).Name, !value.Field(i).IsZero())
	}
}

func (c coverage) invocation(i *Invocation) {
	c.Seen["invocation"]++
	if i.Killed.Came() {
		c.Seen["killed: "+string(i.How)]++
	}
	c.Saw("invocation: answers with an error", i.Err != nil)
	if len(i.Records) > 0 && i.heldTwice(i.Records[0].MessageID) {
		c.Seen["message twice in one batch"]++
	}
	for _, o := range i.Results {
		c.Seen["outcome: "+o.Outcome.String()]++
		c.Saw("visibility: is set", !o.Outcome.Done() && o.VisibilitySet)
		c.Saw("visibility: is not set", !o.Outcome.Done() && !o.VisibilitySet)
		c.Saw("visibility: is cut to what SQS takes", o.VisibilitySet && o.VisibleIn.Hours() > 11)
	}
	for _, call := range i.Calls {
		c.call("", call)
	}
}

// call counts a call of a mode.
func (c coverage) call(mode string, call *Call) {
	if call.Err == "" && call.Ended.Came() {
		c.Seen[mode+"call: "+call.Operation]++
	} else {
		c.Seen[mode+"call that fails: "+call.Operation]++
	}
}

// process counts what happened to a process.
func (c coverage) process(p *Process) {
	c.Seen["poll: process"]++
	dies, abandoned := p.Killed.Came(), errors.Is(p.Err, longpoll.ErrAbandoned)
	unusable := errors.As(p.Err, new(*longpoll.ConfigError))
	c.Saw("poll: process dies", dies)
	c.Saw("poll: process ends with too many abandoned", !dies && abandoned)
	c.Saw("poll: process ends since the queue cannot be used", !dies && unusable)
	if !dies && !abandoned && !unusable {
		c.Seen["poll: process ends by "+string(p.How)]++
	}
	c.Saw("poll: process is paused", len(p.Paused) > 0)
	busy := false
	for _, g := range p.handlings {
		c.Saw("poll: handler is cut off by a stop", g.Canceled.Came() && p.Stopping.Before(g.Canceled))
		busy = busy || g.Started.Before(p.Stopping) && p.Stopping.Before(g.Ended)
	}
	c.Saw("poll: stop waits for a handler", busy)
	for _, o := range p.Results {
		c.Seen["poll outcome: "+o.Outcome.String()]++
	}
	held := map[string]bool{}
	for _, call := range p.Calls {
		c.Saw("poll: process dies in a call that settles", dies && !call.Ended.Came() && call.Operation != "ReceiveMessage")
		c.pollCall(call, held)
		// A heartbeat extends the visibility of a record that is handled.
		if call.Broken != "" && call.Operation == "ChangeMessageVisibilityBatch" && slices.ContainsFunc(p.handlings, func(g *Handling) bool {
			return g.Started.Before(call.Began) && !g.Ended.Before(call.Began) &&
				slices.ContainsFunc(call.Entries, func(e Entry) bool { return e.Receipt == g.Receipt })
		}) {
			c.Seen["poll fault: "+string(call.Broken)+" of a heartbeat"]++
		}
	}
}

func (c coverage) pollCall(call *Call, held map[string]bool) {
	c.call("poll ", call)
	for _, e := range call.Entries {
		if call.Operation != "ChangeMessageVisibilityBatch" || !e.OK {
			continue
		}
		c.Saw("poll: record is released", e.Seconds == 0)
		c.Saw("poll: record is extended again", e.Seconds > 0 && held[e.Receipt])
		held[e.Receipt] = true
	}
	c.Saw("poll: receive is full", len(call.Got) == call.Most && call.Most == 10)
	c.Saw("poll: receive is given up", call.GivenUp && call.Operation == "ReceiveMessage")
}

// aborts counts what was tried of batch.Abort.
func (c coverage) aborts(h *checker) {
	for _, g := range h.handlings {
		after, aborts := g.abortsFor()
		d := g.delivery
		if !aborts {
			continue
		}
		c.Saw("abort: FIFO", d.queue.FIFO())
		c.Saw("abort: standard", !d.queue.FIFO())
		c.Saw("abort: for no time", after == 0)
		c.Saw("abort: for longer than the visibility", after > d.received.Visibility)
		c.Saw("abort: for longer than SQS hides", after > longest)
		c.Saw("abort: at the last delivery of a group's head", d.story.failsLast(g))
	}
	for _, i := range h.Invocations {
		c.Saw("abort: several in one batch", len(h.abortsIn(i)) > 1)
		for _, o := range i.Results {
			c.Saw("abort: something was not started", o.Aborted)
			c.Saw("abort: something was not started of a FIFO queue", o.Aborted && isFIFO(i.Queue))
		}
	}
	for _, p := range h.Processes {
		for k, a := range h.delaysOf(p) {
			c.Saw("abort while polling: it must have an effect", a.sure)
			c.Saw("abort while polling: another before it is over", k > 0 && a.from.At.Before(h.delaysOf(p)[k-1].until))
			c.Saw("abort while polling: a stop", p.Stopping.Came() && p.Stopping.At.After(a.from.At) && p.Stopping.At.Before(a.until))
		}
		for _, o := range p.Results {
			c.Saw("abort while polling: something of a group was not started", o.Aborted)
		}
	}
}

// keys counts what was tried of package idempotency.
func (c coverage) keys(h *checker, mode string) {
	is := func(what string, is bool) { c.Saw(mode+"idempotency: "+what, is) }
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
			c.Seen[mode+"store fault: "+string(call.Struck)+" of "+call.Operation]++
		}
		is("completion by one who lost the claim", call.Operation == "Complete" && call.Refusal != nil)
		is("claim is renewed", call.Operation == "Renew" && call.Done.Came() && call.Refusal == nil)
		if call.Operation == "Claim" && call.State == idempotency.InProgress {
			claims[call.Receipt]++
			is("record waits at its last attempt", claims[call.Receipt] == 2)
		}
	}
}
