package main

import (
	"fmt"
	"maps"
	"strings"
)

// limit is one way to come to or over a limit, or to ask for what is not there.
type limit struct {
	on   kind
	make func(*generator) []operation
}

type kind int

const (
	everywhere kind = iota
	onStandard
	onFIFO
	onDeadLetters // queues with a dead-letter queue
	onFIFODeadLetters
)

// suit gives the sequence the queues that the limit needs.
func (l limit) suit(g *generator) {
	switch l.on {
	case onStandard:
		g.fifo = false
	case onFIFO:
		g.fifo = true
	case onDeadLetters:
		g.deadLetters = true
	case onFIFODeadLetters:
		g.fifo, g.deadLetters = true, true
	}
}

// limits has them all. Sequences take turns.
var limits = joined(receiveLimits(), messageLimits(), batchLimits(), receiptLimits(), attributeLimits(), queueLimits())

func joined(lists ...[]limit) (all []limit) {
	for _, l := range lists {
		all = append(all, l...)
	}
	return all
}

func call(on kind, o operation) limit {
	return limit{on, func(*generator) []operation { return []operation{o} }}
}

func receiveLimits() []limit {
	receive := func(on kind, change func(*operation)) limit {
		o := operation{Name: "ReceiveMessage", Max: 10, Visibility: 60}
		change(&o)
		return call(on, o)
	}
	return []limit{
		receive(everywhere, func(o *operation) { o.Max = 11 }),
		receive(everywhere, func(o *operation) { o.Max = -1 }),
		receive(everywhere, func(o *operation) { o.Wait = 21 }),
		receive(everywhere, func(o *operation) { o.Wait = -1 }),
		receive(everywhere, func(o *operation) { o.Visibility = 43200 }),
		receive(everywhere, func(o *operation) { o.Visibility = 43201 }),
		receive(everywhere, func(o *operation) { o.Visibility = -1 }),
		receive(everywhere, func(o *operation) { o.Token = "Nonsense" }),
		receive(everywhere, func(o *operation) { o.Token = "SentTimestamp,ApproximateReceiveCount" }),
		receive(everywhere, func(o *operation) { o.NoQueue = true }),
		receive(onStandard, func(o *operation) { o.Attempt = "a1" }),
		receive(onFIFO, func(o *operation) { o.Attempt = "a1" }),
		receive(onFIFO, func(o *operation) { o.Attempt = strings.Repeat("a", 129) }),
		receive(onFIFO, func(o *operation) { o.Attempt = "a b" }),
	}
}

