package simulate

import (
	"cmp"
	"fmt"
	"path"
	"slices"
	"strings"
	"time"

	"github.com/sqsbatch/sqsbatch/emulator/sqs"
	"github.com/sqsbatch/sqsbatch/test/random"
)

// Generate draws the plan of a seed.
func Generate(seed uint64) Plan {
	g := generator{random.New(seed, 0x5153_4261_7463_6831)}
	p := Plan{Seed: seed, Heal: time.Duration(30+g.IntN(200)) * time.Second}
	for range g.Weighted(6, 3, 1) + 1 {
		if len(p.Functions) == 0 || !g.OneIn(4) {
			p.Functions = append(p.Functions, g.function())
		}
		p.Queues = append(p.Queues, g.queue(len(p.Queues), len(p.Functions)-1, p.Functions[len(p.Functions)-1]))
	}
	for i := range p.Functions {
		g.settle(&p, i)
	}
	g.messages(&p)
	if !g.OneIn(3) { // nothing that goes wrong hides what the rest are to show
		kinds := g.Weighted(2, 1, 1)
		if kinds != 1 {
			p.Faults = g.faults(p)
		}
		if kinds != 0 {
			p.Breaks = g.breaks(p)
		}
	}
	if g.OneIn(3) {
		for range g.IntN(4) + 1 {
			p.Kills = append(p.Kills, g.kill(p))
		}
	}
	if g.OneIn(2) {
		g.poll(&p)
	} else if g.OneIn(30) {
		g.wide(&p)
	}
	if !p.Polls() && p.breaksDeletes() { // else few functions delete anything
		p.Functions[0].DeleteSucceeded = true
	}
	for i := range p.Functions {
		p.Functions[i].Bulk = random.Sometimes(g, 4, 1, 2, 5, 10)
		if g.OneIn(8) {
			g.slowHook(&p.Functions[i], p.Polls())
		}
		if p.Functions[i].PerEnvironment > 1 && g.OneIn(3) {
			p.Functions[i].Concurrency = random.Pick(g, 1, 2, 3, 5, 8)
		}
	}
	g.guards(&p)
	p.expire()
	return p
}

// expire has some handlers return batch.ErrExpired where they would succeed. It draws nothing, so
// that the histories of a seed stay what they were.
func (p *Plan) expire() {
	for i := range p.Messages {
		m := &p.Messages[i]
		if n := len(m.Acts); m.Number%13 == 5 && n > 0 && m.Acts[n-1].Verb == OK && !p.Functions[p.Queues[m.Queue].Function].Guard.On {
			m.Acts[n-1].Verb = Expired
		}
	}
}

type generator struct{ random.Rand }

func (g generator) function() Function {
	timeout := time.Duration(random.Pick(g, 1, 2, 3, 5, 10, 30)) * time.Second
	f := Function{
		Timeout:         timeout,
		Environments:    random.Pick(g, 1, 2, 3, 10),
		PerEnvironment:  max(1, random.Sometimes(g, 5, 2, 4)),
		JSON:            g.OneIn(2),
		Concurrency:     random.Sometimes(g, 2, 1, 2, 3, 50),
		Reserve:         random.Sometimes(g, 4, 100*time.Millisecond, timeout/5, timeout),
		RecordTimeout:   random.Sometimes(g, 4, timeout/10, timeout/3, 2*timeout),
		MinRemaining:    random.Sometimes(g, 5, time.Millisecond, timeout/4),
		Grace:           random.Sometimes(g, 4, time.Millisecond, 100*time.Millisecond, timeout),
		Backoff:         random.Sometimes(g, 2, "constant", "linear", "hashed", "hashed", "negative", "panics", "outage", "outage", "outage", "outage"),
		OnPermanent:     random.Sometimes(g, 2, "dead-letter", "retry", "drop"),
		ErrorIfAllFail:  g.OneIn(5),
		DeleteSucceeded: g.OneIn(6),
		LogSucceeded:    g.OneIn(4),
	}
	if f.Backoff == "outage" {
		f.Outage = random.Pick(g, 0, time.Second, 10*time.Second, time.Minute, 30*time.Minute)
	}
	if g.OneIn(60) {
		f.Outage = 0
		f.Backoff = "endless" // beyond what SQS takes: it comes back after 12 h
	}
	return f
}

// atATime is how many invocations a process of Lambda's managed instances runs at most.
const atATime = 64

