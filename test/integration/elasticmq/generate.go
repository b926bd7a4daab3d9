package main

import (
	"fmt"
	"maps"
	"math/rand/v2"
)

// generator makes one sequence. Where SQS leaves a choice to the server, it
// avoids the question: a standard queue, or a FIFO queue with several groups,
// never holds more messages than one receive may return. (A receive that finds
// more also tells how a server goes about it: what ElasticMQ moves to the
// dead-letter queue counts among the ten that it looks at.)
type generator struct {
	rng         *rand.Rand
	fifo        bool
	groups      int
	content     bool // ContentBasedDeduplication
	deadLetters bool // queue 1 is the dead-letter queue of queue 0
	sent        []string
	over        bool              // nothing may come after this
	unnamed     int               // messages that were sent beside those in sent
	group       map[string]string // of what was sent
	received    int               // so many of sent had been sent when last received
	phases      int
	made        sequence
}

const (
	maxSent   = 10 // messages a sequence, batches included
	maxPhases = 3  // before the ending
)

// generate makes the sequence of that number; the same for the same arguments.
func generate(seed uint64, index int) sequence {
	rng := rand.New(rand.NewPCG(seed, uint64(index)))
	g := &generator{rng: rng, groups: 1, group: map[string]string{}, fifo: rng.IntN(5) >= 3, deadLetters: rng.IntN(5) < 2}
	// One kind of limit by turns, so that a run of some length has them all.
	limit, at := limits[index%len(limits)], 1+rng.IntN(6)
	limit.suit(g)
	if g.fifo {
		g.groups += rng.IntN(3)
		g.content = rng.IntN(2) == 0
	}
	g.made = sequence{seed: seed, index: index, fifo: g.fifo}
	g.setUp()
	for i := range 6 + rng.IntN(9) {
		if i == at {
			for _, o := range limit.make(g) {
				g.add(o)
			}
		}
		if g.over {
			break
		}
		g.step()
	}
	if !g.over {
		g.end()
	}
	for i := range g.made.operations {
		g.made.kept = append(g.made.kept, i)
	}
	return g.made
}

// add appends an operation unless the timetable would no longer work out.
func (g *generator) add(o operation) bool {
	was := g.made.operations
	g.made.operations = append(was, o)
	if g.phases+o.phases() > maxPhases || !g.made.timely() {
		g.made.operations = was
		return false
	}
	g.phases += o.phases()
	if o.Name == "ReceiveMessage" && o.Queue == 0 {
		g.received = len(g.sent)
	}
	return true
}

func (g *generator) setUp() {
	attributes := map[string]string{}
	if g.fifo {
		attributes["FifoQueue"] = "true"
	}
	if g.deadLetters {
		g.add(operation{Name: "CreateQueue", Queue: 1, Attributes: maps.Clone(attributes)})
		attributes["RedrivePolicy"] = fmt.Sprintf(`{"deadLetterTargetArn":"{arn:1}","maxReceiveCount":%d}`, 1+g.rng.IntN(3))
	}
	if g.content {
		attributes["ContentBasedDeduplication"] = "true"
	}
	if g.fifo && g.rng.IntN(6) == 0 {
		attributes["DeduplicationScope"], attributes["FifoThroughputLimit"] = "messageGroup", "perMessageGroupId"
	}
	if g.rng.IntN(3) == 0 {
		attributes["VisibilityTimeout"] = pick(g, "1", "2", "60")
	}
	if g.rng.IntN(6) == 0 {
		attributes["DelaySeconds"] = pick(g, "1", "2")
	}
	create := operation{Name: "CreateQueue", Attributes: attributes}
	if g.rng.IntN(4) == 0 {
		create.Tags = map[string]string{"team": "a"}
	}
	g.add(create)
}

// end looks at what is left when all short timeouts are over.
func (g *generator) end() {
	everything := operation{Name: "GetQueueAttributes", Names: []string{"All"}}
	rest := operation{Name: "ReceiveMessage", Max: 10, Names: []string{"All"}}
	g.phases = -100 // these are wanted
	g.add(everything)
	g.add(operation{Name: "Pause", Phases: 2})
	for q := range 2 {
		if q == 0 || g.deadLetters {
			everything.Queue, rest.Queue = q, q
			g.add(rest)
			g.add(everything)
		}
	}
}

// step adds one ordinary operation.
func (g *generator) step() {
	switch n := g.rng.IntN(30); {
	case n < 6:
		if m, ok := g.message(); ok {
			g.add(operation{Name: "SendMessage", Messages: []message{m}})
		}
	case n < 8:
		g.add(operation{Name: "SendMessageBatch", Messages: g.batch(1 + g.rng.IntN(4))})
	case n < 14:
		g.receive()
	case n < 17:
		if r := g.receipts(1); r != nil {
			g.add(operation{Name: "DeleteMessage", Queue: g.queue(), Receipts: r})
		}
	case n < 18:
		if r := g.receipts(3); r != nil {
			g.add(operation{Name: "DeleteMessageBatch", Queue: g.queue(), Receipts: r})
		}
	case n < 20:
		if r := g.receipts(1); r != nil {
			g.add(operation{Name: "ChangeMessageVisibility", Queue: g.queue(), Receipts: r})
		}
	case n < 21:
		if r := g.receipts(3); r != nil {
			g.add(operation{Name: "ChangeMessageVisibilityBatch", Queue: g.queue(), Receipts: r})
		}
	case n < 24:
		g.add(operation{Name: "Pause", Phases: 1 + g.rng.IntN(2)})
	default:
		g.add(g.administer())
	}
}