// messageLimits are of one message each, alone or beside a good one in a batch.
func messageLimits() []limit {
	m := func(on kind, change func(*message)) limit {
		return limit{on, func(g *generator) []operation {
			g.unnamed++ // the odd one
			good, ok := g.message()
			if !ok {
				return nil
			}
			odd := good
			odd.Body, odd.Attributes, odd.Delay = "odd", map[string]string{}, 0
			if odd.Dedup != "" {
				odd.Dedup = "odd"
			}
			change(&odd)
			if g.rng.IntN(2) == 0 {
				g.sent = g.sent[:len(g.sent)-1]
				return []operation{{Name: "SendMessage", Messages: []message{odd}}}
			}
			good.ID, odd.ID = "good", "odd"
			return []operation{{Name: "SendMessageBatch", Messages: []message{good, odd}}}
		}}
	}
	attribute := func(name, typed string) limit {
		return m(everywhere, func(m *message) { m.Attributes[name] = typed })
	}
	many := func(n int) limit {
		return m(everywhere, func(m *message) {
			for i := range n {
				m.Attributes[fmt.Sprint("a", i)] = "String:v"
			}
		})
	}
	return []limit{
		m(everywhere, func(m *message) { m.Body = "" }),
		m(everywhere, func(m *message) { m.Body = "\x01" }),
		m(everywhere, func(m *message) { m.Body = "\ufffe" }),
		m(everywhere, func(m *message) { m.Pad = 256<<10 - 3 }),
		m(everywhere, func(m *message) { m.Pad = 256<<10 - 2 }), // over what was the limit until 2025
		m(everywhere, func(m *message) { m.Pad, m.Trace = 1<<20-3, "" }),
		m(everywhere, func(m *message) { m.Pad = 1<<20 - 2 }),
		m(onStandard, func(m *message) { m.Delay = 900 }),
		m(onStandard, func(m *message) { m.Delay = 901 }),
		m(onStandard, func(m *message) { m.Delay = -1 }),
		m(onStandard, func(m *message) { m.Dedup = "d" }),
		m(onStandard, func(m *message) { m.Group = strings.Repeat("g", 129) }),
		m(onFIFO, func(m *message) { m.Delay = 1 }),
		m(onFIFO, func(m *message) { m.Group = "" }),
		m(onFIFO, func(m *message) { m.Dedup = "" }),
		m(onFIFO, func(m *message) { m.Group = strings.Repeat("g", 129) }),
		m(onFIFO, func(m *message) { m.Group = "a b" }),
		m(onFIFO, func(m *message) { m.Dedup = strings.Repeat("d", 128) }),
		m(onFIFO, func(m *message) { m.Dedup = strings.Repeat("d", 129) }),
		m(onFIFO, func(m *message) { m.Dedup = "a b" }),
		many(10), many(11),
		attribute(strings.Repeat("n", 256), "String:v"),
		attribute(strings.Repeat("n", 257), "String:v"),
		attribute("a..b", "String:v"),
		attribute(".a", "String:v"),
		attribute("a b", "String:v"),
		attribute("AWS.a", "String:v"),
		attribute("amazon.a", "String:v"),
		attribute("a", "Strange:v"),
		attribute("a", ":v"),
		attribute("a", "String:"),
		attribute("a", "String:\x01"),
		attribute("a", "Binary:"),
		attribute("a", "Number:abc"),
		attribute("a", "Number:1e127"),
		attribute("a", "String."+strings.Repeat("t", 249)+":v"),
		attribute("a", "String."+strings.Repeat("t", 250)+":v"),
	}
}

func batchLimits() []limit {
	entries := func(n int) []receipt {
		out := []receipt{}
		for i := range n {
			out = append(out, receipt{ID: fmt.Sprint("e", i), Handle: "none"})
		}
		return out
	}
	ids := func(ids ...string) (all []limit) {
		for _, name := range []string{"DeleteMessageBatch", "ChangeMessageVisibilityBatch"} {
			o := operation{Name: name, Receipts: entries(len(ids))}
			for i := range ids {
				o.Receipts[i].ID = ids[i]
			}
			all = append(all, call(everywhere, o))
		}
		return append(all, limit{everywhere, func(g *generator) []operation {
			o := operation{Name: "SendMessageBatch"}
			for i, m := range g.batch(len(ids)) {
				m.ID = ids[i]
				o.Messages = append(o.Messages, m)
			}
			return []operation{o}
		}})
	}
	return joined(
		ids(), ids("a", "a"), ids("a b"), ids("a.b"), ids(""), ids(strings.Repeat("i", 80)), ids(strings.Repeat("i", 81)),
		[]limit{
			call(everywhere, operation{Name: "DeleteMessageBatch", Receipts: entries(11)}),
			call(everywhere, operation{Name: "ChangeMessageVisibilityBatch", Receipts: entries(11)}),
			{everywhere, func(*generator) []operation {
				o := operation{Name: "SendMessageBatch"}
				for i := range 11 {
					o.Messages = append(o.Messages, message{ID: fmt.Sprint("e", i), Body: fmt.Sprint("b", i), Group: "g", Dedup: fmt.Sprint("b", i)})
				}
				return []operation{o}
			}},
			{everywhere, func(g *generator) []operation {
				o := operation{Name: "SendMessageBatch", Messages: g.batch(2)}
				for i := range o.Messages {
					o.Messages[i].Pad = 600 << 10
				}
				return []operation{o}
			}},
		})
}

