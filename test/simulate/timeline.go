package simulate

import (
	"cmp"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"time"
)

// Timeline prints a history, a line for each moment of what is in it, most of them at most:
// those around a time, three quarters of them before it.
func (h *History) Timeline(around time.Time, most int) string {
	t := timeline{}
	value := reflect.ValueOf(*h)
	for i := range value.NumField() {
		name, part := value.Type().Field(i).Name, value.Field(i)
		switch {
		case name == "Healed" && h.Healed.Came():
			t.lines = append(t.lines, line{h.Healed, "healed: faults end, handlers succeed"})
		case part.Kind() == reflect.Slice && name != "Dead" && name != "Panicked":
			for k := range part.Len() {
				of := reflect.Indirect(part.Index(k))
				t.add(strings.ToLower(of.Type().Name()), of)
			}
		}
	}
	for _, w := range h.works() {
		for _, call := range w.Calls {
			t.add("call", reflect.ValueOf(*call))
		}
	}
	for _, p := range h.Processes {
		for _, pause := range p.Paused {
			t.add(fmt.Sprintf("process %d paused", p.Number), reflect.ValueOf(*pause))
		}
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
				pairs = append(pairs, of, fmt.Sprint("message ", numbers[e.Body]))
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

// obvious are fields that other fields or other lines have.
const obvious = "QueueURL MessageID DeduplicationID SequenceNumber Seq ID Owner"

// add has a line for each moment of a part of the history, with its other fields.
func (t *timeline) add(kind string, part reflect.Value) {
	var moments []line
	text := ""
	for _, f := range reflect.VisibleFields(part.Type()) {
		v, err := part.FieldByIndexErr(f.Index)
		if err != nil || !f.IsExported() || v.IsZero() || slices.Contains(strings.Fields(obvious), f.Name) {
			continue
		}
		switch of := v.Interface().(type) {
		case Moment:
			moments = append(moments, line{of, f.Name})
		case []byte:
			text += fmt.Sprintf(" %s=%s", f.Name, of)
		case []Entry, []string, error:
			text += fmt.Sprintf(" %s=%v", f.Name, of)
		default:
			if k := v.Kind(); k < reflect.Array || k == reflect.String {
				text += fmt.Sprintf(" %s=%v", f.Name, of)
			}
		}
	}
	for _, m := range moments {
		what := strings.ToLower(m.text)
		if e, is := part.Interface().(Event); is {
			what = string(e.Kind)
		}
		t.lines = append(t.lines, line{m.Moment, kind + " " + what + ":" + text})
	}
}
