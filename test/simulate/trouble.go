package simulate

import (
	"slices"
	"strings"
	"time"

	"github.com/sqsbatch/sqsbatch/emulator/sqs"
)

// faults are of calls by the function, the event source mapping, or both. What
// the simulator itself sends is spared: SendMessageBatch has faults on
// dead-letter queues only.
func (g generator) faults(p Plan) []sqs.Fault {
	var list []sqs.Fault
	for range 1 + g.IntN(3) {
		queue := pick(g, p.Queues...)
		f := sqs.Fault{
			Operation: pick(g, "ChangeMessageVisibilityBatch", "ChangeMessageVisibilityBatch", "SendMessageBatch", "SendMessageBatch",
				"GetQueueAttributes", "SendMessageBatch", "ReceiveMessage", "ReceiveMessage", "DeleteMessageBatch"),
			Probability: pick(g, 0, 0.1, 0.3, 0.6),
			Times:       pick(g, 0, 1, 3, 10),
			Skip:        sometimes(g, 3, 1, 5),
		}
		switch f.Operation {
		case "SendMessageBatch":
			dead := p.deadLetterQueues()
			if len(dead) == 0 {
				continue
			}
			f.Queue = pick(g, dead...)
		case "ReceiveMessage":
			f.Queue = sometimes(g, 2, queue.Name)
			if f.Probability == 0 && f.Times == 0 {
				f.Times = 3 // nothing could ever happen
			}
		default:
			f.Queue = sometimes(g, 2, queue.Name)
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
	f.Kind = pick(g, append(kinds, kinds[len(kinds)-1])...) // the last ones twice as often
	switch f.Kind {
	case sqs.DuplicateDelivery:
		f.Probability = max(f.Probability, 0.3)
		fallthrough
	case sqs.OutOfOrder, sqs.EmptyReceive:
		if strings.HasSuffix(f.Queue, ".fifo") {
			f.Queue = "" // it can strike standard queues only
		}
	case sqs.Latency:
		f.Latency = pick(g, time.Millisecond, 80*time.Millisecond, 400*time.Millisecond, 2*time.Second, 10*time.Second)
	case sqs.Failure:
		f.Code = pick(g, "", "ServiceUnavailable", "AccessDenied")
		f.RetryAfter = sometimes(g, 4, 300*time.Millisecond, 10*time.Second)
	case sqs.Throttled:
		f.RetryAfter = sometimes(g, 4, 300*time.Millisecond, 10*time.Second)
	case sqs.EntryFailure:
		f.Code = pick(g, "", "", "AccessDenied")
	}
}

func (g generator) kill(p Plan) Kill {
	timeout := pick(g, p.Functions...).Timeout
	if g.oneIn(2) {
		return Kill{Invocation: g.IntN(4), How: pick(g, BeforeCall, AfterCall), Operation: pick(g, settling...), Call: g.IntN(3)}
	}
	return Kill{
		Invocation: g.IntN(12),
		How:        pick(g, Crash, Crash, Freeze, BeforeCall, AfterCall, AfterCall, AtResponse),
		After:      pick(g, 0, time.Millisecond, 25*time.Millisecond, timeout/3, timeout*17/20, timeout*19/20),
		Call:       g.IntN(3),
	}
}

// reaches reports whether a function's own dead-letter queue is one that takes
// the records of a queue.
func (p *Plan) reaches(own string, q Queue) bool {
	name := strings.TrimPrefix(own, "arn:")
	return name != "" && name != "no-such-queue" && name != q.Name
}

// deadLetterQueues are all that there are, each once.
func (p *Plan) deadLetterQueues() []string {
	var names []string
	add := func(name string) {
		isSource := slices.ContainsFunc(p.Queues, func(q Queue) bool { return q.Name == name })
		if name != "" && name != "no-such-queue" && !isSource && !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	for _, q := range p.Queues {
		add(q.DeadLetters)
	}
	for _, f := range p.Functions {
		add(strings.TrimPrefix(f.DeadLetterQueue, "arn:"))
	}
	return names
}
