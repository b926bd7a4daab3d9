package sqs_test

import (
	"cmp"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"pgregory.net/rapid"

	"github.com/sqsbatch/sqsbatch/emulator/sqs"
)

// model is a simple implementation of a queue and its dead-letter queue: lists that are
// sorted and searched for every operation. It shares no code with the emulator.
type model struct {
	fifo          bool
	delay, retain time.Duration
	maxReceives   int
	source, dead  modelQueue
	sent          map[string]time.Time // when a deduplication id was first sent
}

type modelQueue struct {
	messages []*modelMessage
	order    int // the latest order of a message
}

type modelMessage struct {
	body, group string
	sent        time.Time
	// order is the place among the visible messages: by the time of the send on FIFO
	// queues, else by the time at which the message became visible.
	order int
	// shown counts up when messages become visible: the order of groups.
	shown    int
	delayed  bool
	inFlight bool
	until    time.Time // end of the delay or the visibility timeout
	received int       // number of receives from this queue
	handle   string    // latest handle
}

// add adds a message as a new one of this queue.
func (q *modelQueue) add(body, group string, sent, now time.Time, delay time.Duration) {
	q.order++
	q.messages = append(q.messages, &modelMessage{body: body, group: group, sent: sent, order: q.order, shown: q.order, delayed: delay > 0, until: now.Add(delay)})
}

func (q *modelQueue) remove(m *modelMessage) {
	q.messages = slices.DeleteFunc(q.messages, func(other *modelMessage) bool { return other == m })
}

// advance updates both queues to now.
func (d *model) advance(now time.Time) {
	for _, q := range []*modelQueue{&d.source, &d.dead} {
		var due []*modelMessage
		for _, m := range q.messages {
			if (m.delayed || m.inFlight) && !m.until.After(now) {
				due = append(due, m)
			}
		}
		slices.SortFunc(due, func(a, b *modelMessage) int { return cmp.Or(a.until.Compare(b.until), a.order-b.order) })
		for _, m := range due {
			m.delayed, m.inFlight = false, false
			q.order++
			m.shown = q.order
			if !d.fifo {
				m.order = m.shown
			}
		}
		q.messages = slices.DeleteFunc(q.messages, func(m *modelMessage) bool { return !m.sent.Add(d.retain).After(now) })
	}
}

// visible returns the messages that may be received, in order. A message in flight blocks
// later messages of its group.
func (d *model) visible(q *modelQueue) (list []*modelMessage) {
	for _, m := range q.messages {
		locked := d.fifo && slices.ContainsFunc(q.messages, func(o *modelMessage) bool { return o.inFlight && o.group == m.group && o.order < m.order })
		if !m.delayed && !m.inFlight && !locked {
			list = append(list, m)
		}
	}
	slices.SortFunc(list, func(a, b *modelMessage) int { return a.order - b.order })
	return list
}

// firstGroup returns the group whose first message became visible first.
func firstGroup(list []*modelMessage) string {
	first := map[string]*modelMessage{}
	for _, m := range list {
		if first[m.group] == nil {
			first[m.group] = m
		}
	}
	return slices.MinFunc(slices.Collect(maps.Values(first)), func(a, b *modelMessage) int { return a.shown - b.shown }).group
}

// receive returns the expected result of a receive, and moves messages beyond maxReceiveCount.
func (d *model) receive(q *modelQueue, limit int, now time.Time, timeout time.Duration) (got []*modelMessage) {
	for len(got) < limit {
		list := d.visible(q)
		if len(list) == 0 {
			break
		}
		group := firstGroup(list)
		var taken []*modelMessage
		for _, m := range list {
			if len(got)+len(taken) == limit || m.group != group && d.fifo {
				continue
			}
			if q == &d.source && m.received >= d.maxReceives {
				q.remove(m)
				sent := m.sent
				if d.fifo {
					sent = now
				}
				d.dead.add(m.body, m.group, sent, now, 0)
				continue
			}
			m.received++
			taken = append(taken, m)
		}
		for _, m := range taken {
			m.inFlight, m.until = true, now.Add(timeout)
		}
		got = append(got, taken...)
	}
	return got
}

// move moves all messages back to the source, like a task with one message each 2 ms, while
// nothing else happens and none is in flight.
func (d *model) move(now time.Time) (ends time.Time) {
	for list := d.visible(&d.dead); len(list) > 0; list = d.visible(&d.dead) {
		group := firstGroup(list)
		m := list[slices.IndexFunc(list, func(m *modelMessage) bool { return m.group == group })]
		now = now.Add(2 * time.Millisecond)
		d.dead.remove(m)
		d.source.add(m.body, m.group, now, now, d.delay)
	}
	return now
}

// duplicate reports whether a send is a duplicate, and remembers it if not.
func (d *model) duplicate(id string, now time.Time) bool {
	if at, ok := d.sent[id]; ok && now.Before(at.Add(5*time.Minute)) {
		return true
	}
	d.sent[id] = now
	return false
}

