package clients

import (
	"fmt"
	"strings"
)

// maxReceives is the queues' maxReceiveCount.
const maxReceives = 3

// note is a message attribute of every message, the other one is its number.
const note = "größe ✓, 100 %"

// A task is a message, whose body says what the handler does: "7 g1 1 0" is task 7
// of group g1 ("-": none), which fails once, and takes no time.
type task struct {
	n      int
	group  string
	fails  int // how often: with maxReceives and more it becomes a dead letter
	millis int // how long the handler takes
}

func (t task) String() string { return fmt.Sprintf("%d %s %d %d", t.n, t.group, t.fails, t.millis) }

// handled is how often the handler must see it.
func (t task) handled() int { return min(t.fails+1, maxReceives) }

func (t task) dead() bool { return t.fails >= maxReceives }

// A plan is what a consumer is given by one queue. The last task is sent when
// all others are done, and the consumer is stopped during it.
type plan struct {
	queue string
	tasks []task
	last  task
}

func (p plan) all() []task { return append(p.tasks[:len(p.tasks):len(p.tasks)], p.last) }

// lines are the bodies of tasks, one a line, and an empty line.
func lines(tasks ...task) string {
	var s strings.Builder
	for _, t := range tasks {
		fmt.Fprintln(&s, t)
	}
	return s.String() + "\n"
}

// standard is 60 messages; twelve fail once, three of the others each time.
func standard() plan {
	p := plan{queue: "orders"}
	for n := range 60 {
		t := task{n: n, group: "-"}
		switch {
		case n%5 == 0:
			t.fails = 1
		case n%20 == 19:
			t.fails = maxReceives
		}
		p.tasks = append(p.tasks, t)
	}
	p.last = task{n: 60, group: "-", millis: 1500}
	return p
}

// fifo is four groups of six that are sent by turns, whose second message fails
// once, and a group of one message that fails each time.
func fifo() plan {
	p := plan{queue: "orders.fifo"}
	for n := range 24 {
		t := task{n: n, group: fmt.Sprint("g", n%4)}
		if n/4 == 1 {
			t.fails = 1
		}
		p.tasks = append(p.tasks, t)
	}
	p.tasks = append(p.tasks, task{n: 24, group: "dead", fails: maxReceives})
	p.last = task{n: 25, group: "g0", millis: 1500}
	return p
}
