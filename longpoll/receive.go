package longpoll

import (
	"context"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/sqs"
	"github.com/aws/aws-sdk-go-v2/service/sqs/types"
	"github.com/sqsbatch/sqsbatch/internal/sqserror"
)

const (
	// receiveMargin is how much longer than its wait a receive may take.
	receiveMargin = 10 * time.Second
	// maxParallel bounds the receives that are open at a time.
	maxParallel = 32
	// cutAfter tells a long poll that something between here and SQS has cut
	// from a call that failed at once.
	cutAfter = 2 * time.Second
	// tooSoon tells an empty answer to a long poll that nobody waited for.
	tooSoon = 500 * time.Millisecond
)

// receiveMore begins receives as long as there is room for what they may
// return. One waits at an idle queue; there are more only while they come back
// full. The caller holds the lock.
func (p *Poller) receiveMore() {
	for {
		n := p.room()
		if n == 0 {
			return
		}
		in := &p.intake
		in.latest = time.Now()
		if in.calls == 0 {
			in.began = in.latest
		}
		in.calls++
		in.reserved += n
		wait := p.cfg.Wait
		if in.wait > 0 {
			wait = in.wait
		}
		if p.counts.Receives == 0 || p.trouble.line.tries > 0 {
			wait = 0 // it tells at once whether the queue can be used
		}
		p.counts.Receives++
		var a attempt
		if p.fifo() {
			a = in.next(n)
		}
		ctx, input := in.ctx, p.input(n, wait, a)
		p.routines.Go(func() { p.receive(ctx, input, a, wait) })
	}
}

// room is how many messages the next receive may ask for, 0 for none now: ten,
// or fewer if there are idle slots which nothing else will fill.
func (p *Poller) room() int {
	switch {
	case !p.mayReceive():
		return 0
	case p.probing(time.Now()):
		if p.load.held+p.intake.calls == 0 {
			return 1
		}
		return 0
	case p.fifo():
		return p.roomFIFO()
	}
	slots := p.cfg.Engine.Concurrency
	space := slots + p.load.ahead(time.Now(), slots, p.cfg.Prefetch) - p.load.held - p.intake.reserved
	idle := slots - p.load.running - len(p.load.waiting) - p.intake.reserved
	if space >= maxReceive || space > 0 && idle > 0 {
		return min(space, maxReceive)
	}
	return 0
}

// mayReceive reports whether anything but a lack of room forbids a receive.
func (p *Poller) mayReceive() bool {
	in, now := &p.intake, time.Now()
	switch {
	case p.phase != polling, p.fatal != nil, p.paused, p.aborted(now):
		return false
	case in.calls >= in.parallel, now.Before(in.notBefore):
		return false
	case p.trouble.line.tries > 0 && (in.calls > 0 || now.Before(p.trouble.until)):
		return false
	}
	return !p.deletesHold(now)
}

// roomFIFO is room of a FIFO queue. All that comes may be of one group, for one
// slot, so that idle slots ask for more beside it; and what it brings ahead
// nobody else could have meanwhile, since the group is locked.
func (p *Poller) roomFIFO() int {
	slots := p.cfg.Engine.Concurrency
	space := slots - p.load.held - p.intake.reserved
	idle := slots - p.load.running - len(p.load.waiting) - p.intake.calls
	if idle <= 0 {
		space += p.load.ahead(time.Now(), slots, p.cfg.Prefetch)
	} else {
		space += p.cfg.Prefetch
		if !p.quick() {
			return max(0, min(space, maxReceive, max(1, space-idle+1))) // something is left for the other slots
		}
	}
	if space >= maxReceive {
		return maxReceive
	}
	return 0 // there will be room for ten in a moment
}

// quickPace is for how long records may run that are waited for, so that the
// next receive is a full one.
const quickPace = 20 * time.Millisecond

// quick reports whether the slots were all free again in the last second, and
// soon will be.
func (p *Poller) quick() bool {
	slots := p.cfg.Engine.Concurrency
	return p.load.pace <= quickPace && p.cfg.Prefetch >= max(maxReceive, slots) && p.load.ahead(time.Now(), slots, slots) >= slots
}

