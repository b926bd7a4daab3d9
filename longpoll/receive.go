package longpoll

import (
	"context"
	"crypto/rand"
	"slices"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/sqs"
	"github.com/aws/aws-sdk-go-v2/service/sqs/types"
	"github.com/sqsbatch/sqsbatch/batch"
	"github.com/sqsbatch/sqsbatch/internal/sqserror"
)

const (
	// receiveMargin is how much longer than its wait a receive may take.
	receiveMargin = 10 * time.Second
	// maxReceives bounds the receives that are open at a time.
	maxReceives = 32
	// emptyInterval is the least time between an empty long poll and the next one.
	// SQS waits by itself; servers that stand in for it may not.
	emptyInterval = time.Second
)

// receiveMore begins receives as long as there is room for what they may return.
func (p *Poller) receiveMore() {
	for n := p.requested(); n > 0; n = p.requested() {
		p.beginReceive(n)
	}
}

// beginReceive begins a receive of at most n messages.
func (p *Poller) beginReceive(n int) {
	in := &p.intake
	in.begun = time.Now()
	in.calls++
	in.reserved += n
	p.counts.Receives++
	wait := p.cfg.Wait
	if in.answered.IsZero() || p.trouble.receiving.tries > 0 {
		wait = 0 // the answer shows at once whether the queue can be used
	}
	var a attempt
	if p.fifo() {
		a = in.newAttempt(n)
	}
	ctx, input := in.ctx, p.input(n, wait, a)
	p.call(func() func() { return p.receive(ctx, input, a, wait) })
}

// requested is how many messages the next receive asks for, or 0 if none may begin
// now.
func (p *Poller) requested() int {
	now := time.Now()
	switch {
	case !p.mayStart(now) || p.intake.calls >= p.intake.parallel || now.Before(p.intake.notBefore):
		return 0
	case p.aborts.trial(now):
		return max(0, 1-p.load.held-p.intake.calls)
	}
	slots, l := p.runner.Usable(p.concurrency()), p.runner.Count()
	space := slots - p.load.held - p.intake.reserved
	idle := slots - l.Running - l.Ready
	more := idle > p.intake.reserved // the open receives cannot fill all idle slots
	if more && p.fifo() {
		return p.requestedFIFO(space+p.cfg.Prefetch, idle)
	}
	space += p.load.ahead(now, slots, p.cfg.Prefetch)
	if space >= maxReceive || more {
		return max(0, min(space, maxReceive))
	}
	return 0 // a full receive a moment later costs less
}

// requestedFIFO is how many messages to ask for when slots are idle. All messages
// that a receive returns may be of one group, which uses one slot. Space for one
// message is therefore left for each of the other idle slots. No other consumer could
// have the messages that wait here, since their groups are locked.
func (p *Poller) requestedFIFO(space, idle int) int {
	if p.quick() {
		return min(space, maxReceive) / maxReceive * maxReceive
	}
	others := idle - p.intake.calls - 1
	return max(0, min(space, maxReceive, max(1, space-others)))
}

// quickPace is how long records may take on average for the next receive to wait until there
// is room for ten: small receives would come to three times the requests.
const quickPace = 20 * time.Millisecond

// quick reports whether the slots were all free again in the last second, and soon will be.
func (p *Poller) quick() bool {
	slots := p.runner.Usable(p.concurrency())
	return p.load.pace <= quickPace && p.cfg.Prefetch >= max(maxReceive, slots) && p.load.ahead(time.Now(), slots, slots) >= slots
}

func (p *Poller) fifo() bool { return isFIFO(p.queue.arn) }

// isFIFO looks at a queue's name, ARN or URL.
func isFIFO(queue string) bool { return strings.HasSuffix(strings.TrimSuffix(queue, "/"), ".fifo") }

func (p *Poller) input(n int, wait time.Duration, a attempt) *sqs.ReceiveMessageInput {
	return &sqs.ReceiveMessageInput{
		QueueUrl:                    &p.queue.url,
		MaxNumberOfMessages:         int32(n),
		WaitTimeSeconds:             int32(wait / time.Second),
		VisibilityTimeout:           int32(p.queue.visibility / time.Second),
		MessageAttributeNames:       []string{"All"},
		MessageSystemAttributeNames: []types.MessageSystemAttributeName{types.MessageSystemAttributeNameAll},
		ReceiveRequestAttemptId:     a.id,
	}
}

// receive makes one call, and returns a function that handles its answer.
func (p *Poller) receive(ctx context.Context, input *sqs.ReceiveMessageInput, a attempt, wait time.Duration) func() {
	callCtx, cancel := context.WithTimeout(ctx, wait+receiveMargin)
	defer cancel()
	began := time.Now()
	var messages []types.Message
	err := p.observe("ReceiveMessage", func(c *batch.Call) error {
		out, err := p.cfg.SQS.ReceiveMessage(callCtx, input, sqserror.Once)
		if err == nil {
			messages, c.Entries = out.Messages, len(out.Messages)
		}
		return err
	})
	now := time.Now()
	return func() {
		n := int(input.MaxNumberOfMessages)
		p.intake.calls--
		p.intake.reserved -= n
		if err != nil {
			p.receiveFailed(ctx, a, err)
			return
		}
		p.received(messages, n, now)
		if len(messages) == 0 && wait > 0 {
			p.intake.notBefore = began.Add(emptyInterval)
			if p.cfg.UntilEmpty && len(p.load.byID) == 0 && p.intake.calls == 0 {
				p.beginStop()
			}
		}
	}
}

