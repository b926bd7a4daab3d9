package simulate

import (
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"slices"
	"time"

	"github.com/sqsbatch/sqsbatch/emulator/sqs"
)

// Record writes a history as the recording of a run, for `sqsbatch play`. Calls that failed, and the
// violations, are its warnings.
func (h *History) Record(w io.Writer, violations ...Violation) error {
	r := recording{h: h}
	start := Moment{At: h.Began}
	r.add(start, "run", map[string]any{"Function": fmt.Sprint("seed ", h.Plan.Seed), "Lambda": !h.Plan.Polls(), "Timeout": h.timeout()})
	r.add(start, "queues", r.queues())
	for _, e := range h.Events {
		r.add(e.Moment, "message", e.Event)
		if e.Kind == sqs.Received {
			r.add(e.Moment, "call", sqs.Call{Operation: "ReceiveMessage", Queue: e.Queue})
		}
	}
	for _, i := range h.Invocations {
		ids := []string{}
		for _, record := range i.Records {
			ids = append(ids, record.MessageID)
		}
		r.add(i.Began, "started", map[string]any{"Invocation": i.Number + 1, "MessageIDs": ids})
		r.outcomes(&i.Work, "invocation", i.Killed)
		ended := map[string]any{"invocation": i.Number + 1, "records": len(ids), "durationMs": ms(i.Ended.At.Sub(i.Began.At))}
		if i.Result.Result.Error != nil {
			ended["error"] = fmt.Sprint(i.Result.Result.Error)
		}
		r.add(i.Ended, "ended", ended)
	}
	for _, p := range h.Processes {
		r.add(p.Began, "process", map[string]any{"process": p.Number + 1, "pid": p.Number + 1})
		r.outcomes(&p.Work, "process", p.Killed)
		how := "it returned"
		if p.Killed.Came() {
			how = "it was killed"
		}
		r.add(p.gone(), "process", map[string]any{"process": p.Number + 1, "ended": how})
	}
	if h.Healed.Came() {
		r.warn(h.Healed, "all faults end here")
	}
	for _, v := range violations {
		r.warn(r.last(v.At), string(v.Invariant)+": "+v.Text)
	}
	return r.write(w)
}

// A recording has lines in any order.
type recording struct {
	h     *History
	lines []recordedLine
}

type recordedLine struct {
	Moment
	kind  string
	value any
}

func (r *recording) add(m Moment, kind string, value any) {
	if m.Came() || m.At.Equal(r.h.Began) {
		r.lines = append(r.lines, recordedLine{m, kind, value})
	}
}

func (r *recording) warn(m Moment, text string) { r.add(m, "warning", map[string]any{"Text": text}) }

// last is the last moment of the recording that is not after a time.
func (r *recording) last(at time.Time) Moment {
	last := Moment{At: r.h.Began}
	for _, l := range r.lines {
		if !l.At.After(at) && l.Seq > last.Seq {
			last = l.Moment
		}
	}
	return last
}

func (r *recording) queues() (list []map[string]any) {
	for _, q := range r.h.Plan.Queues {
		attributes := map[string]string{"VisibilityTimeout": fmt.Sprint(q.Visibility.Seconds())}
		if q.MaxReceive > 0 {
			attributes["RedrivePolicy"] = fmt.Sprintf(`{"deadLetterTargetArn":"arn:aws:sqs:us-east-1:000000000000:%s","maxReceiveCount":%d}`, q.DeadLetters, q.MaxReceive)
		}
		list = append(list, map[string]any{"name": q.Name, "attributes": attributes})
	}
	for _, name := range r.h.Plan.deadLetterQueues() {
		list = append(list, map[string]any{"name": name})
	}
	return list
}

// outcomes adds the outcomes of the records of an invocation or of a process, and its calls that failed.
func (r *recording) outcomes(w *Work, of string, killed Moment) {
	handlings := map[string]*Handling{}
	for _, h := range r.h.Handlings {
		if h.work() == w {
			handlings[h.Receipt] = h
		}
	}
	record := func(m Moment, id, receipt string, attempt int, outcome string) map[string]any {
		value := map[string]any{of: w.Number + 1, "messageId": id, "attempt": attempt, "outcome": outcome}
		if h := handlings[receipt]; h != nil {
			value["durationMs"], value["allowedMs"] = ms(earliest(h.Ended, m).At.Sub(h.Started.At)), ms(h.Allowed.Sub(h.Started.At))
			if h.Err != nil {
				value["reason"] = fmt.Sprint(h.Err) // its Error may panic
			}
			delete(handlings, receipt)
		}
		return value
	}
	for _, o := range w.Results {
		value := record(o.Settled, o.MessageID, o.Receipt, o.Attempt, o.Outcome.String())
		if o.VisibilitySet {
			value["visibleInMs"] = ms(o.VisibleIn)
		}
		r.add(o.Settled, "record", value)
	}
	if killed.Came() {
		for _, receipt := range slices.Sorted(maps.Keys(handlings)) {
			h := handlings[receipt]
			value := record(killed, h.MessageID, receipt, h.Attempt, "cut-off")
			value["reason"] = "the process was killed"
			r.add(killed, "record", value)
		}
	}
	for _, c := range w.Calls {
		if c.Err != "" {
			r.warn(earliest(c.Ended, killed), fmt.Sprintf("%s %d: %s of %s: %s", of, w.Number+1, c.Operation, c.Queue, c.Err))
		}
	}
}

// timeout is the longest that an invocation may take.
func (h *History) timeout() (longest time.Duration) {
	for _, i := range h.Invocations {
		longest = max(longest, i.Deadline.Sub(i.Began.At))
	}
	return longest
}

func (r *recording) write(w io.Writer) error {
	slices.SortStableFunc(r.lines, func(a, b recordedLine) int { return cmp.Compare(a.Seq, b.Seq) })
	lines := json.NewEncoder(w)
	for _, l := range r.lines {
		if err := lines.Encode(map[string]any{"at": l.At, "kind": l.kind, "value": l.value}); err != nil {
			return err
		}
	}
	return nil
}

func ms(d time.Duration) float64 { return float64(d) / float64(time.Millisecond) }