func receiptLimits() []limit {
	var all []limit
	for _, name := range []string{"DeleteMessage", "ChangeMessageVisibility", "DeleteMessageBatch", "ChangeMessageVisibilityBatch"} {
		of := func(on kind, r receipt, times int) limit {
			return limit{on, func(g *generator) []operation {
				m, ok := g.message()
				if !ok {
					return nil
				}
				m.Delay, r.ID = 0, "e"
				if r.Handle == "" {
					r.Of = m.Body
				}
				o := operation{Name: name, Receipts: []receipt{r}}
				if r.Elsewhere {
					o.Queue = 1
				}
				sequence := []operation{
					{Name: "SendMessage", Messages: []message{m}},
					{Name: "ReceiveMessage", Max: 10, Visibility: 60},
				}
				for range times {
					sequence = append(sequence, o)
				}
				return sequence
			}}
		}
		all = append(all, of(everywhere, receipt{Handle: "garbage"}, 1), of(everywhere, receipt{}, 2), of(onDeadLetters, receipt{Elsewhere: true}, 1),
			call(everywhere, operation{Name: name, NoQueue: true, Receipts: []receipt{{ID: "e", Handle: "garbage"}}}))
		if strings.HasPrefix(name, "Change") {
			all = append(all, of(everywhere, receipt{Visibility: -1}, 1), of(everywhere, receipt{Visibility: 43201}, 1), of(everywhere, receipt{Visibility: 43190}, 1))
		}
	}
	// A message that was deleted, and one that is visible again.
	return append(all,
		limit{onFIFO, func(g *generator) []operation { return g.release() }},
		limit{onFIFODeadLetters, func(g *generator) []operation {
			policy := map[string]string{"RedrivePolicy": `{"deadLetterTargetArn":"{arn:1}","maxReceiveCount":1}`}
			return append([]operation{{Name: "SetQueueAttributes", Attributes: policy}}, g.release()...)
		}},
		limit{everywhere, func(g *generator) []operation { return g.afterwards("DeleteMessage", "ChangeMessageVisibility") }},
		limit{everywhere, func(g *generator) []operation {
			return g.afterwards("ChangeMessageVisibility", "ChangeMessageVisibility")
		}},
		limit{everywhere, func(g *generator) []operation { return g.afterwards("ChangeMessageVisibility", "DeleteMessage") }})
}

// afterwards receives a message and does two things to it.
func (g *generator) afterwards(first, second string) []operation {
	m, ok := g.message()
	if !ok {
		return nil
	}
	m.Delay = 0
	r := []receipt{{Of: m.Body}} // a visibility of 0, where that matters
	return []operation{
		{Name: "SendMessage", Messages: []message{m}},
		{Name: "ReceiveMessage", Max: 10, Visibility: 60},
		{Name: first, Receipts: r},
		{Name: second, Receipts: r},
	}
}

// release receives two messages, of one group on a FIFO queue, and lets go of
// the first.
func (g *generator) release() []operation {
	pair := g.batch(2)
	if len(pair) < 2 {
		return nil
	}
	pair[1].Group, pair[0].Delay, pair[1].Delay = pair[0].Group, 0, 0
	return []operation{
		{Name: "SendMessageBatch", Messages: pair},
		{Name: "ReceiveMessage", Max: 10, Visibility: 60},
		{Name: "ChangeMessageVisibility", Receipts: []receipt{{Of: pair[0].Body}}},
		{Name: "ReceiveMessage", Max: 10, Visibility: 60},
		{Name: "GetQueueAttributes", Names: []string{"All"}},
	}
}

// with is m and one more.
func with(m map[string]string, name, text string) map[string]string {
	out := maps.Clone(m)
	out[name] = text
	return out
}
