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
	"github.com/sqsbatch/sqsbatch/internal/sqscall"
	"github.com/sqsbatch/sqsbatch/internal/sqserror"
)

const (
	// receiveMargin is how much longer than its wait a receive may take.
	receiveMargin = 10 * time.Second
	// maxReceives is the most receives that are open at the same time.
	maxReceives = 32
	// emptyInterval is the least time between an empty long poll and the next one. SQS
	// itself waits; servers that emulate it may not.
	emptyInterval = time.Second
)

// receiveMore starts receives as long as there is room for what they may return.
func (p *Poller) receiveMore() {
	for n := p.requested(); n > 0; n = p.requested() {
		p.beginReceive(n)
	}
}

// beginReceive starts a receive of at most n messages.
func (p *Poller) beginReceive(n int) {
	in := &p.intake
	in.begun = time.Now()
	in.calls++
	in.reserved += n
	p.counts.Receives++
	wait := p.cfg.Wait
	if in.answered.IsZero() || p.trouble.receiving.tries > 0 {
		wait = 0 // so that the answer shows at once whether the queue can be used
	}
	var a attempt
	if p.fifo() {
		a = in.newAttempt(n)
	}
	ctx, input := in.ctx, p.input(n, wait, a)
	p.call(func() func() { return p.receive(ctx, input, a, wait) })
}

// requested returns how many messages the next receive asks for, or 0 if none may begin
// now.
func (p *Poller) requested() int {
	now := time.Now()
	switch {
	case !p.mayStart(now) || p.intake.calls >= p.intake.parallel || now.Before(p.intake.notBefore):
		return 0
	case p.aborts.trial(now):
		return max(0, 1-p.load.held-p.intake.calls)
	}
	slots, l := p.runner.Usable(p.most), p.runner.Count()
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

// requestedFIFO returns how many messages to ask for if slots are idle. All messages that a
// receive returns may be of one group, which uses only one slot, so it leaves space for one
// message for each of the other idle slots. Other consumers could not have the messages
// that wait here, since their groups are locked.
func (p *Poller) requestedFIFO(space, idle int) int {
	if p.quick() {
		return min(space, maxReceive) / maxReceive * maxReceive
	}
	others := idle - p.intake.calls - 1
	return max(0, min(space, maxReceive, max(1, space-others)))
}

// quickPace is the average duration of handlers up to which the next receive waits until
// there is room for ten. Small receives would cost three times the requests.
const quickPace = 20 * time.Millisecond

// quick reports whether all slots were free at some time in the last second, and will be
// again soon.
func (p *Poller) quick() bool {
	slots := p.runner.Usable(p.most)
	return p.load.pace <= quickPace && p.cfg.Prefetch >= max(maxReceive, slots) && p.load.ahead(time.Now(), slots, slots) >= slots
}

func (p *Poller) fifo() bool { return isFIFO(p.queue.arn) }

// isFIFO looks at the name in a queue's name, ARN or URL.
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
		out, err := p.cfg.SQS.ReceiveMessage(callCtx, input, sqscall.Once)
		if err == nil {
			messages, c.Entries = out.Messages, len(out.Messages)
		}
		return err
	})
	now := time.Now()
	hidden := p.keepApart(ctx, messages)
	return func() {
		n := int(input.MaxNumberOfMessages)
		p.intake.calls--
		p.intake.reserved -= n
		if err != nil {
			p.receiveFailed(ctx, a, err)
			return
		}
		p.received(messages, n, now, hidden)
		if len(messages) == 0 && wait > 0 {
			p.intake.notBefore = began.Add(emptyInterval)
			if p.cfg.UntilEmpty && len(p.load.byID) == 0 && p.intake.calls == 0 {
				p.beginStop()
			}
		}
	}
}

// apart has the visibility timeouts that messages of a receive got instead of the queue's, by
// receipt handle, see [settle.Policy.Apart].
type apart struct {
	timeouts  map[string]time.Duration
	confirmed bool // SQS has answered
}

// keepApart gives messages that come back different visibility timeouts.
func (p *Poller) keepApart(ctx context.Context, messages []types.Message) (a apart) {
	again := func(m types.Message) bool { return m.Attributes[attemptAttribute] != "1" }
	if len(messages) < 2 || !slices.ContainsFunc(messages, again) {
		return a
	}
	records := make([]batch.Record, len(messages))
	for i := range messages {
		records[i] = p.recordOf(&messages[i], time.Time{})
	}
	var err error
	a.timeouts, err = p.policy.Apart(ctx, records, p.queue.visibility, p.called)
	a.confirmed = err == nil
	return a
}

