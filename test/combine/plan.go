package combine

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/sqsbatch/sqsbatch/emulator/sqs"
	"github.com/sqsbatch/sqsbatch/test/random"
)

// Plan is all of a history that is decided before it begins.
type Plan struct {
	Seed uint64
	// Parts go around the function, the outermost first. Those behind bulk are in
	// bulk.Config.Unwrap, those behind reply are its inner middleware.
	Parts      []string
	Poll, FIFO bool
	// Tx: the function works in the database of the idempotency store, and calls InTx.
	Tx            bool
	KeepPermanent bool
	Chunk         int // bulk.Config.MaxItems
	Rate          int // records a second that the rate limit lets through
	Concurrency   int
	Processes     int
	Messages      []Message
	Faults        []sqs.Fault
	Broken        int // percent of calls to S3 and to the store that fail
	Kills         []Kill
	Heal          time.Duration // when faults end, and the function succeeds
}

// Message is one that the simulator sends.
type Message struct {
	Number, Key int // copies have the key of another message
	At          time.Duration
	Group       string
	Patience    time.Duration // of the caller, if it is a request
	Acts        []Act         // what the function does at each attempt; after the last one it succeeds
}

// Act is what the function does at one attempt.
type Act struct {
	End   End
	Takes time.Duration
	Heeds bool // it returns when its context ends
}

// End is how a call of the function ends.
type End string

// Ends of the function.
const (
	OK         End = "ok"
	Fail       End = "fail"
	Permanent  End = "permanent"
	Classified End = "classified" // permanent by Config.Classify
	Abort      End = "abort"
	Panic      End = "panic"
)

func (e End) forGood() bool { return e == Permanent || e == Classified }

// Kill ends one of the processes: at once, or as a shutdown does.
type Kill struct {
	At    time.Duration
	Crash bool
}

func (p *Plan) has(part string) bool { return slices.Contains(p.Parts, part) }

// suffix is that of the names of FIFO queues.
func (p *Plan) suffix() string {
	if p.FIFO {
		return ".fifo"
	}
	return ""
}

func (p *Plan) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "seed %d: %s around the function, poll %v, fifo %v, tx %v, keepPermanent %v, chunk %d, rate %d, concurrency %d, processes %d, broken %d %%, heals after %v\n",
		p.Seed, strings.Join(p.Parts, " > "), p.Poll, p.FIFO, p.Tx, p.KeepPermanent, p.Chunk, p.Rate, p.Concurrency, p.Processes, p.Broken, p.Heal)
	for _, m := range p.Messages {
		fmt.Fprintf(&b, "message %d of key %d, group %q, at %v: %v\n", m.Number, m.Key, m.Group, m.At, m.Acts)
	}
	for _, f := range p.Faults {
		fmt.Fprintf(&b, "fault %+v\n", f)
	}
	for _, k := range p.Kills {
		fmt.Fprintf(&b, "kill %+v\n", k)
	}
	return b.String()
}

type generator struct{ random.Rand }

const (
	timeout    = 5 * time.Second // of a record
	visibility = 6 * timeout
	sends      = 2 // messages that the function sends for a record, with the part sender
)

// Generate draws the plan of a seed. With parts it has those, in this order, whether they are
// right or not, and perhaps others.
func Generate(seed uint64, parts ...string) *Plan {
	g := generator{random.New(seed, 0x636f_6d62_696e_6521)}
	p := &Plan{
		Seed: seed, Parts: g.parts(parts), Poll: g.OneIn(2), FIFO: g.OneIn(2), Chunk: random.Pick(g, 1, 2, 3, 10), Rate: random.Pick(g, 1, 20),
		Concurrency: random.Pick(g, 0, 0, 1, 3), Processes: 1 + g.IntN(3), Heal: time.Duration(20+g.IntN(100)) * time.Second,
	}
	if p.has("idempotency") {
		p.Tx = g.OneIn(2)
		p.KeepPermanent = g.OneIn(2)
	}
	trouble, copies := random.Pick(g, 0, 10, 30, 60), p.has("idempotency") && !g.OneIn(4)
	at := time.Duration(0)
	for n := range 1 + g.IntN(random.Pick(g, 5, 15, 25)) {
		m := Message{Number: n, Key: n, At: at, Patience: random.Pick(g, time.Hour, time.Hour, 8*time.Second)}
		if p.FIFO {
			m.Group = random.Pick(g, "a", "b")
		}
		if copies && n > 0 && g.OneIn(3) {
			m.Key = p.Messages[g.IntN(n)].Key
		}
		for range 4 {
			if g.IntN(100) < trouble {
				m.Acts = append(m.Acts, g.act())
			} else {
				m.Acts = append(m.Acts, Act{OK, random.Pick(g, 0, time.Millisecond, 200*time.Millisecond), true})
			}
		}
		p.Messages = append(p.Messages, m)
		at += random.Pick(g, 0, 0, 0, 0, 20*time.Millisecond, time.Second)
	}
	if !g.OneIn(3) {
		p.Broken = random.Pick(g, 0, 5, 20, 40)
		p.Faults = g.Faults([]string{"SendMessageBatch", "SendMessageBatch", "SendMessageBatch", "DeleteMessageBatch", "ChangeMessageVisibilityBatch", "ReceiveMessage"},
			sqs.Fault{Kind: sqs.Failure}, sqs.Fault{Kind: sqs.Failure, CarriedOut: true}, sqs.Fault{Kind: sqs.EntryFailure}, sqs.Fault{Kind: sqs.EntryFailure, CarriedOut: true},
			sqs.Fault{Kind: sqs.LostAnswer}, sqs.Fault{Kind: sqs.Throttled}, sqs.Fault{Kind: sqs.Hang})
	}
	if g.OneIn(2) {
		for range 1 + g.IntN(3) {
			p.Kills = append(p.Kills, Kill{time.Duration(g.IntN(int(p.Heal))), g.OneIn(2)})
		}
	}
	return p
}

func (g generator) act() Act {
	a := Act{
		End:   random.Pick(g, OK, Fail, Fail, Fail, Fail, Permanent, Classified, Abort, Panic),
		Takes: random.Pick(g, 0, 0, time.Millisecond, 300*time.Millisecond, timeout/2),
		Heeds: !g.OneIn(3),
	}
	if g.OneIn(12) {
		a.Takes = 2 * timeout
	}
	return a
}

// parts adds parts to those that must be there, up to three. No pair with an added one is wrong.
func (g generator) parts(list []string) []string {
	list = slices.Clone(list)
	names := slices.Clone(partNames)
	g.Shuffle(len(names), func(i, k int) { names[i], names[k] = names[k], names[i] })
	for _, name := range names {
		if len(list) >= 3 {
			break
		}
		if slices.Contains(list, name) {
			continue
		}
		var places []int
		for at := range len(list) + 1 {
			if mayStand(list[:at], name, list[at:]) {
				places = append(places, at)
			}
		}
		if len(places) > 0 {
			list = slices.Insert(list, random.Pick(g, places...), name)
		}
	}
	return list
}

// mayStand reports whether a part may be inside of some and around others.
func mayStand(around []string, name string, inside []string) bool {
	return !slices.ContainsFunc(around, func(outer string) bool { return refused(outer, name) }) &&
		!slices.ContainsFunc(inside, func(inner string) bool { return refused(name, inner) })
}