// administer is an ordinary operation on a queue.
func (g *generator) administer() operation {
	switch g.rng.IntN(12) {
	case 0, 1, 2:
		return operation{Name: "GetQueueAttributes", Queue: g.queue(), Names: []string{"All"}}
	case 3:
		return operation{Name: "GetQueueAttributes", Names: []string{pick(g, "VisibilityTimeout", "QueueArn", "ApproximateNumberOfMessages", "RedrivePolicy", "DelaySeconds")}}
	case 4:
		return operation{Name: "SetQueueAttributes", Attributes: map[string]string{"VisibilityTimeout": pick(g, "1", "2", "30")}}
	case 5:
		return operation{Name: "SetQueueAttributes", Attributes: map[string]string{"DelaySeconds": pick(g, "0", "1", "2")}}
	case 6:
		return operation{Name: "TagQueue", Tags: map[string]string{pick(g, "team", "cost"): pick(g, "a", "b", "")}}
	case 7:
		return operation{Name: "UntagQueue", Names: []string{pick(g, "team", "cost")}}
	case 8:
		return operation{Name: "ListQueueTags"}
	case 9:
		return operation{Name: pick(g, "ListQueues", "ListDeadLetterSourceQueues"), Queue: g.queue()}
	case 10:
		return operation{Name: "GetQueueUrl", Queue: g.queue()}
	default:
		return operation{Name: "PurgeQueue"}
	}
}

func (g *generator) receive() {
	o := operation{Name: "ReceiveMessage", Queue: g.queue(), Max: 10, Visibility: pick[int32](g, 0, 1, 2, 30, 60)}
	if g.fifo && g.groups == 1 || len(g.sent) < 2 {
		o.Max = int32(1 + g.rng.IntN(10))
	}
	o.Names = pick(g, nil, []string{"All"}, []string{"colour"}, []string{"co.*"}, []string{".*"})
	o.Wait = pick[int32](g, 0, 0, 0, 1, 2)
	if o.Wait > 0 {
		o.Visibility = 60
	}
	if !g.add(o) {
		o.Wait = 0
		g.add(o)
	}
}

// queue is mostly 0, where the messages are sent to.
func (g *generator) queue() int {
	if g.deadLetters && g.rng.IntN(4) == 0 {
		return 1
	}
	return 0
}

// message makes one that the queue takes; ok is false when there are enough.
func (g *generator) message() (m message, ok bool) {
	if len(g.sent)+g.unnamed >= maxSent {
		return m, false
	}
	m.Body = fmt.Sprintf("m%d", len(g.sent)+1)
	m.Body += pick(g, "", "", "", "é", " \t\n\"<&>\\", "語😀")
	if g.fifo {
		m.Group = fmt.Sprintf("g%d", g.rng.IntN(g.groups))
		if !g.content || g.rng.IntN(2) == 0 {
			m.Dedup = fmt.Sprintf("d%d", g.rng.IntN(8)) // some meet
		} else if len(g.sent) > 0 && g.rng.IntN(3) == 0 {
			// The same once more, in the same group: bodies are what tells
			// messages apart, and groups come in any order.
			m.Body = pick(g, g.sent...)
			m.Group = g.group[m.Body]
		}
		g.group[m.Body] = m.Group
	} else {
		m.Delay = pick[int32](g, 0, 0, 0, 1, 2)
		if g.rng.IntN(8) == 0 {
			m.Group = "tenant"
		}
	}
	if g.rng.IntN(3) == 0 {
		m.Attributes = map[string]string{"colour": "String:red"}
		if g.rng.IntN(2) == 0 {
			m.Attributes["count"] = pick(g, "Number:12", "Number.int:-1", "Number:1.5e3")
			m.Attributes["raw"] = pick(g, "Binary:AAH/", "Binary.png:aGVsbG8=")
		}
	}
	if g.rng.IntN(6) == 0 {
		m.Trace = "Root=1-5759e988-bd862e3fe1be46a994272793;Parent=53995c3f42cd8ad8;Sampled=1"
	}
	g.sent = append(g.sent, m.Body)
	return m, true
}

// batch makes up to n entries.
func (g *generator) batch(n int) []message {
	out := []message{}
	for i := range n {
		if m, ok := g.message(); ok {
			m.ID = fmt.Sprintf("e%d", i)
			out = append(out, m)
		}
	}
	return out
}

// receipts names up to n messages that may have been received, some twice.
func (g *generator) receipts(n int) (out []receipt) {
	for i := range n {
		if g.received == 0 {
			return nil
		}
		out = append(out, receipt{ID: fmt.Sprintf("e%d", i), Of: pick(g, g.sent[:g.received]...),
			First: g.rng.IntN(6) == 0, Visibility: pick[int32](g, 0, 1, 2, 60)})
	}
	return out
}

func pick[T any](g *generator, from ...T) T { return from[g.rng.IntN(len(from))] }