func (p *Poller) fifo() bool { return isFIFO(p.queue.arn) }

// isFIFO tells by a queue's name, ARN or URL.
func isFIFO(queue string) bool { return strings.HasSuffix(strings.TrimSuffix(queue, "/"), ".fifo") }

// systemAttributes are those that become fields of a record.
var systemAttributes = []types.MessageSystemAttributeName{types.MessageSystemAttributeNameAll}

func (p *Poller) input(n int, wait time.Duration, a attempt) *sqs.ReceiveMessageInput {
	in := &sqs.ReceiveMessageInput{
		QueueUrl:                    &p.queue.url,
		MaxNumberOfMessages:         int32(n),
		WaitTimeSeconds:             int32(wait / time.Second),
		VisibilityTimeout:           int32(p.queue.visibility / time.Second),
		MessageAttributeNames:       []string{"All"},
		MessageSystemAttributeNames: systemAttributes,
	}
	if a.id != "" {
		in.ReceiveRequestAttemptId = &a.id
	}
	return in
}

// receive makes one call and takes what it returns.
func (p *Poller) receive(ctx context.Context, input *sqs.ReceiveMessageInput, a attempt, wait time.Duration) {
	n := int(input.MaxNumberOfMessages)
	callCtx, cancel := context.WithTimeout(ctx, wait+receiveMargin)
	call := p.call("ReceiveMessage")
	out, err := p.cfg.SQS.ReceiveMessage(callCtx, input, sqserror.Once)
	cancel()
	now := answered(&call, err)
	defer func() { p.called(call) }() // without the lock, when all that came is on its way

	p.mu.Lock()
	in := &p.intake
	in.calls--
	in.reserved -= n
	if err != nil {
		p.receiveFailed(ctx, a, err, call.Duration, wait)
		p.receiveMore()
		p.signal()
		p.mu.Unlock()
		return
	}
	in.last, in.busy = now, len(out.Messages) == n
	in.uncut(now, call.Duration >= p.cfg.Wait)
	p.trouble.works(p)
	if len(out.Messages) < n { // there is no more, or SQS did not find it at once
		in.parallel = max(1, in.parallel/2)
	} else if in.calls+1 >= in.parallel {
		in.parallel = min(in.parallel+1, maxParallel)
	}
	if len(out.Messages) == 0 && wait > 0 && call.Duration < tooSoon {
		p.intake.notBefore = now.Add(time.Second) // SQS waits; what stands in its place may not
		p.receiveAfter(time.Second)
	}
	call.Entries = len(out.Messages)
	p.counts.Received += len(out.Messages)
	p.takeIn(p.chains(out.Messages, now))
	p.receiveMore()
	p.signal()
	p.mu.Unlock()
	p.pump()
}

// receiveFailed decides when to try again; the caller holds the lock.
func (p *Poller) receiveFailed(ctx context.Context, a attempt, err error, took, wait time.Duration) {
	if a.id != "" && sqserror.Code(err) == "" {
		p.intake.again = append(p.intake.again, a) // SQS may have taken messages for it
	}
	if ctx.Err() != nil || p.phase != polling {
		return // it was given up, see drain and Pause
	}
	if p.intake.last.IsZero() {
		if c := configError(p.cfg.Queue, err); c != nil {
			p.fail(c)
			return
		}
	}
	p.intake.parallel, p.intake.busy = 1, false
	if sqserror.Code(err) == "" && took >= cutAfter && took < wait {
		p.intake.cut(time.Now(), took)
	}
	delay := p.trouble.failed(p, "receiving fails", err)
	p.receiveAfter(delay)
}

// receiveAfter begins receives again later.
func (p *Poller) receiveAfter(delay time.Duration) {
	p.trouble.stopTimer()
	p.trouble.timer = time.AfterFunc(delay, func() {
		p.mu.Lock()
		defer p.mu.Unlock()
		p.receiveMore()
	})
}