// received takes the messages of a receive that asked for n.
func (p *Poller) received(messages []types.Message, n int, now time.Time) {
	in := &p.intake
	if in.answered.IsZero() {
		close(p.started)
	}
	in.answered, in.full, in.notBefore = now, len(messages) == n, time.Time{}
	p.works(&p.trouble.receiving, "receiving")
	if !in.full { // the queue is empty, or SQS did not look everywhere
		in.parallel = max(1, in.parallel/2)
	} else if in.calls+1 >= in.parallel {
		in.parallel = min(in.parallel+1, maxReceives)
	}
	p.counts.Received += len(messages)
	for _, together := range p.grouped(messages) {
		fresh := slices.DeleteFunc(together, func(m types.Message) bool { return p.known(m, now) })
		if len(fresh) > 0 {
			p.hold(p.receiptOf(fresh, now))
		}
	}
}

// grouped returns the messages of a receive as they are handled, in order: each by itself,
// or those of a FIFO group together.
func (p *Poller) grouped(received []types.Message) (list [][]types.Message) {
	groups := map[string]int{} // their places in list
	for i, m := range received {
		if aws.ToString(m.MessageId) == "" || aws.ToString(m.ReceiptHandle) == "" {
			continue // it cannot be settled: SQS shows it again
		}
		group := m.Attributes[string(types.MessageSystemAttributeNameMessageGroupId)]
		if k, ok := groups[group]; ok && p.fifo() {
			list[k] = append(list[k], m)
			continue
		}
		groups[group] = len(list)
		list = append(list, received[i:i+1:i+1])
	}
	return list
}

// receiveFailed decides when to try again.
func (p *Poller) receiveFailed(ctx context.Context, a attempt, err error) {
	in := &p.intake
	if a.id != nil && sqserror.Code(err) == "" {
		in.unanswered = append(in.unanswered, a)
	}
	if ctx.Err() != nil || p.phase != polling {
		return // it was abandoned by a stop or a pause
	}
	if in.answered.IsZero() {
		if c := configError(p.cfg.Queue, err); c != nil {
			p.fail(c)
			return
		}
	}
	in.parallel, in.full = 1, false
	p.failed(&p.trouble.receiving, false, "receiving fails", err, "trying again")
	in.notBefore = time.Now().Add(p.trouble.receiving.delay())
}

// intake is the state of receiving.
type intake struct {
	ctx        context.Context // of the receives that are open
	abandon    context.CancelFunc
	calls      int       // receives that are open
	reserved   int       // messages that they may return
	parallel   int       // how many may be open: more while they come back full
	unanswered []attempt // to make again
	notBefore  time.Time // when the next receive may begin
	answered   time.Time // when the latest one was
	begun      time.Time // when the latest one was
	full       bool      // the latest answer had all messages that were asked for: there are more
	// endBy is when open receives are abandoned, and then when SQS has noticed that. It is
	// zero as long as receives may begin.
	endBy time.Time
}

// attempt is a receive of a FIFO queue. If it gets no answer, SQS may have taken
// messages for it; SQS gives them to the next receive with the same id
// (ReceiveRequestAttemptId).
type attempt struct {
	id *string // nil for a standard queue
	n  int     // messages that SQS may have taken
}

// newAttempt returns an attempt that brings at most n messages. One that got no answer
// is made again.
func (in *intake) newAttempt(n int) attempt {
	i := slices.IndexFunc(in.unanswered, func(a attempt) bool { return a.n <= n })
	if i < 0 {
		return attempt{aws.String(rand.Text()), n}
	}
	a := in.unanswered[i]
	in.unanswered = slices.Delete(in.unanswered, i, i+1)
	return a
}

// open lets receives begin. Those that are open go on.
func (in *intake) open(base context.Context) {
	in.endBy = time.Time{}
	if in.ctx == nil || in.ctx.Err() != nil {
		in.ctx, in.abandon = context.WithCancel(base)
		in.parallel = 1
	}
}

const (
	// receiveGrace is how long an open receive may still be answered when the
	// poller stops or pauses.
	receiveGrace = 200 * time.Millisecond
	// fullGrace is how long after its beginning a receive may be answered then, if the
	// answer before it was a full one: it may be on its way with messages.
	fullGrace = 2 * time.Second
	// noticeTime is how long SQS may take to notice that the client of a receive has left.
	noticeTime = 50 * time.Millisecond
)

// endSoon has open receives abandoned a moment after its first call. None may begin any more.
func (in *intake) endSoon(now time.Time) {
	if !in.endBy.IsZero() {
		return
	}
	in.endBy = now.Add(receiveGrace)
	if late := in.begun.Add(fullGrace); late.After(in.endBy) && (in.full || in.answered.IsZero()) {
		in.endBy = late
	}
}

// abandonLate abandons open receives when their time is over.
func (in *intake) abandonLate(now time.Time) {
	if in.ending(now) && in.ctx.Err() == nil && !now.Before(in.endBy) {
		in.abandon()
		in.endBy = now.Add(noticeTime)
	}
}

// ending reports whether receives are open that end soon, or were abandoned just now. They
// would take again what is released meanwhile, which costs it a delivery; an abandoned
// receive, which SQS may still serve, would hide it from everyone.
func (in *intake) ending(now time.Time) bool {
	if in.ctx.Err() != nil {
		return now.Before(in.endBy)
	}
	return in.calls > 0 && !in.endBy.IsZero()
}
