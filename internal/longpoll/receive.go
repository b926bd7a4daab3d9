package longpoll

import (
	"context"
	"slices"
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
	l := p.runner.Count()
	return p.load.pace.Requested(now, Demand{
		FIFO: p.fifo(), Slots: p.runner.Usable(p.most), Busy: l.Running + l.Ready, Held: p.load.held,
		Reserved: p.intake.reserved, Calls: p.intake.calls, Prefetch: p.cfg.Prefetch,
	})
}

// Demand is what the size of the next receive depends on.
type Demand struct {
	FIFO     bool
	Slots    int
	Busy     int // records, or FIFO groups, that run or could
	Held     int // records
	Reserved int // records that the open receives may return
	Calls    int // open receives
	Prefetch int
}

// Requested returns how many messages the next receive asks for, 0 if it is to wait.
func (p *Pace) Requested(now time.Time, d Demand) int {
	space := d.Slots - d.Held - d.Reserved
	idle := d.Slots - d.Busy
	more := idle > d.Reserved // the open receives cannot fill all idle slots
	if more && d.FIFO {
		return p.requestedFIFO(now, d, space+d.Prefetch, idle)
	}
	space += p.ahead(now, d.Slots, d.Prefetch)
	if space >= maxReceive || more {
		return max(0, min(space, maxReceive))
	}
	return 0 // a full receive a moment later costs less
}

// requestedFIFO returns how many messages to ask for if slots are idle. All messages that a
// receive returns may be of one group, which uses only one slot, so it leaves space for one
// message for each of the other idle slots. Other consumers could not have the messages
// that wait here, since their groups are locked.
func (p *Pace) requestedFIFO(now time.Time, d Demand, space, idle int) int {
	if p.quick(now, d) {
		return min(space, maxReceive) / maxReceive * maxReceive // ten or none
	}
	others := idle - d.Calls - 1
	return max(0, min(space, maxReceive, max(1, space-others)))
}

// quickPace is the average duration of handlers up to which the next receive waits until
// there is room for ten. Small receives would cost three times the requests.
const quickPace = 20 * time.Millisecond

// quick reports whether all slots were free at some time in the last second, and will be
// again soon.
func (p *Pace) quick(now time.Time, d Demand) bool {
	return p.took <= quickPace && d.Prefetch >= max(maxReceive, d.Slots) && p.ahead(now, d.Slots, d.Slots) >= d.Slots
}

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
		p.received(messages, n, began, now, hidden)
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
func (p *Poller) received(messages []types.Message, n int, began, now time.Time, a apart) {
	in := &p.intake
	if in.answered.IsZero() {
		close(p.started)
	}
	in.answered, in.took, in.full, in.notBefore = now, now.Sub(began), len(messages) == n, time.Time{}
	p.works(&p.trouble.receiving, "receiving")
	in.parallel = Parallel(in.parallel, in.calls, in.full)
	p.counts.Received += len(messages)
	for _, together := range p.grouped(messages) {
		fresh := slices.DeleteFunc(together, func(m types.Message) bool { return p.repeats(m, now, a) })
		if len(fresh) > 0 {
			p.hold(p.deliveriesOf(fresh, now, a))
		}
	}
}

// Parallel returns how many receives may be open after an answer, of which calls still are.
func Parallel(parallel, calls int, full bool) int {
	switch {
	case !full: // the queue is empty, or SQS did not query all of its servers
		return max(1, parallel/2)
	case calls+1 >= parallel:
		return min(parallel+1, maxReceives)
	}
	return parallel
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
