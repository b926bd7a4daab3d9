package lambda

import (
	"context"
	"errors"
	"slices"
	"sync"
	"time"

	awssqs "github.com/aws/aws-sdk-go-v2/service/sqs"
	"github.com/aws/aws-sdk-go-v2/service/sqs/types"

	"github.com/sqsbatch/sqsbatch/internal/draw"
	"github.com/sqsbatch/sqsbatch/internal/sleep"
)

// work is a running mapping. Its pollers share it.
type work struct {
	Mapping
	isFIFO      bool
	region      string
	visibility  time.Duration
	shortPolls  bool // a receive without WaitTimeSeconds does not wait
	filters     []*Filter
	slots       chan struct{}  // one token for each invocation, from before its first receive
	deletions   chan struct{}  // one token for each running deletion of filtered messages
	invocations sync.WaitGroup // running invocations, and deletions of filtered messages
	listening   sync.Mutex     // one listener at a time
}

// poller receives, gathers batches and waits for environments in one goroutine, which owns the
// fields. Each invocation has its own goroutine, which also settles the batch.
type poller struct {
	*work
	receives int                  // number of successful receives
	failures int                  // number of consecutive failed receives
	carry    []message            // received messages that did not fit into the last batch
	runs     map[string]*groupRun // by group: the latest invocation; FIFO only
}

// poll runs the pollers until ctx ends, and waits for invocations and deletions.
func (w *work) poll(ctx context.Context) {
	var pollers sync.WaitGroup
	for range max(w.Pollers, 1) {
		p := &poller{work: w, runs: map[string]*groupRun{}}
		pollers.Go(func() { p.poll(ctx) })
	}
	pollers.Wait()
	w.invocations.Wait()
}

const (
	receiveBackoffBase = 200 * time.Millisecond
	receiveBackoffCap  = 20 * time.Second
	// releaseTimeout limits the calls that release messages.
	releaseTimeout = 5 * time.Second
)

// poll receives and invokes until ctx ends, and releases the remaining messages.
func (p *poller) poll(ctx context.Context) {
	for {
		select {
		case p.slots <- struct{}{}:
		case <-ctx.Done():
		}
		b := p.collect(ctx)
		p.inOrder(ctx, b)
		env := p.environment(ctx, b)
		if env == nil { // no message is left, or ctx has ended
			if ctx.Err() != nil {
				p.release(ctx, append(b.messages, p.carry...))
				return
			}
			<-p.slots
			continue
		}
		i := p.prepare(env, b)
		p.invocations.Go(func() {
			defer func() { <-p.slots }()
			p.invoke(ctx, i)
		})
	}
}

// collect gathers a batch until it is full, has 6 MB, or its window is over. At ctx's end it
// returns the messages received so far.
func (p *poller) collect(ctx context.Context) *batch {
	b := &batch{}
	for full := p.fill(b, nil); !full && ctx.Err() == nil; {
		wait, last := longPoll, false
		if len(b.messages) > 0 {
			end := b.messages[0].ReceivedAt.Add(p.Window)
			wait = time.Until(end)
			if wait <= 0 {
				break
			}
			// Long polls wait for whole seconds. Wait for a remaining fraction, and then
			// receive the new messages with one short poll. There is no short poll if the
			// queue has a ReceiveMessageWaitTimeSeconds, since the SDK leaves out a wait of 0.
			if last = wait < time.Second; last {
				sleep.Until(ctx, end)
				if !p.shortPolls {
					break
				}
			}
		}
		got, err := p.receive(ctx, min(maxReceive, p.BatchSize-len(b.messages)), wait)
		if err != nil {
			p.backOff(ctx, b, err)
			continue
		}
		full = p.fill(b, got) || last
	}
	return b
}

// fill adds messages to b that fit, first p.carry, then got, and carries over the rest. It
// reports whether b is full.
func (p *poller) fill(b *batch, got []message) (full bool) {
	queue := got
	if len(p.carry) > 0 {
		queue = append(p.carry, got...)
	}
	b.messages = slices.Grow(b.messages, min(len(queue), p.BatchSize-len(b.messages)))
	for len(queue) > 0 && b.add(queue[0], p.BatchSize) {
		queue = queue[1:]
	}
	p.carry = queue
	return len(queue) > 0 || len(b.messages) == p.BatchSize
}

func (p *poller) receive(ctx context.Context, most int, wait time.Duration) ([]message, error) {
	out, err := p.SQS.ReceiveMessage(ctx, &awssqs.ReceiveMessageInput{
		QueueUrl:                    &p.QueueURL,
		MaxNumberOfMessages:         int32(most),
		WaitTimeSeconds:             int32(min(wait, longPoll) / time.Second),
		MessageSystemAttributeNames: []types.MessageSystemAttributeName{types.MessageSystemAttributeNameAll},
		MessageAttributeNames:       []string{"All"},
	})
	if err != nil {
		return nil, err
	}
	p.failures = 0
	p.receives++
	now := time.Now()
	messages := make([]message, 0, len(out.Messages))
	for _, m := range out.Messages {
		msg := newMessage(m, p.QueueARN, p.region)
		msg.ReceivedAt, msg.expires, msg.receive = now, now.Add(p.visibility), p.receives
		messages = append(messages, msg)
	}
	return p.filter(ctx, messages), nil
}