// wide has a process run many invocations at a time, of one queue.
func (g generator) wide(p *Plan) {
	q := &p.Queues[0]
	f := &p.Functions[q.Function]
	f.Environments, f.PerEnvironment = 1, atATime
	q.BatchSize, q.Window, q.Concurrency, q.Visibility = random.Pick(g, 1, 1, 2), 0, 0, 6*f.Timeout
	first := len(p.Messages)
	for n := range q.BatchSize * (atATime + g.IntN(20)) {
		m := g.message(p, first+n, 0, 0, random.Pick(g, 0, 30, 70))
		m.Delay = 0
		if m.Acts[0].Takes = max(m.Acts[0].Takes, f.Timeout/3); q.FIFO() {
			m.Group = fmt.Sprintf("g%d", n/q.BatchSize)
		}
		p.Messages = append(p.Messages, m)
	}
	slices.SortStableFunc(p.Messages, func(a, b Message) int { return cmp.Compare(a.At, b.At) })
	// So many that fail once a second would be more than a history may have.
	p.Heal = min(p.Heal, tooMany*3/4/time.Duration(len(p.Messages))*time.Second)
}

// slowHook has a hook block. On Lambda nothing bounds BatchContext.
func (g generator) slowHook(f *Function, batchContext bool) {
	f.SlowHook = random.Pick(g, slowHooks(batchContext)...)
	f.HookTakes = random.Pick(g, 10*time.Millisecond, f.Timeout/2, 2*f.Timeout, 70*time.Second, untilHeal)
	f.HookTakesEach = random.Pick(g, 1, 2, 3, 7)
}

// slowHooks are the hooks that may block.
func slowHooks(batchContext bool) []string {
	names := []string{"RecordContext", "RecordFinished", "BatchSettled", "Called", "Warned"}
	if batchContext {
		names = append(names, "BatchContext")
	}
	return names
}

func (g generator) queue(i, function int, f Function) Queue {
	q := Queue{
		Name:        fmt.Sprintf("q%d", i),
		Function:    function,
		Visibility:  f.Timeout * time.Duration(random.Pick(g, 1, 2, 6, 6)),
		BatchSize:   random.Pick(g, 1, 3, 10, 10, 10),
		Concurrency: random.Sometimes(g, 3, 2, 5),
		Report:      !f.DeleteSucceeded || g.OneIn(2),
	}
	if g.OneIn(2) {
		q.Name += ".fifo"
	} else if g.OneIn(2) {
		q.Window = time.Duration(random.Pick(g, 1, 2, 5)) * time.Second
		q.BatchSize = random.Pick(g, 10, 30, 100)
		q.Visibility += q.Window
	}
	if !g.OneIn(3) {
		q.MaxReceive = random.Pick(g, 1, 2, 3, 5, 5, 10)
		if q.DeadLetters = "dead-" + q.Name; g.OneIn(3) {
			q.DeadLetters = "dead" + path.Ext(q.Name) // one for all
		}
	}
	return q
}

// settle completes a function's configuration by what its queues are.
func (g generator) settle(p *Plan, function int) {
	f := &p.Functions[function]
	var queues []Queue
	for _, q := range p.Queues {
		if q.Function == function {
			queues = append(queues, q)
		}
	}
	if g.OneIn(3) {
		name := random.Pick(g, "dead", "dead.fifo", "dead-"+queues[0].Name, "dead-letters-of-the-function")
		if len(queues) == 1 && g.OneIn(8) {
			name = queues[0].Name // a mistake that must cost nothing
		}
		if g.OneIn(8) {
			name = "no-such-queue"
		}
		f.DeadLetterQueue = random.Pick(g, "", "arn:") + name
	}
	if g.OneIn(4) {
		f.MaxReceiveCount = max(1, queues[0].MaxReceive)
	}
}

func (g generator) messages(p *Plan) {
	trouble := random.Pick(g, 0, 10, 30, 70, 100) // percent of attempts that go wrong
	at := time.Duration(0)
	for n := 1 + g.IntN(random.Pick(g, 6, 20, 50)); len(p.Messages) < n; {
		at += random.Pick(g, 0, 0, 20*time.Millisecond, time.Second, 4*time.Second)
		queue := g.IntN(len(p.Queues))
		for range min(1+g.IntN(10), n-len(p.Messages)) { // a burst
			p.Messages = append(p.Messages, g.message(p, len(p.Messages), at, queue, trouble))
		}
	}
	slices.SortStableFunc(p.Messages, func(a, b Message) int { return cmp.Compare(a.At, b.At) })
}

func (g generator) message(p *Plan, number int, at time.Duration, queue, trouble int) Message {
	q := p.Queues[queue]
	f := p.Functions[q.Function]
	m := Message{Number: number, At: at, Queue: queue, Attributes: random.Sometimes(g, 3, 1, 3, 10), Trace: g.OneIn(3)}
	switch {
	case q.FIFO():
		m.Group = string(rune('a' + g.IntN(3)))
	case g.OneIn(4):
		m.Group = "tenant"
	}
	if !q.FIFO() {
		m.Delay = random.Sometimes(g, 10, time.Second, 30*time.Second)
	}
	// One that can never be handled is stuck where nothing takes it out.
	m.Malformed = f.JSON && p.endsMalformed(q, f) && g.IntN(400) < trouble
	for range 6 {
		if g.IntN(100) < trouble {
			m.Acts = append(m.Acts, g.act(f.Timeout))
			continue
		}
		m.Acts = append(m.Acts, Act{Verb: OK, Takes: random.Pick(g, 0, 0, time.Millisecond, 30*time.Millisecond, f.Timeout/20), Heeds: true})
		break
	}
	return m
}