const attemptAttribute = string(types.MessageSystemAttributeNameApproximateReceiveCount)

// received handles the messages of a receive that asked for n. Some of them are hidden for
// longer than the others.
func (p *Poller) received(messages []types.Message, n int, now time.Time, a apart) {
	in := &p.intake
	if in.answered.IsZero() {
		close(p.started)
	}
	in.answered, in.full, in.notBefore = now, len(messages) == n, time.Time{}
	p.works(&p.trouble.receiving, "receiving")
	if !in.full { // the queue is empty, or SQS did not query all of its servers
		in.parallel = max(1, in.parallel/2)
	} else if in.calls+1 >= in.parallel {
		in.parallel = min(in.parallel+1, maxReceives)
	}
	p.counts.Received += len(messages)
	for _, together := range p.grouped(messages) {
		fresh := slices.DeleteFunc(together, func(m types.Message) bool { return p.known(m, now, a) })
		if len(fresh) > 0 {
			p.hold(p.messagesOf(fresh, now, a))
		}
	}
}

// grouped splits the messages of a receive into those that are handled together, in order:
// each message by itself, or the messages of a FIFO group.
func (p *Poller) grouped(received []types.Message) (list [][]types.Message) {
	groups := map[string]int{} // their positions in list
	for i, m := range received {
		if aws.ToString(m.MessageId) == "" || aws.ToString(m.ReceiptHandle) == "" {
			continue // it cannot be settled; SQS shows it again
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
	if a.id != nil && (sqserror.Code(err) == "" || sqserror.Unsure(err)) {
		in.unanswered = append(in.unanswered, a)
	}
	if ctx.Err() != nil || p.phase != polling {
		return // a stop or a pause abandoned it
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
	ctx        context.Context // context of the open receives
	abandon    context.CancelFunc
	calls      int       // open receives
	reserved   int       // messages that they may return
	parallel   int       // how many may be open; it grows while they come back full
	unanswered []attempt // attempts to make again
	notBefore  time.Time // no receive may begin before
	answered   time.Time // when the latest one was answered
	begun      time.Time // when the latest one began
	full       bool      // the latest answer had as many messages as were asked for, so there are more
	// endBy is when open receives are abandoned, and after that, when SQS has noticed it.
	// It is zero as long as receives may begin.
	endBy time.Time
}

// attempt is a receive of a FIFO queue. If it gets no answer, or an error of the service,
// SQS may have taken messages for it. SQS returns them to the next receive with the same id
// (ReceiveRequestAttemptId).
type attempt struct {
	id *string // nil for a standard queue
	n  int     // messages that SQS may have taken for it
}

// newAttempt returns an attempt for at most n messages. It repeats one of unanswered, if
// there is one.
func (in *intake) newAttempt(n int) attempt {
	i := slices.IndexFunc(in.unanswered, func(a attempt) bool { return a.n <= n })
	if i < 0 {
		return attempt{aws.String(rand.Text()), n}
	}
	a := in.unanswered[i]
	in.unanswered = slices.Delete(in.unanswered, i, i+1)
	return a
}

// open lets receives begin. Receives that are open go on.
func (in *intake) open(base context.Context) {
	in.endBy = time.Time{}
	if in.ctx == nil || in.ctx.Err() != nil {
		in.ctx, in.abandon = context.WithCancel(base)
		in.parallel = 1
	}
}

const (
	// receiveGrace is how long an open receive may still be answered after a stop or a
	// pause.
	receiveGrace = 200 * time.Millisecond
	// fullGrace is how long after its start a receive may be answered after a stop or a
	// pause, if the answer before it was full: it may be about to return messages.
	fullGrace = 2 * time.Second
	// noticeTime is how long SQS may take to notice that the client of a receive is gone.
	noticeTime = 50 * time.Millisecond
)

// endSoon abandons open receives a moment after its first call. No receive may begin from
// now on.
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

// ending reports whether there are receives that end soon or were just abandoned. An open
// one would receive records again that are released now, which costs each a delivery. An
// abandoned one, which SQS may still serve, would hide them from everyone.
func (in *intake) ending(now time.Time) bool {
	if in.ctx.Err() != nil {
		return now.Before(in.endBy)
	}
	return in.calls > 0 && !in.endBy.IsZero()
}
