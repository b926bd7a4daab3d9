package clients

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// An entry is a line of a consumer's handler, with tabs between: started, done or
// failed, the task's number, receive count, group ("-": none), attributes.
type entry struct {
	what     string
	n        int
	receives int
	group    string
	number   string
	note     string
}

func parse(line string) (entry, error) {
	fields := strings.Split(line, "\t")
	if len(fields) != 6 || !slices.Contains([]string{"started", "done", "failed"}, fields[0]) {
		return entry{}, fmt.Errorf("not a line of a handler: %q", line)
	}
	n, err1 := strconv.Atoi(fields[1])
	receives, err2 := strconv.Atoi(fields[2])
	return entry{fields[0], n, receives, fields[3], fields[4], fields[5]}, errors.Join(err1, err2)
}

// A ledger keeps what a consumer prints.
type ledger struct {
	last    int           // the number of the last task
	sent    chan struct{} // a value for each line that says sent
	started chan struct{} // a value when the last task starts

	entries []entry // these two are to be read when the consumer has ended
	wrong   []error
}

func newLedger(p plan) *ledger {
	return &ledger{last: p.last.n, sent: make(chan struct{}, 2), started: make(chan struct{}, 1)}
}

// line takes a line of the consumer's standard output.
func (l *ledger) line(stream, text string) {
	if stream != "stdout" {
		return
	}
	if text == "sent" {
		tell(l.sent)
		return
	}
	e, err := parse(text)
	if err != nil {
		l.wrong = append(l.wrong, err)
		return
	}
	l.entries = append(l.entries, e)
	if e.what == "started" && e.n == l.last {
		tell(l.started)
	}
}

// tell does not wait for room: judge finds a consumer that says a thing too often.
func tell(c chan<- struct{}) {
	select {
	case c <- struct{}{}:
	default:
	}
}

// judge says what is wrong with how a plan was handled. A consumer that skips the
// rest of a group when one fails receives that more often.
func judge(p plan, entries []entry, skips bool) error {
	var wrong []error
	tasks := map[int]task{}
	for _, t := range p.all() {
		tasks[t.n] = t
	}
	handled := map[int]int{}
	for _, e := range entries {
		t, ok := tasks[e.n]
		if !ok {
			wrong = append(wrong, fmt.Errorf("%s %d, which was not sent", e.what, e.n))
			continue
		}
		if e.group != t.group || e.number != strconv.Itoa(t.n) || e.note != note {
			wrong = append(wrong, fmt.Errorf("task %d came with group %q, number %q, note %q; expected %q, %d, %q",
				t.n, e.group, e.number, e.note, t.group, t.n, note))
		}
		if e.what == "started" {
			continue
		}
		handled[t.n]++
		if e.receives != handled[t.n] && (!skips || t.group == "-" || e.receives < handled[t.n]) {
			wrong = append(wrong, fmt.Errorf("task %d was handled %d times, and came with receive count %d", t.n, handled[t.n], e.receives))
		}
		if last := handled[t.n] == t.handled() && !t.dead(); last != (e.what == "done") {
			wrong = append(wrong, fmt.Errorf("time %d of task %d, which fails %d times: %s", handled[t.n], t.n, t.fails, e.what))
		}
	}
	for _, t := range p.all() {
		if handled[t.n] != t.handled() {
			wrong = append(wrong, fmt.Errorf("task %d was handled %d times, expected %d", t.n, handled[t.n], t.handled()))
		}
	}
	return errors.Join(append(wrong, inOrder(p, entries)...)...)
}

// inOrder says where a task of a group was started before earlier ones were over.
func inOrder(p plan, entries []entry) (wrong []error) {
	expected := map[string][]string{} // what handlers must print of each group
	for _, t := range p.all() {
		if t.group == "-" {
			continue
		}
		for time := range t.handled() {
			end := "failed"
			if time == t.fails {
				end = "done"
			}
			expected[t.group] = append(expected[t.group], fmt.Sprint("started ", t.n), fmt.Sprint(end, " ", t.n))
		}
	}
	came := map[string][]string{}
	for _, e := range entries {
		if e.group != "-" {
			came[e.group] = append(came[e.group], fmt.Sprint(e.what, " ", e.n))
		}
	}
	for group, want := range expected {
		if !slices.Equal(came[group], want) {
			wrong = append(wrong, fmt.Errorf("group %s:\n    expected %s\n    came     %s", group, strings.Join(want, ", "), strings.Join(came[group], ", ")))
		}
	}
	return wrong
}