func (q *modelQueue) counts() (visible, inFlight, delayed int) {
	for _, m := range q.messages {
		switch {
		case m.inFlight:
			inFlight++
		case m.delayed:
			delayed++
		default:
			visible++
		}
	}
	return visible, inFlight, delayed
}

func modelBodies(list []*modelMessage) string {
	var all []string
	for _, m := range list {
		all = append(all, m.body+"@"+ms(m.sent))
	}
	return strings.Join(all, " ")
}

// step is one operation. Do decides which fields have a meaning.
type step struct {
	Do      string
	Dead    bool // use the dead-letter queue
	Group   int
	Max     int
	Seconds int
	Pick    int
}

// plan is a sequence of steps for the property.
type plan struct {
	FIFO                 bool
	Delay, Retain, Limit int
	Steps                []step
}

var steps = rapid.Custom(func(t *rapid.T) step {
	return step{
		Do: rapid.SampledFrom([]string{"send", "send", "send", "receive", "receive", "receive", "delete", "hide", "sleep",
			"sleep", "purge", "move", "move"}).Draw(t, "do"),
		Dead:    rapid.IntRange(0, 3).Draw(t, "dead") == 3,
		Group:   rapid.IntRange(0, 2).Draw(t, "group"),
		Max:     rapid.IntRange(1, 10).Draw(t, "max"),
		Seconds: rapid.IntRange(0, 40).Draw(t, "seconds"),
		Pick:    rapid.IntRange(0, 1000).Draw(t, "pick"),
	}
})

var plans = rapid.Custom(func(t *rapid.T) plan {
	return plan{
		FIFO:   rapid.Bool().Draw(t, "fifo"),
		Delay:  rapid.SampledFrom([]int{0, 0, 5}).Draw(t, "delay"),
		Retain: rapid.SampledFrom([]int{90, 3600}).Draw(t, "retain"),
		Limit:  rapid.IntRange(1, 3).Draw(t, "limit"),
		// rapid prefers short lists, but many states need a long history.
		Steps: rapid.OneOf(rapid.SliceOfN(steps, 1, 30), rapid.SliceOfN(steps, 60, 100)).Draw(t, "steps"),
	}
})

// TestModel compares the emulator with the model for random histories of operations: every
// receive, every refusal and every count.
func TestModel(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		p := plans.Draw(rt, "plan")
		var failure error
		synctest.Test(t, func(*testing.T) { failure = p.run() })
		if failure != nil {
			rt.Fatal(failure)
		}
	})
}

type machine struct {
	*model
	server  *sqs.Server
	suffix  string
	given   []givenHandle // every receipt handle, in order
	purged  map[bool]time.Time
	counter int
}

type givenHandle struct {
	handle  string
	message *modelMessage
	dead    bool
}

func (p plan) run() error {
	server := sqs.New(sqs.Config{})
	defer server.Close()
	m := &machine{server: server, purged: map[bool]time.Time{}, model: &model{fifo: p.FIFO, sent: map[string]time.Time{},
		delay: time.Duration(p.Delay) * time.Second, retain: time.Duration(p.Retain) * time.Second, maxReceives: p.Limit}}
	attributes := map[string]string{"MessageRetentionPeriod": fmt.Sprint(p.Retain)}
	if p.FIFO {
		m.suffix, attributes["FifoQueue"] = ".fifo", "true"
	}
	m.call("CreateQueue", map[string]any{"QueueName": "dead" + m.suffix, "Attributes": attributes})
	attributes["DelaySeconds"] = fmt.Sprint(p.Delay)
	attributes["RedrivePolicy"] = redrivePolicy(server.QueueARN("dead"+m.suffix), p.Limit)
	m.call("CreateQueue", map[string]any{"QueueName": "orders" + m.suffix, "Attributes": attributes})
	for i, s := range p.Steps {
		m.advance(time.Now())
		err := m.step(s)
		m.advance(time.Now())
		if err == nil {
			err = m.compareCounts()
		}
		if err != nil {
			return fmt.Errorf("step %d, %+v: %w", i, s, err)
		}
	}
	return nil
}

// call returns the answer and the error's code.
func (m *machine) call(operation string, parameters map[string]any) (answer map[string]any, code string) {
	status, answer, code := call(m.server, operation, parameters)
	if status >= http.StatusInternalServerError {
		panic(code)
	}
	return answer, code
}

func (m *machine) url(dead bool) string {
	if dead {
		return m.server.QueueURL("dead" + m.suffix)
	}
	return m.server.QueueURL("orders" + m.suffix)
}

func (m *machine) queue(dead bool) *modelQueue {
	if dead {
		return &m.dead
	}
	return &m.source
}

