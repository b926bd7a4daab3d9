package main

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/sqs/types"

	"github.com/sqsbatch/sqsbatch/partialfailure"
)

// What the runs select, and how they edit it.
const (
	where = `(.body | type) == "object" and .body.customer < 3`
	edit  = `.body.fixed = true | .attributes.edited = "yes"`
)

// groupSize is how many messages a group of a FIFO queue has.
const groupSize = 10

// A letter is a message of the plan. Everything in it follows from its number, so that the
// judge makes it once more. What else a message can have is up to the tests of the tool.
type letter struct {
	n        int
	body     string
	group    string // "" in standard queues
	customer int
	// moved says that SQS moves it to the dead-letter queue, which knows its source then.
	// Else it is sent there with the attribute of sqsbatch, which names the source.
	moved bool
}

func newLetter(n int, fifo bool) letter {
	l := letter{n: n, customer: n % 5, moved: n%2 == 0}
	if fifo {
		g := n / groupSize
		l.group, l.moved = fmt.Sprint("g", g), g%2 == 0
		switch {
		case g%5 == 0: // none of it is selected
			l.customer = 4
		case g%5 == 1 && n%groupSize == 4: // the first four are selected, and those behind
			l.customer = 3
		default:
			l.customer = 1
		}
	}
	size := n % 300
	if n%1000 == 3 {
		size = 200 << 10
	}
	l.body = fmt.Sprintf(`{"n":%d,"customer":%d,"text":"%s"}`, n, l.customer, strings.Repeat("x", size))
	return l
}

// source is the queue that it came from.
func (l *letter) source(s *scene) string {
	if l.moved {
		return s.orders
	}
	return s.returns
}

// attributes are those of the letter, with the attribute of sqsbatch unless SQS moves it.
func (l *letter) attributes(s *scene) map[string]types.MessageAttributeValue {
	text := func(value string) types.MessageAttributeValue {
		return types.MessageAttributeValue{DataType: aws.String("String"), StringValue: &value}
	}
	all := map[string]types.MessageAttributeValue{"number": text(fmt.Sprint(l.n))}
	if !l.moved {
		failed := time.Date(2026, 11, 23, 21, 0, l.n%60, 0, time.UTC)
		origin, _ := partialfailure.Origin{
			Reason: fmt.Sprintf("no such customer: %d", l.customer), MessageID: fmt.Sprintf("7e5c0a3f-0000-4000-8000-%012d", l.n),
			Attempts: 3, FirstReceived: failed.Add(-time.Minute), FailedAt: failed, Queue: arn(l.source(s)), By: "deadletters",
		}.Value(4096)
		all["sqsbatch"] = text(origin)
	}
	return all
}

// selected reports whether where is true for it.
func (l *letter) selected() bool { return l.customer < 3 }

// difference says what of a message is not as it should be: at its destination it is edited, and has
// no attribute of sqsbatch.
func (l *letter) difference(m *types.Message, s *scene, edited bool) string {
	body, want := l.body, l.attributes(s)
	if edited {
		body = strings.TrimSuffix(l.body, "}") + `,"fixed":true}`
		delete(want, "sqsbatch")
		want["edited"] = types.MessageAttributeValue{DataType: aws.String("String"), StringValue: aws.String("yes")}
	}
	if got := aws.ToString(m.Body); got != body {
		return fmt.Sprintf("body %.100q, want %.100q", got, body)
	}
	for name, w := range want {
		if g := m.MessageAttributes[name]; aws.ToString(g.StringValue) != *w.StringValue {
			return fmt.Sprintf("attribute %s is not as it should be", name)
		}
	}
	if len(m.MessageAttributes) != len(want) || m.Attributes["MessageGroupId"] != l.group {
		return fmt.Sprintf("%d attributes, want %d; group %q, want %q", len(m.MessageAttributes), len(want), m.Attributes["MessageGroupId"], l.group)
	}
	return ""
}

// expected lists the letters that are to be moved: the selected ones; in FIFO queues those
// before the first of their group that is not selected.
func expected(messages int, fifo bool) []bool {
	move := make([]bool, messages)
	for n := range move {
		l := newLetter(n, fifo)
		move[n] = l.selected() && !(fifo && slices.Contains(move[n-n%groupSize:n], false))
	}
	return move
}