// filter returns the messages that match a filter. It deletes the others while polling goes on,
// but waits while deleteCalls deletions are running.
func (p *poller) filter(ctx context.Context, messages []message) []message {
	if len(p.filters) == 0 {
		return messages
	}
	b := &batch{messages: messages}
	dropped := &batch{messages: b.remove(func(m message) bool { return !passes(p.filters, m.Body) })}
	if len(dropped.messages) > 0 {
		p.deletions <- struct{}{} // does not need ctx: deleteTimeout limits the deletions
		p.invocations.Go(func() {
			defer func() { <-p.deletions }()
			verdicts := p.deleteSucceeded(ctx, dropped, make([]bool, len(dropped.messages)))
			notify(p.work, p.Filtered, Filtered{Records: dropped.records(), Verdicts: verdicts})
		})
	}
	return b.messages
}

// backOff waits after a failed receive: 200 ms, doubled up to 20 s, half of it random. It
// does not wait beyond the window of the held messages.
func (p *poller) backOff(ctx context.Context, b *batch, err error) {
	if ctx.Err() != nil {
		return
	}
	pause := min(receiveBackoffBase<<min(p.failures, 10), receiveBackoffCap)
	pause = pause/2 + time.Duration(draw.Rand.Int64N(int64(pause/2)))
	p.failures++
	p.report(&PollError{Operation: "ReceiveMessage", RetryIn: pause, Err: err})
	until := time.Now().Add(pause)
	if len(b.messages) > 0 {
		if end := b.messages[0].ReceivedAt.Add(p.Window); end.Before(until) {
			until = end
		}
	}
	sleep.Until(ctx, until)
}

// environment reserves an environment for b, and waits while the function is throttled.
// Meanwhile it drops messages whose visibility timeout ends. It returns nil if no message
// is left, or at ctx's end.
func (p *poller) environment(ctx context.Context, b *batch) *environment {
	for throttled := false; ; throttled = true {
		// After the visibility timeout a FIFO group is no longer locked, and invoking its
		// messages would break the order. Messages of a standard queue are invoked late,
		// unless the function was throttled.
		if throttled || p.isFIFO {
			p.dropExpired(b)
		}
		if len(b.messages) == 0 || ctx.Err() != nil {
			return nil
		}
		waiting, stop := context.WithDeadline(ctx, b.expires())
		env, err := p.Function.reserveOrWait(waiting)
		stop()
		switch {
		case errors.Is(err, ErrClosed):
			<-ctx.Done() // Run ends ctx when the function is closed
			return nil
		case err == nil && ctx.Err() != nil:
			p.Function.release(env)
			return nil
		case err == nil:
			return env
		}
	}
}

var errExpired = errors.New("their visibility timeout ended before an environment was free")

// dropExpired removes the messages whose visibility timeout has ended from b, and reports them.
func (p *poller) dropExpired(b *batch) {
	now := time.Now()
	if gone := b.remove(func(m message) bool { return !now.Before(m.expires) }); len(gone) > 0 {
		p.report(&PollError{Operation: "Invoke", Messages: len(gone), Err: errExpired})
	}
}

// expires returns the earliest end of a visibility timeout in b.
func (b *batch) expires() time.Time {
	return slices.MinFunc(b.messages, func(a, b message) int { return a.expires.Compare(b.expires) }).expires
}

// groupRun is an invocation of a FIFO queue's messages, for the order of their groups.
type groupRun struct {
	done   chan struct{}
	failed map[string]int // by group: the receive of a failed message; read after done
}

// lockGroups registers b's invocation in p.runs. The caller must end the returned run. It
// returns nil on standard queues.
func (p *poller) lockGroups(b *batch) *groupRun {
	if !p.isFIFO {
		return nil
	}
	if len(p.carry) == 0 { // only carried-over messages need the runs that are over
		for group, run := range p.runs {
			if isClosed(run.done) {
				delete(p.runs, group)
			}
		}
	}
	run := &groupRun{done: make(chan struct{}), failed: map[string]int{}}
	for _, m := range b.messages {
		p.runs[m.GroupID] = run
	}
	return run
}

// inOrder waits until no group of b is being invoked. The queue's group lock is not enough for
// messages of one receive in two batches, and for messages that became visible before their
// invocation ended. If a message failed, inOrder releases the messages of its group from the
// same receive, because they must not overtake it.
func (p *poller) inOrder(ctx context.Context, b *batch) {
	if !p.isFIFO {
		return
	}
	for _, m := range b.messages {
		if run := p.runs[m.GroupID]; run != nil {
			select {
			case <-run.done:
			case <-ctx.Done():
				return
			}
		}
	}
	p.release(ctx, b.remove(func(m message) bool {
		run := p.runs[m.GroupID]
		return run != nil && run.failed[m.GroupID] == m.receive
	}))
}

// end records the failed messages, and lets the groups' next invocation start.
func (r *groupRun) end(b *batch, left []bool) {
	if r == nil {
		return
	}
	for i, m := range b.messages {
		if left[i] {
			r.failed[m.GroupID] = m.receive
		}
	}
	close(r.done)
}
