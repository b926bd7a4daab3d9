package main

import (
	"bytes"
	"fmt"
	"maps"
	"math/rand/v2"
	"regexp"
	"slices"
	"strconv"
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
// judge makes it once more.
type letter struct {
	n          int
	body       string
	attributes map[string]types.MessageAttributeValue // without that of sqsbatch
	trace      string
	group      string // "" in standard queues
	customer   int
	text       bool // the body is no JSON
	// moved says that SQS moves it to the dead-letter queue, which knows its source then.
	// Else it is sent there with the attribute of sqsbatch, which names the source.
	moved bool
}

func newLetter(n int, fifo bool) letter {
	random := rand.New(rand.NewPCG(uint64(n), 1))
	l := letter{n: n, customer: n % 5, moved: n%2 == 0, text: n%10 == 7}
	if fifo {
		g := n / groupSize
		l.group, l.moved, l.text = fmt.Sprint("g", g), g%2 == 0, false
		switch {
		case g%5 == 0: // none of it is selected
			l.customer = 4
		case g%5 == 1 && n%groupSize == 4: // the first four are selected, and those behind
			l.customer = 3
		default:
			l.customer = 1
		}
	}
	size := random.IntN(300)
	switch {
	case n%1000 == 3:
		size = 200 << 10
	case n%100 == 3:
		size = 20 << 10
	}
	filler := strings.Repeat("größe ✓ <&> ", size/15+1)
	switch {
	case l.text:
		l.body = fmt.Sprintf("plain %d\t%s\r\n", n, filler)
	case l.selected():
		l.body = fmt.Sprintf(`{"n":%d,"customer":%d,"price":1.50,"id":9007199254740993,"text":"%s"}`, n, l.customer, filler)
	default: // an edit would write it without blanks
		l.body = fmt.Sprintf(`{"n":%d,  "customer": %d, "text":"%s"} `, n, l.customer, filler)
	}
	l.attributes = attributes(n)
	if n%7 == 0 {
		l.trace = fmt.Sprintf("Root=1-5759e988-%024x;Parent=53995c3f42cd8ad8;Sampled=1", n)
	}
	return l
}

// attributes has all types of SQS.
func attributes(n int) map[string]types.MessageAttributeValue {
	text := func(dataType, value string) types.MessageAttributeValue {
		return types.MessageAttributeValue{DataType: &dataType, StringValue: &value}
	}
	raw := func(dataType string, value []byte) types.MessageAttributeValue {
		return types.MessageAttributeValue{DataType: &dataType, BinaryValue: value}
	}
	all := make([]byte, 256)
	for i := range all {
		all[i] = byte(i + n)
	}
	switch n % 4 {
	case 1:
		return map[string]types.MessageAttributeValue{"name": text("String", "é ✓ "+strconv.Itoa(n)), "count": text("Number", "1.50")}
	case 2:
		return map[string]types.MessageAttributeValue{"all": raw("Binary", all), "picture": raw("Binary.png", []byte{0x89, 'P', 'N', 'G', byte(n)})}
	case 3:
		return map[string]types.MessageAttributeValue{
			"price": text("Number.float", "-0.10"), "id": text("Number.int", strconv.Itoa(n)), "json": text("String.json", `{"a": [1, 2]}`), "one": raw("Binary.custom", []byte{0}),
		}
	}
	return nil
}

// source is the queue that it came from.
func (l *letter) source(s *scene) string {
	if l.moved {
		return s.orders
	}
	return s.returns
}

// origin is the value of the attribute of sqsbatch, "" for a message that SQS moves.
func (l *letter) origin(s *scene) string {
	if l.moved {
		return ""
	}
	failed := time.Date(2026, 11, 23, 21, 0, l.n%60, 0, time.UTC)
	value, _ := partialfailure.Origin{
		Reason: fmt.Sprintf("no such customer: %d", l.customer), MessageID: fmt.Sprintf("7e5c0a3f-0000-4000-8000-%012d", l.n),
		Attempts: 3, FirstReceived: failed.Add(-time.Minute), FailedAt: failed, Queue: arn(l.source(s)), By: "deadletters",
	}.Value(4096)
	return value
}

// selected reports whether where is true for it.
func (l *letter) selected() bool { return !l.text && l.customer < 3 }

// edited is its body after the edit.
func (l *letter) edited() string { return strings.TrimSuffix(l.body, "}") + `,"fixed":true}` }

var number = regexp.MustCompile(`^(?:plain |\{"n":\s*)([0-9]+)`)

// letterNumber finds the number of a message in its body; -1 if there is none.
func letterNumber(body string) int {
	found := number.FindStringSubmatch(body)
	if found == nil {
		return -1
	}
	n, _ := strconv.Atoi(found[1])
	return n
}

// difference says what of a message is not as it was. extra are attributes besides its own.
func (l *letter) difference(m *types.Message, body string, extra map[string]string) string {
	if got := aws.ToString(m.Body); got != body {
		return fmt.Sprintf("body %q, want %q", short(got), short(body))
	}
	want := map[string]types.MessageAttributeValue{}
	maps.Copy(want, l.attributes)
	for name, value := range extra {
		want[name] = types.MessageAttributeValue{DataType: aws.String("String"), StringValue: &value}
	}
	for name, w := range want {
		g, ok := m.MessageAttributes[name]
		if !ok || aws.ToString(g.DataType) != aws.ToString(w.DataType) || aws.ToString(g.StringValue) != aws.ToString(w.StringValue) || !bytes.Equal(g.BinaryValue, w.BinaryValue) {
			return fmt.Sprintf("attribute %s is not as it was", name)
		}
	}
	if len(m.MessageAttributes) != len(want) {
		return fmt.Sprintf("%d attributes, want %d", len(m.MessageAttributes), len(want))
	}
	if got := m.Attributes["AWSTraceHeader"]; got != l.trace {
		return fmt.Sprintf("trace header %q, want %q", got, l.trace)
	}
	if got := m.Attributes["MessageGroupId"]; got != l.group {
		return fmt.Sprintf("group %q, want %q", got, l.group)
	}
	return ""
}

func short(text string) string {
	if len(text) > 200 {
		return text[:100] + "…" + text[len(text)-100:]
	}
	return text
}

// expected lists the letters that are to be moved: the selected ones; in FIFO queues those
// before the first of their group that is not selected.
func expected(messages int, fifo bool) []bool {
	move := make([]bool, messages)
	for n := range move {
		l := newLetter(n, fifo)
		move[n] = l.selected()
		if fifo && n%groupSize > 0 && slices.Contains(move[n-n%groupSize:n], false) {
			move[n] = false
		}
	}
	return move
}
