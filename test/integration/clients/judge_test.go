package clients

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"
)

var small = plan{
	tasks: []task{{n: 0, group: "g"}, {n: 1, group: "g", fails: 1}, {n: 2, group: "g"}, {n: 3, group: "-", fails: maxReceives}},
	last:  task{n: 4, group: "g"},
}

// right is what a good consumer prints for the small plan.
func right() []entry {
	var out []entry
	for _, t := range small.all() {
		for time := range t.handled() {
			e := entry{what: "started", n: t.n, receives: time + 1, group: t.group, number: strconv.Itoa(t.n), note: note}
			out = append(out, e)
			if e.what = "failed"; time == t.fails {
				e.what = "done"
			}
			out = append(out, e)
		}
	}
	return out
}

func TestJudge(t *testing.T) {
	for _, c := range []struct {
		name   string
		change func(e []entry) []entry
		skips  bool
		says   string // "" for nothing wrong
	}{
		{name: "all as planned"},
		{name: "a task is lost", change: func(e []entry) []entry { return e[2:] }, says: "task 0 was handled 0 times, expected 1"},
		{name: "a task is handled again", change: func(e []entry) []entry { return append(e, e[len(e)-2:]...) }, says: "task 4 was handled 2 times, expected 1"},
		{name: "a dead letter is not tried each time", change: func(e []entry) []entry { return slices.Delete(e, 10, 12) }, says: "task 3 was handled 2 times, expected 3"},
		{name: "a group is out of order", change: func(e []entry) []entry {
			e[0], e[1], e[2], e[3] = e[2], e[3], e[0], e[1]
			return e
		}, says: "group g"},
		{name: "two of a group are handled at once", change: func(e []entry) []entry {
			e[1], e[2] = e[2], e[1]
			return e
		}, says: "group g"},
		{name: "a failure is passed over", change: func(e []entry) []entry {
			e[4], e[5], e[6], e[7] = e[6], e[7], e[4], e[5]
			return e
		}, says: "group g"},
		{name: "an attribute is damaged", change: func(e []entry) []entry {
			e[0].note = "gr??e"
			return e
		}, says: `note "gr??e"`},
		{name: "the receive count is wrong", change: func(e []entry) []entry {
			e[1].receives = 2
			return e
		}, says: "task 0 was handled 1 times, and came with receive count 2"},
		{name: "the rest of a group is received again", change: func(e []entry) []entry {
			e[7].receives = 2
			return e
		}, skips: true},
		{name: "what fails is done", change: func(e []entry) []entry {
			e[3].what = "done"
			return e
		}, says: "time 1 of task 1, which fails 1 times: done"},
		{name: "a task that was not sent", change: func(e []entry) []entry { return append(e, entry{what: "done", n: 9, group: "-"}) }, says: "done 9, which was not sent"},
	} {
		t.Run(c.name, func(t *testing.T) {
			entries := right()
			if c.change != nil {
				entries = c.change(entries)
			}
			got := fmt.Sprint(judge(small, entries, c.skips))
			if c.says == "" {
				c.says = "<nil>"
			}
			if !strings.Contains(got, c.says) {
				t.Errorf("expected %q, came %q", c.says, got)
			}
		})
	}
}

func TestLedger(t *testing.T) {
	book := newLedger(small)
	for _, part := range []string{"sent\nstarted\t4\t1\tg", "\t4\tn\nnoise\n", "done\tx\t1\tg\t4\tn\n"} {
		if n, err := book.Write([]byte(part)); n != len(part) || err != nil {
			t.Error(n, err)
		}
	}
	<-book.sent
	<-book.started
	if want := []entry{{"started", 4, 1, "g", "4", "n"}}; !slices.Equal(book.entries, want) {
		t.Errorf("entries %v", book.entries)
	}
	if len(book.wrong) != 2 {
		t.Errorf("wrong: %v", book.wrong)
	}
}