// endsMalformed reports whether something takes a record that always fails for good out of the queue.
func (p *Plan) endsMalformed(q Queue, f Function) bool {
	return q.MaxReceive > 0 || f.OnPermanent == "drop" || f.OnPermanent != "retry" && p.reaches(f.DeadLetterQueue, q)
}

func (g generator) act(timeout time.Duration) Act {
	a := Act{
		Takes: random.Pick(g, 0, 0, time.Millisecond, 20*time.Millisecond, 70*time.Millisecond, timeout/3, timeout*9/10, timeout*6/5, timeout*2),
		Heeds: !g.OneIn(3),
	}
	verbs := []Verb{OK, Fail, Late, Permanent, RetryAfter, PermanentAfter, Panic, PanicError, NilError, Goexit, Abort, AbortAfter}
	switch a.Verb = verbs[g.Weighted(3, 6, 1, 3, 3, 1, 1, 1, 1, 1, 2, 1)]; a.Verb {
	case Late:
		a.Takes, a.Heeds = timeout*2, true
	case RetryAfter, PermanentAfter:
		a.RetryAfter = g.retryAfter()
	case Abort, AbortAfter:
		a.RetryAfter = g.abortFor()
	}
	return a
}

func (g generator) retryAfter() time.Duration {
	if g.OneIn(200) {
		return 13 * time.Hour // beyond what SQS takes
	}
	return random.Pick(g, 0, time.Second, 2500*time.Millisecond, 10*time.Second, time.Minute)
}

// abortFor is for how long nothing may be started: a moment, or longer than messages are hidden.
func (g generator) abortFor() time.Duration {
	if g.OneIn(3) {
		return random.Pick(g, 0, time.Millisecond, 30*time.Second, 4*time.Minute)
	}
	return g.retryAfter()
}

// poll makes a plan one of the long-poll mode.
func (g generator) poll(p *Plan) {
	p.Kills = nil
	for i := range p.Functions {
		f := &p.Functions[i]
		f.Environments, f.PerEnvironment, f.ErrorIfAllFail, f.DeleteSucceeded, f.LogSucceeded = 0, 0, false, false, false
	}
	for i := range p.Queues {
		q := &p.Queues[i]
		q.BatchSize, q.Window, q.Concurrency, q.Report = 0, 0, 0, false
		for range 1 + g.Weighted(5, 3, 2) {
			p.Replicas = append(p.Replicas, g.replica(i, q, p.Functions[q.Function]))
		}
	}
	if len(p.Breaks) > 0 && g.OneIn(2) {
		p.Breaks = append(p.Breaks, g.heartbeat(*p))
	}
	if g.OneIn(10) {
		f := sqs.Fault{Operation: "GetQueueUrl", Times: random.Pick(g, 1, 3), Probability: random.Pick(g, 0, 0.5)}
		g.kind(&f)
		p.Faults = append(p.Faults, f)
	}
}

func (g generator) replica(queue int, q *Queue, f Function) Replica {
	r := Replica{
		Queue:        queue,
		ByName:       g.OneIn(4),
		Starts:       random.Sometimes(g, 2, time.Millisecond, time.Second, 20*time.Second),
		Wait:         random.Sometimes(g, 3, time.Second, 5*time.Second),
		Prefetch:     random.Sometimes(g, 2, -1, 1, 3, 20),
		Visibility:   random.Sometimes(g, 2, 3*time.Second, 5*time.Second, 30*time.Second, 10*time.Minute),
		DrainLimit:   random.Sometimes(g, 2, 100*time.Millisecond, f.Timeout/3, f.Timeout*2),
		MaxAbandoned: random.Sometimes(g, 3, 1, 3),
	}
	for range g.Weighted(2, 3, 2, 1) {
		r.Lives = append(r.Lives, g.life(f))
	}
	return r
}

