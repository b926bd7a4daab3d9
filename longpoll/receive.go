package longpoll

import (
	"context"
	"crypto/rand"
	"slices"
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
// full.
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
		p.call(func() func() { return p.receive(ctx, input, a, wait) })
	}
}

// room is how many messages the next receive may ask for, 0 for none now: ten,
// or fewer if there are idle slots which nothing else will fill.
func (p *Poller) room() int {
	switch {
	case !p.mayReceive():
		return 0
	case p.aborts.trial(time.Now()):
		if p.load.held+p.intake.calls == 0 {
			return 1
		}
		return 0
	case p.fifo():
		return p.roomFIFO()
	}
	slots, l := p.cfg.Engine.Concurrency, p.runner.Count()
	space := slots + p.load.ahead(time.Now(), slots, p.cfg.Prefetch) - p.load.held - p.intake.reserved
	idle := slots - l.Running - l.Ready - p.intake.reserved
	if space >= maxReceive || space > 0 && idle > 0 {
		return min(space, maxReceive)
	}
	return 0
}

// mayReceive reports whether anything but a lack of room forbids a receive.
func (p *Poller) mayReceive() bool {
	in, now := &p.intake, time.Now()
	switch {
	case p.phase != polling, p.fatal != nil, p.pausing, p.aborts.on(now):
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
	slots, l := p.cfg.Engine.Concurrency, p.runner.Count()
	space := slots - p.load.held - p.intake.reserved
	idle := slots - l.Running - l.Ready - p.intake.calls
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

// receive makes one call, and returns what takes its answer.
func (p *Poller) receive(ctx context.Context, input *sqs.ReceiveMessageInput, a attempt, wait time.Duration) func() {
	callCtx, cancel := context.WithTimeout(ctx, wait+receiveMargin)
	call := p.callOf("ReceiveMessage")
	out, err := p.cfg.SQS.ReceiveMessage(callCtx, input, sqserror.Once)
	cancel()
	now := answered(&call, err)
	if err == nil {
		call.Entries = len(out.Messages)
	}
	p.called(call)
	return func() {
		n := int(input.MaxNumberOfMessages)
		p.intake.calls--
		p.intake.reserved -= n
		if err != nil {
			p.receiveFailed(ctx, a, err, call.Duration, wait)
			return
		}
		p.received(out.Messages, n, now, wait > 0 && call.Duration < tooSoon)
		p.intake.uncut(now, call.Duration >= p.cfg.Wait)
	}
}

// received takes messages, of n that were asked for. hasty says that nobody waited for
// them.
func (p *Poller) received(messages []types.Message, n int, now time.Time, hasty bool) {
	in := &p.intake
	in.last, in.busy = now, len(messages) == n
	p.trouble.works(p)
	if len(messages) < n { // there is no more, or SQS did not find it at once
		in.parallel = max(1, in.parallel/2)
	} else if in.calls+1 >= in.parallel {
		in.parallel = min(in.parallel+1, maxParallel)
	}
	if len(messages) == 0 && hasty {
		in.notBefore = now.Add(time.Second) // SQS waits; what stands in its place may not
	}
	p.counts.Received += len(messages)
	p.hold(p.receipts(messages, now), now)
}

// receiveFailed decides when to try again.
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
	p.trouble.failed(p, "receiving fails", err)
}

const (
	// attemptKept is for how long SQS gives the messages of a receive again to
	// one with the same attempt id (ReceiveRequestAttemptId, FIFO queues).
	attemptKept = 5*time.Minute - 10*time.Second
	// cutKept is for how long receives stay shorter after that.
	cutKept = time.Hour
	// receiveGrace is how long an open receive may still be answered when the
	// poller stops or pauses.
	receiveGrace = 200 * time.Millisecond
	// busyGrace is for how long in all one may have been open then that may be
	// on its way with messages, since the answer before it was a full one.
	busyGrace = 2 * time.Second
)

// intake is the state of receiving.
type intake struct {
	ctx       context.Context // of the receives that are open
	abandon   context.CancelFunc
	calls     int           // receives that are open
	reserved  int           // messages that they may return
	parallel  int           // how many may be open: more while they come back full
	wait      time.Duration // instead of the configured one, because receives were cut; or 0
	cuts      int           // one after another
	cutAt     time.Time     // the last of them
	began     time.Time     // the oldest that is open, roughly: the latest that began when none was
	again     []attempt     // that got no answer
	notBefore time.Time     // of the next receive, when the latest was answered too soon
	last      time.Time     // when the latest one was answered
	latest    time.Time     // when the latest one began
	busy      bool          // the latest answer brought all that were asked for: there is more
	endBy     time.Time     // when open receives are given up, once none may begin any more
}

// attempt is a FIFO queue's receive that was not answered.
type attempt struct {
	id    string
	since time.Time
	n     int // messages that SQS may have taken for it
}

// next takes an attempt to make again that brings no more than n messages, or a new one.
func (in *intake) next(n int) attempt {
	in.again = slices.DeleteFunc(in.again, func(a attempt) bool { return time.Since(a.since) > attemptKept })
	for i, a := range in.again {
		if a.n <= n {
			in.again = slices.Delete(in.again, i, i+1)
			return a
		}
	}
	return attempt{rand.Text(), time.Now(), n}
}

// cut notes a long poll that ended early. One is a connection that broke; the
// second in a row is something on the way that cuts them all, so that shorter
// ones are made.
func (in *intake) cut(now time.Time, took time.Duration) {
	in.cuts++
	in.cutAt = now
	if in.cuts > 1 {
		in.wait = max(time.Second, (took - time.Second).Truncate(time.Second))
	}
}

// uncut notes a receive that was answered, and whether it took its whole time.
// Now and then a long one is tried again.
func (in *intake) uncut(now time.Time, whole bool) {
	switch {
	case whole:
		in.cuts = 0
	case in.wait > 0 && now.Sub(in.cutAt) > cutKept:
		in.wait, in.cuts = 0, 1
	}
}

// open lets receives begin, and those go on that are still open.
func (in *intake) open(base context.Context) {
	in.endBy = time.Time{}
	if in.ctx == nil || in.ctx.Err() != nil {
		in.ctx, in.abandon = context.WithCancel(base)
		in.parallel = 1
	}
}

// end is until when open receives may be answered, from the first time that it is
// asked for, when nothing more is to be received: SQS may have taken messages for
// them already.
func (in *intake) end(now time.Time) time.Time {
	if !in.endBy.IsZero() {
		return in.endBy
	}
	in.endBy = now.Add(receiveGrace)
	if busy := in.latest.Add(busyGrace); (in.busy || in.last.IsZero()) && busy.After(in.endBy) {
		in.endBy = busy
	}
	return in.endBy
}
