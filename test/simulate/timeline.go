package simulate

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/sqsbatch/sqsbatch/emulator/sqs"
)

// Timeline tells a history, a line for each moment, most of them at most: those around a time,
// three quarters of them before it. Records have the numbers of the plan's messages.
func (h *History) Timeline(around time.Time, most int) string {
	t := timeline{}
	t.at(h.Healed, "faults end, and handlers succeed from now on")
	for _, e := range h.Events {
		t.at(e.Moment, "SQS     %s", eventText(e))
	}
	for _, g := range h.Handlings {
		who := worker(g.Process, g.Invocation)
		t.at(g.Started, "%s handler starts record %d, attempt %d", who, g.Number, g.Attempt)
		t.at(g.Canceled, "%s context of record %d ends, and its handler still runs", who, g.Number)
		t.at(g.Ended, "%s handler of record %d ends: %s%s", who, g.Number, g.End, because(g.Err))
	}
	for _, k := range h.Tasks {
		t.at(k.Started, "%s guard lets record %d work on key %s", worker(k.Process, k.Invocation), k.Number, k.Key)
		t.at(k.Ended, "%s work of record %d on key %s ends: %s", worker(k.Process, k.Invocation), k.Number, k.Key, k.End)
	}
	for _, c := range h.StoreCalls {
		t.at(c.Began, "store   %s of key %s for %s%s", c.Operation, c.Key, c.Receipt, struck(string(c.Struck)))
		t.at(c.Ended, "store   %s of key %s for %s is answered: %v%s", c.Operation, c.Key, c.Receipt, c.State, because(c.Err))
	}
	for _, i := range h.Invocations {
		who := worker(nil, i)
		var records []string
		for _, r := range i.Records {
			records = append(records, r.ReceiptHandle)
		}
		t.at(i.Began, "%s begins in environment %d, with %s", who, i.Environment, strings.Join(records, ", "))
		t.at(i.Answered, "%s answers %s%s", who, i.Response, because(i.Err))
		t.at(i.Ended, "Lambda  has settled what invocation %d answered", i.Number)
		t.end(&i.Work, who, i.How)
	}
	for _, p := range h.Processes {
		who := worker(p, nil)
		t.at(p.Began, "%s starts, of replica %d, for queue %s", who, p.Replica, p.Queue)
		t.at(p.Stopping, "%s is asked to stop: %s", who, p.How)
		t.at(p.Returned, "%s has stopped%s", who, because(p.Err))
		for _, pause := range p.Paused {
			t.at(pause.From, "%s is paused", who)
			t.at(pause.Until, "%s is resumed", who)
		}
		t.end(&p.Work, who, Crash)
	}
	slices.SortStableFunc(t.lines, func(a, b line) int { return cmp.Compare(a.Seq, b.Seq) })
	at := 0
	for at < len(t.lines) && !t.lines[at].At.After(around) {
		at++
	}
	to := min(at+most/4, len(t.lines))
	from := max(to-most, 0)
	to = min(from+most, len(t.lines))
	names := h.names()
	var b strings.Builder
	fmt.Fprintf(&b, "            … %d lines before\n", from)
	for _, l := range t.lines[from:to] {
		fmt.Fprintf(&b, "%11s %s\n", since(h.Began, l.At), names.Replace(l.text))
	}
	fmt.Fprintf(&b, "            … %d lines after\n", len(t.lines)-to)
	return b.String()
}

// since is a time of a history, to the microsecond.
func since(began, at time.Time) string { return at.Sub(began).Round(time.Microsecond).String() }

// worker names a process or an invocation.
func worker(p *Process, i *Invocation) string {
	if p != nil {
		return fmt.Sprintf("process %d:", p.Number)
	}
	return fmt.Sprintf("invocation %d:", i.Number)
}

func because(err error) string {
	if err == nil {
		return ""
	}
	return " (" + text(err) + ")"
}

func struck(by string) string {
	if by == "" {
		return ""
	}
	return ", struck by " + by
}

// eventText says what happened to a message in SQS.
func eventText(e Event) string {
	switch e.Kind {
	case sqs.Sent:
		return fmt.Sprintf("has %s in %s", e.Body, e.Queue)
	case sqs.Received:
		return fmt.Sprintf("delivers %s of %s, receive %d, hidden for %v", e.Body, e.Queue, e.ReceiveCount, e.Visibility)
	case sqs.Deleted:
		return fmt.Sprintf("deletes %s of %s", e.Body, e.Queue)
	case sqs.Redriven:
		return fmt.Sprintf("moves %s of %s to its dead-letter queue", e.Body, e.Queue)
	}
	return fmt.Sprintf("%s of %s of %s: %v", e.Kind, e.Body, e.Queue, e.Visibility)
}

// names has numbers in place of the bodies, ids and receipt handles of messages.
func (h *History) names() *strings.Replacer {
	numbers := map[string]int{}
	for _, m := range h.Plan.Messages {
		numbers[m.body()] = m.Number
	}
	var pairs []string
	for _, e := range h.Events {
		for _, of := range []string{e.Body, e.MessageID, e.ReceiptHandle} {
			if of != "" {
				pairs = append(pairs, of, fmt.Sprint("record ", numbers[e.Body]))
			}
		}
	}
	return strings.NewReplacer(pairs...)
}

type timeline struct{ lines []line }

type line struct {
	Moment
	text string
}

// at adds a line for a moment, if it came.
func (t *timeline) at(m Moment, format string, args ...any) {
	if m.Came() {
		t.lines = append(t.lines, line{m, fmt.Sprintf(format, args...)})
	}
}

// end adds the death, the calls and the outcomes of a process or an invocation.
func (t *timeline) end(w *Work, who string, how Ending) {
	t.at(w.Killed, "%s dies: %s", who, how)
	for _, c := range w.Calls {
		about := c.Queue
		for _, e := range c.Entries {
			about += ", " + cmp.Or(e.Body, e.Receipt)
			if c.Operation == "ChangeMessageVisibilityBatch" {
				about += fmt.Sprintf(" for %d s", e.Seconds)
			}
		}
		t.at(c.Began, "%s calls %s of %s%s", who, c.Operation, about, struck(string(c.Broken)))
		answer := cmp.Or(c.Err, "ok")
		for _, receipt := range c.Got {
			answer += ", " + receipt
		}
		for _, e := range c.Entries {
			if e.Code != "" {
				answer += fmt.Sprintf(", %s: %s", cmp.Or(e.Body, e.Receipt), e.Code)
			}
		}
		t.at(c.Ended, "%s %s is answered: %s", who, c.Operation, answer)
	}
	for _, o := range w.Results {
		t.at(o.Settled, "%s reports %s of %s", who, o.Outcome, o.Receipt)
	}
}