func (m *machine) step(s step) error {
	now := time.Now()
	switch s.Do {
	case "send":
		return m.send(s, now)
	case "receive":
		answer, code := m.call("ReceiveMessage", map[string]any{"QueueUrl": m.url(s.Dead), "MaxNumberOfMessages": s.Max, "VisibilityTimeout": s.Seconds,
			"MessageSystemAttributeNames": []string{"SentTimestamp"}})
		want := m.receive(m.queue(s.Dead), s.Max, now, time.Duration(s.Seconds)*time.Second)
		var got []string
		messages, _ := answer["Messages"].([]any)
		for i, one := range messages {
			one := one.(map[string]any)
			got = append(got, one["Body"].(string)+"@"+one["Attributes"].(map[string]any)["SentTimestamp"].(string))
			if i < len(want) {
				want[i].handle = one["ReceiptHandle"].(string)
				m.given = append(m.given, givenHandle{want[i].handle, want[i], s.Dead})
			}
		}
		if code != "" || strings.Join(got, " ") != modelBodies(want) {
			return fmt.Errorf("received %q %s, want %q", got, code, modelBodies(want))
		}
	case "delete", "hide":
		return m.settle(s, now)
	case "sleep":
		// Sometimes as long as a purge interval or the deduplication interval.
		time.Sleep(time.Duration([]int{s.Seconds, s.Seconds, 60, 299, 300}[s.Pick%5]) * time.Second)
	case "purge":
		_, code := m.call("PurgeQueue", map[string]any{"QueueUrl": m.url(s.Dead)})
		last, before := m.purged[s.Dead]
		if early := before && now.Before(last.Add(time.Minute)); early != (code != "") {
			return fmt.Errorf("code %q, the last purge was at %v", code, last)
		} else if !early {
			m.purged[s.Dead], m.queue(s.Dead).messages = now, nil
			if !s.Dead {
				m.sent = map[string]time.Time{}
			}
		}
	case "move":
		for _, d := range m.dead.messages {
			if d.inFlight || !d.sent.Add(m.retain).After(now.Add(time.Second)) {
				return nil // too complex for a simple model
			}
		}
		if _, code := m.call("StartMessageMoveTask", map[string]any{"SourceArn": m.server.QueueARN("dead" + m.suffix)}); code != "" {
			return fmt.Errorf("code %q", code)
		}
		time.Sleep(m.move(now).Sub(now))
	}
	return nil
}

func (m *machine) send(s step, now time.Time) error {
	m.counter++
	body, group, delay := fmt.Sprint("m", m.counter), "", m.delay
	parameters := map[string]any{"QueueUrl": m.url(false), "MessageBody": body}
	if m.fifo {
		group = fmt.Sprint("g", s.Group)
		id := fmt.Sprint("d", s.Pick%40)
		parameters["MessageGroupId"], parameters["MessageDeduplicationId"] = group, id
		if m.duplicate(id, now) {
			body = ""
		}
	} else if s.Pick%4 == 0 {
		parameters["DelaySeconds"], delay = s.Seconds, time.Duration(s.Seconds)*time.Second
	}
	if _, code := m.call("SendMessage", parameters); code != "" {
		return fmt.Errorf("code %q", code)
	}
	if body != "" {
		m.source.add(body, group, now, now, delay)
	}
	return nil
}

// settle deletes or hides with any handle that was ever returned.
func (m *machine) settle(s step, now time.Time) error {
	if len(m.given) == 0 {
		return nil
	}
	g := m.given[s.Pick%len(m.given)]
	q, operation := m.queue(g.dead), "DeleteMessage"
	parameters := map[string]any{"QueueUrl": m.url(g.dead), "ReceiptHandle": g.handle}
	if s.Do == "hide" {
		operation, parameters["VisibilityTimeout"] = "ChangeMessageVisibility", s.Seconds
	}
	_, code := m.call(operation, parameters)
	held := g.message // by this queue
	if !slices.Contains(q.messages, held) {
		held = nil
	}
	latest, want := held != nil && held.handle == g.handle, ""
	switch {
	case s.Do == "delete" && (held == nil || !m.fifo && !latest):
	case s.Do == "delete" && m.fifo && !(latest && held.inFlight):
		want = "InvalidParameterValue"
	case s.Do == "delete":
		q.remove(held)
	case !latest:
		want = "InvalidParameterValue"
	case m.fifo && !held.inFlight:
		want = "AWS.SimpleQueueService.MessageNotInflight"
	case held.inFlight:
		held.until = now.Add(time.Duration(s.Seconds) * time.Second)
	}
	if code != want {
		return fmt.Errorf("code %q, want %q", code, want)
	}
	return nil
}

func (m *machine) compareCounts() error {
	for _, dead := range []bool{false, true} {
		answer, code := m.call("GetQueueAttributes", map[string]any{"QueueUrl": m.url(dead), "AttributeNames": []string{"All"}})
		attributes, _ := answer["Attributes"].(map[string]any)
		got := fmt.Sprint(attributes["ApproximateNumberOfMessages"], attributes["ApproximateNumberOfMessagesNotVisible"],
			attributes["ApproximateNumberOfMessagesDelayed"], code)
		visible, inFlight, delayed := m.queue(dead).counts()
		if want := fmt.Sprint(fmt.Sprint(visible), fmt.Sprint(inFlight), fmt.Sprint(delayed), ""); got != want {
			return fmt.Errorf("dead-letter queue %v: visible, in flight, delayed: %s, want %s", dead, got, want)
		}
	}
	return nil
}
