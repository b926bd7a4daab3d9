package simulate

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/sqsbatch/sqsbatch/emulator/sqs"
)

// Timeline prints a history, a line for each thing that happened, most of them at most:
// those around a time, three quarters of them before it.
func (h *History) Timeline(around time.Time, most int) string {
	t := timeline{numbers: map[string]int{}}
	for _, m := range h.Plan.Messages {
		t.numbers[m.body()] = m.Number
	}
	for _, e := range h.Events {
		t.event(e)
	}
	for _, g := range h.Handlings {
		t.add(g.Started, "  handler   message %d starts, attempt %d", g.Number, g.Attempt)
		text := ""
		if g.Err != nil && g.End != ForGood {
			text = ": " + g.text()
		}
		t.add(g.Ended, "  handler   message %d %s%s", g.Number, g.End, text)
		t.add(g.Canceled, "  handler   message %d: its context ends", g.Number)
	}
	for _, k := range h.Tasks {
		t.add(k.Started, "    work    message %d: its work begins, key %s", k.Number, k.Key)
		t.add(k.Canceled, "    work    message %d: its context ends", k.Number)
		t.add(k.Ended, "    work    message %d %s", k.Number, k.End)
	}
	for _, call := range h.StoreCalls {
		t.stored(call)
	}
	for _, i := range h.Invocations {
		t.invocation(i)
	}
	for _, p := range h.Processes {
		t.process(p)
	}
	t.add(h.Healed, "healed      faults end, handlers succeed")
	slices.SortStableFunc(t.lines, func(a, b line) int { return cmp.Compare(a.Seq, b.Seq) })
	at := 0
	for at < len(t.lines) && !t.lines[at].At.After(around) {
		at++
	}
	to := min(at+most/4, len(t.lines))
	from := max(to-most, 0)
	to = min(from+most, len(t.lines))
	var b strings.Builder
	fmt.Fprintf(&b, "            … %d lines before\n", from)
	for _, l := range t.lines[from:to] {
		fmt.Fprintf(&b, "%11s %s\n", since(h.Began, l.At), l.text)
	}
	fmt.Fprintf(&b, "            … %d lines after\n", len(t.lines)-to)
	return b.String()
}

// since is a time of a history, to the microsecond.
func since(began, at time.Time) string { return at.Sub(began).Round(time.Microsecond).String() }

func (g *Handling) text() (text string) {
	defer func() {
		if recover() != nil {
			text = "(a nil pointer)"
		}
	}()
	return g.Err.Error()
}

type timeline struct {
	numbers map[string]int // of messages, by their bodies, ids and receipt handles
	lines   []line
}

type line struct {
	Moment
	text string
}

func (t *timeline) add(at Moment, format string, args ...any) {
	if at.Came() {
		t.lines = append(t.lines, line{at, fmt.Sprintf(format, args...)})
	}
}

func (t *timeline) event(e Event) {
	if n, known := t.numbers[e.Body]; known {
		t.numbers[e.MessageID] = n
		t.numbers[cmp.Or(e.ReceiptHandle, e.MessageID)] = n
	}
	more := ""
	switch e.Kind {
	case sqs.Received:
		more = fmt.Sprintf(", receive %d, hidden for %v", e.ReceiveCount, e.Visibility)
	case sqs.Visibility:
		more = fmt.Sprintf(", hidden for %v", e.Visibility)
	case sqs.Redriven:
		more = " to " + e.DeadLetterQueue
	case sqs.Sent:
		if e.MessageGroupID != "" {
			more = ", group " + e.MessageGroupID
		}
	}
	t.add(e.Moment, "%-11s %s, %s%s", e.Kind, t.name(e.MessageID), e.Queue, more)
}

func (t *timeline) stored(call *StoreCall) {
	t.add(call.Began, "    store   %s of %s for %s (%.4s, %v) %s", call.Operation, call.Key, t.name(call.Receipt), call.Owner, call.Lease, call.Struck)
	t.add(call.Done, "    store   %s of %s by %.4s is done: %v %v", call.Operation, call.Key, call.Owner, call.State, call.Refusal)
	if call.Err != nil {
		t.add(call.Ended, "    store   %s of %s by %.4s fails: %v", call.Operation, call.Key, call.Owner, call.Err)
	}
}

func (t *timeline) invocation(i *Invocation) {
	var records []string
	for _, r := range i.Records {
		records = append(records, fmt.Sprint(t.numbers[r.MessageID]))
	}
	t.add(i.Began, "invocation  %d begins: messages %s of %s", i.Number, strings.Join(records, ", "), i.Queue)
	answer := fmt.Sprintf("error %v", i.Err)
	if i.Err == nil {
		answer = t.named(string(i.Response))
	}
	t.add(i.Answered, "invocation  %d answers %s", i.Number, answer)
	t.add(i.Killed, "invocation  %d dies: %s", i.Number, i.How)
	ended := "its messages are settled"
	if why := i.Result.AllFailed; why != "" {
		ended = "all its messages are left: " + why
	}
	t.add(i.Ended, "invocation  %d is over, %s", i.Number, ended)
	t.calls(i.Calls)
}

func (t *timeline) process(p *Process) {
	t.add(p.Began, "process     %d of replica %d begins, %s", p.Number, p.Replica, p.Queue)
	t.add(p.Stopping, "process     %d is asked to stop: %s", p.Number, p.How)
	t.add(p.Killed, "process     %d dies", p.Number)
	t.add(p.Returned, "process     %d has stopped: %v", p.Number, p.Err)
	for _, pause := range p.Paused {
		t.add(pause.From, "process     %d is paused", p.Number)
		t.add(pause.Until, "process     %d is resumed", p.Number)
	}
	t.calls(p.Calls)
}

func (t *timeline) calls(list []*Call) {
	for _, call := range list {
		var entries []string
		for _, e := range call.Entries {
			entry := t.name(cmp.Or(e.Receipt, e.Body))
			if call.Operation == "ChangeMessageVisibilityBatch" {
				entry += fmt.Sprintf(" %ds", e.Seconds)
			}
			switch {
			case e.Code != "":
				entry += " " + e.Code
			case !e.OK && call.Ended.Came() && call.Err == "":
				entry += " no result"
			}
			entries = append(entries, entry)
		}
		if call.Operation == "ReceiveMessage" {
			entries = []string{fmt.Sprintf("%d in %v", call.Most, call.Wait)}
			t.add(call.Ended, "  answer    ReceiveMessage: %d messages", len(call.Got))
		}
		t.add(call.Began, "  calls     %s of %s (%s)", call.Operation, call.Queue, strings.Join(entries, ", "))
		if call.Err != "" {
			t.add(call.Ended, "  answer    %s: %s", call.Operation, call.Err)
		}
	}
}

// name says which message a body, an id or a receipt handle is of.
func (t *timeline) name(of string) string {
	if n, known := t.numbers[of]; known {
		return fmt.Sprintf("message %d", n)
	}
	return "an unknown message"
}

// named has numbers in place of message ids.
func (t *timeline) named(text string) string {
	for id, n := range t.numbers {
		text = strings.ReplaceAll(text, id, fmt.Sprintf("message %d", n))
	}
	return text
}
