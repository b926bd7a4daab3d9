package longpoll

import (
	"context"
	"crypto/rand"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/sqs"
	"github.com/aws/aws-sdk-go-v2/service/sqs/types"
)

const (
	// receiveMargin is how much longer than its wait a receive may take.
	receiveMargin = 10 * time.Second
	// maxParallel bounds the receives that are open at a time.
	maxParallel = 32
	// attemptKept is for how long SQS gives the messages of a receive again to
	// one with the same attempt id (ReceiveRequestAttemptId, FIFO queues).
	attemptKept = 5*time.Minute - 10*time.Second
	// cutAfter tells a long poll that something between here and SQS has cut
	// from a call that failed at once.
	cutAfter = 2 * time.Second
)

// intake is the state of receiving; the poller's lock guards it.
type intake struct {
	ctx      context.Context // of the receives that are open
	abandon  context.CancelFunc
	calls    int // receives that are open
	reserved int // messages that they may return
	parallel int // how many may be open: more while they come back full
	wait     time.Duration
	began    time.Time // the oldest that is open, roughly: the latest that began when none was
	attempt  attempt
	last     time.Time // when the latest one was answered
}

// attempt is the id of a FIFO queue's receive that was not answered.
type attempt struct {
	id    string
	since time.Time
}

// open lets receives begin.
func (in *intake) open(base context.Context) {
	in.ctx, in.abandon = context.WithCancel(base)
	in.parallel = 1
}

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
		if in.calls == 0 {
			in.began = time.Now()
		}
		in.calls++
		in.reserved += n
		wait := p.cfg.Wait
		if in.wait > 0 {
			wait = in.wait
		}
		if p.counts.Receives == 0 {
			wait = 0 // the first tells at once whether the queue can be used
		}
		p.counts.Receives++
		input := p.input(n, wait)
		p.routines.Go(func() { p.receive(in.ctx, input, n, wait) })
	}
}

// room is how many messages the next receive may ask for, 0 for none now: ten,
// or fewer if there are idle slots which nothing else will fill.
func (p *Poller) room() int {
	in := &p.intake
	switch {
	case p.phase != polling || p.paused || in.calls >= in.parallel,
		p.trouble.tries > 0 && (in.calls > 0 || time.Now().Before(p.trouble.until)),
		p.settling.backlog >= maxBacklog+p.cfg.Engine.Concurrency:
		return 0
	}
	space := p.cfg.Engine.Concurrency + p.load.ahead(time.Now(), p.cfg.Prefetch) - p.load.held - in.reserved
	idle := p.cfg.Engine.Concurrency - p.load.running - len(p.load.waiting) - in.reserved
	if space >= maxReceive || space > 0 && idle > 0 {
		return min(space, maxReceive)
	}
	return 0
}

// systemAttributes are those that become fields of a record.
var systemAttributes = []types.MessageSystemAttributeName{types.MessageSystemAttributeNameAll}

func (p *Poller) input(n int, wait time.Duration) *sqs.ReceiveMessageInput {
	in := &sqs.ReceiveMessageInput{
		QueueUrl:                    &p.queue.url,
		MaxNumberOfMessages:         int32(n),
		WaitTimeSeconds:             int32(wait / time.Second),
		VisibilityTimeout:           int32(p.queue.visibility / time.Second),
		MessageAttributeNames:       []string{"All"},
		MessageSystemAttributeNames: systemAttributes,
	}
	if strings.HasSuffix(p.queue.arn, ".fifo") {
		a := &p.intake.attempt
		if a.id == "" || time.Since(a.since) > attemptKept {
			*a = attempt{rand.Text(), time.Now()}
		}
		id := a.id
		*a = attempt{} // the next one is another receive, unless this one fails
		in.ReceiveRequestAttemptId = &id
	}
	return in
}

// receive makes one call and takes what it returns.
func (p *Poller) receive(ctx context.Context, input *sqs.ReceiveMessageInput, n int, wait time.Duration) {
	began := time.Now()
	callCtx, cancel := context.WithTimeout(ctx, wait+receiveMargin)
	out, err := p.cfg.SQS.ReceiveMessage(callCtx, input, once)
	cancel()
	now := time.Now()

	p.mu.Lock()
	in := &p.intake
	in.calls--
	in.reserved -= n
	if err != nil {
		p.receiveFailed(ctx, input, err, now.Sub(began), wait)
		p.receiveMore()
		p.signal()
		p.mu.Unlock()
		return
	}
	in.last = now
	p.trouble.works(p)
	if len(out.Messages) < n {
		in.parallel = 1
	} else if in.calls+1 >= in.parallel {
		in.parallel = min(in.parallel+1, maxParallel)
	}
	p.counts.Received += len(out.Messages)
	p.takeIn(p.chains(out.Messages, now))
	p.receiveMore()
	p.signal()
	p.mu.Unlock()
	p.pump()
}

// receiveFailed decides when to try again; the caller holds the lock.
func (p *Poller) receiveFailed(ctx context.Context, input *sqs.ReceiveMessageInput, err error, took, wait time.Duration) {
	if ctx.Err() != nil {
		return // it was given up, see drain and Pause
	}
	if p.intake.last.IsZero() {
		if c := configError(p.cfg.Queue, err); c != nil {
			p.fail(c)
			return
		}
	}
	p.intake.parallel = 1
	if id := input.ReceiveRequestAttemptId; id != nil {
		p.intake.attempt = attempt{*id, time.Now().Add(-took)} // the same again: SQS may have taken messages for it
	}
	if codeOf(err) == "" && took >= cutAfter && took < wait {
		p.intake.wait = max(time.Second, (took - time.Second).Truncate(time.Second))
	}
	delay := p.trouble.failed(p, "receiving fails", err)
	p.trouble.stopTimer()
	p.trouble.timer = time.AfterFunc(delay, func() {
		p.mu.Lock()
		defer p.mu.Unlock()
		p.receiveMore()
	})
}