func (g generator) life(f Function) Life {
	l := Life{
		Lasts:    random.Pick(g, 10*time.Millisecond, time.Second, 3*time.Second, 10*time.Second, 25*time.Second, time.Minute),
		How:      random.Pick(g, Shutdown, Shutdown, Canceled, Hurried, Crash, BeforeCall, AfterCall),
		Overlaps: g.OneIn(3),
	}
	// Ends fall together with what handlers do, or between.
	l.Lasts += random.Pick(g, 0, 5*time.Millisecond, 20*time.Millisecond, f.Timeout/3)
	switch l.How {
	case Hurried:
		l.Patience = random.Pick(g, 0, time.Millisecond, 100*time.Millisecond, 2*time.Second, f.Timeout)
	case BeforeCall, AfterCall:
		l.Call = g.IntN(random.Pick(g, 3, 10, 40))
		if g.OneIn(2) {
			l.Operation, l.Call, l.Lasts = random.Pick(g, settling...), g.IntN(3), time.Minute
		}
	}
	if g.OneIn(3) {
		for range 1 + g.IntN(2) {
			l.Pauses = append(l.Pauses, Pause{
				At:  random.Pick(g, 0, 10*time.Millisecond, time.Second, 3*time.Second, 8*time.Second),
				For: random.Pick(g, 0, 50*time.Millisecond, time.Second, 10*time.Second, 30*time.Second),
			})
		}
	}
	return l
}

// faults are of calls by the function, the event source mapping, or both. What
// the simulator itself sends is spared: SendMessageBatch has faults on
// dead-letter queues only.
func (g generator) faults(p Plan) []sqs.Fault {
	var list []sqs.Fault
	for range 1 + g.IntN(3) {
		queue := random.Pick(g, p.Queues...)
		f := sqs.Fault{
			Operation: random.Pick(g, "ChangeMessageVisibilityBatch", "ChangeMessageVisibilityBatch", "SendMessageBatch", "SendMessageBatch",
				"GetQueueAttributes", "SendMessageBatch", "ReceiveMessage", "ReceiveMessage", "DeleteMessageBatch"),
			Probability: random.Pick(g, 0, 0.1, 0.3, 0.6),
			Times:       random.Pick(g, 0, 1, 3, 10),
			Skip:        random.Sometimes(g, 3, 1, 5),
		}
		if dead := p.deadLetterQueues(); f.Operation != "SendMessageBatch" {
			f.Queue = random.Sometimes(g, 2, queue.Name)
		} else if len(dead) > 0 {
			f.Queue = random.Pick(g, dead...)
		} else {
			continue
		}
		if f.Operation == "ReceiveMessage" && f.Probability == 0 && f.Times == 0 {
			f.Times = 3 // else nothing could ever happen
		}
		g.kind(&f)
		list = append(list, f)
	}
	return list
}

// faultKinds are what can go wrong with an operation. EmptyReceive strikes the
// first receive of a process that polls, and the last of a batching window.
func faultKinds(operation string) []sqs.FaultKind {
	kinds := []sqs.FaultKind{sqs.Latency, sqs.Failure, sqs.Throttled, sqs.Refused, sqs.Hang, sqs.LostAnswer}
	switch operation {
	case "ReceiveMessage":
		return append(kinds, sqs.EmptyReceive, sqs.OutOfOrder, sqs.DuplicateDelivery)
	case "GetQueueAttributes", "GetQueueUrl":
		return kinds
	default:
		return append(kinds, sqs.EntryFailure)
	}
}

func (g generator) kind(f *sqs.Fault) {
	kinds := faultKinds(f.Operation)
	f.Kind = random.Pick(g, append(kinds, kinds[len(kinds)-1])...) // the last ones twice as often
	switch f.Kind {
	case sqs.DuplicateDelivery:
		f.Probability = max(f.Probability, 0.3)
		fallthrough
	case sqs.OutOfOrder, sqs.EmptyReceive:
		if strings.HasSuffix(f.Queue, ".fifo") {
			f.Queue = "" // it can strike standard queues only
		}
	case sqs.Latency:
		f.Latency = random.Pick(g, time.Millisecond, 80*time.Millisecond, 400*time.Millisecond, 2*time.Second, 10*time.Second)
	case sqs.Failure:
		f.Code = random.Pick(g, "", "ServiceUnavailable", "AccessDenied")
		f.RetryAfter = random.Sometimes(g, 4, 300*time.Millisecond, 10*time.Second)
	case sqs.Throttled:
		f.RetryAfter = random.Sometimes(g, 4, 300*time.Millisecond, 10*time.Second)
	case sqs.EntryFailure:
		f.Code = random.Pick(g, "", "", "AccessDenied")
	}
}

func (g generator) kill(p Plan) Kill {
	timeout := random.Pick(g, p.Functions...).Timeout
	if g.OneIn(2) {
		return Kill{Invocation: g.IntN(4), How: random.Pick(g, BeforeCall, AfterCall), Operation: random.Pick(g, settling...), Call: g.IntN(3)}
	}
	return Kill{
		Invocation: g.IntN(12),
		How:        random.Pick(g, Crash, Crash, Freeze, BeforeCall, AfterCall, AfterCall, AtResponse),
		After:      random.Pick(g, 0, time.Millisecond, 25*time.Millisecond, timeout/3, timeout*17/20, timeout*19/20),
		Call:       g.IntN(3),
	}
}
