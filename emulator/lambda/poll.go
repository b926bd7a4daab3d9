package lambda

import (
	"context"
	"errors"
	"math/rand/v2"
	"slices"
	"sync"
	"time"

	awssqs "github.com/aws/aws-sdk-go-v2/service/sqs"
	"github.com/aws/aws-sdk-go-v2/service/sqs/types"

	"github.com/sqsbatch/sqsbatch/internal/sleep"
)

// work is a mapping at work: what its pollers share.
type work struct {
	Mapping
	isFIFO      bool
	region      string
	visibility  time.Duration
	shortPolls  bool // a receive that says nothing of waiting does not wait
	filters     []*Filter
	slots       chan struct{}  // one token for each invocation under way
	deletions   chan struct{}  // the same for deletions of what was filtered
	invocations sync.WaitGroup // and deletions of what was filtered
	telling     sync.Mutex     // one callback at a time
}

// poller is one goroutine that receives, cuts batches and waits for
// environments, so everything without a lock is its own; each invocation has a
// goroutine that also settles it.
type poller struct {
	*work
	receives int       // how many there were
	failures int       // receives that failed in a row
	carry    []message // received, but too much for the last batch
	runs     map[string]*groupRun
}

// poll runs the pollers until ctx ends and everything is settled.
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
	// releaseTimeout limits the last calls to the queue after the end.
	releaseTimeout = 5 * time.Second
)

// poll works until ctx ends.
func (p *poller) poll(ctx context.Context) {
	for {
		select {
		case p.slots <- struct{}{}:
		case <-ctx.Done():
		}
		b := p.collect(ctx)
		p.inOrder(ctx, b)
		env := p.environment(ctx, b)
		if env == nil { // none is left to invoke, or the end
			if ctx.Err() != nil {
				p.release(ctx, append(b.messages, p.carry...))
				return
			}
			<-p.slots
			continue
		}
		i := p.begin(env, b)
		p.invocations.Go(func() {
			defer func() { <-p.slots }()
			p.invoke(ctx, i)
		})
	}
}

// collect gathers a batch until it is full, has 6 MB, or its window is over. At ctx's end
// it returns the messages that it has.
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
			// A long poll takes whole seconds. Wait for the rest, and then receive the new
			// messages with one short poll. Skip this if the queue has a
			// ReceiveMessageWaitTimeSeconds, since the SDK leaves out a wait of 0.
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

// fill moves messages into b, first those carried over, then got, as far as they fit. It
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

// filter takes out what no filter matches and deletes it, while polling goes on
// unless a queue that is slow to delete has too much to do already.
func (p *poller) filter(ctx context.Context, messages []message) []message {
	if len(p.filters) == 0 {
		return messages
	}
	b := &batch{messages: messages}
	dropped := &batch{messages: b.remove(func(m message) bool { return !passes(p.filters, m.Body) })}
	if len(dropped.messages) > 0 {
		p.deletions <- struct{}{} // ends: deletions outlive ctx, and have an end of their own
		p.invocations.Go(func() {
			defer func() { <-p.deletions }()
			verdicts := p.deleteSucceeded(ctx, dropped, make([]bool, len(dropped.messages)))
			tell(p.work, p.Filtered, Filtered{Records: dropped.records(), Verdicts: verdicts})
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
	pause = pause/2 + rand.N(pause/2)
	p.failures++
	p.tellErrored(&PollError{Operation: "ReceiveMessage", RetryIn: pause, Err: err})
	until := time.Now().Add(pause)
	if len(b.messages) > 0 {
		if end := b.messages[0].ReceivedAt.Add(p.Window); end.Before(until) {
			until = end
		}
	}
	sleep.Until(ctx, until)
}

// environment reserves one for b. While the function is throttled nothing is received, and
// held messages are given up when their visibility timeout ends. It returns nil if nothing
// is left in b, or at the end.
func (p *poller) environment(ctx context.Context, b *batch) *environment {
	for throttled := false; ; throttled = true {
		// Invoking late would break the order of a group, which is no longer locked. A
		// standard queue's message is invoked late rather than not at all.
		if throttled || p.isFIFO {
			p.giveUpExpired(b)
		}
		if len(b.messages) == 0 || ctx.Err() != nil {
			return nil
		}
		env, err := p.Function.reserve()
		if errors.Is(err, ErrThrottled) {
			waiting, stop := context.WithDeadline(ctx, b.expires())
			env, err = p.Function.await(waiting)
			stop()
		}
		switch {
		case errors.Is(err, ErrClosed):
			<-ctx.Done() // follows from it
			return nil
		case err == nil && ctx.Err() != nil:
			p.Function.giveBack(env)
			return nil
		case err == nil:
			return env
		}
	}
}

var errExpired = errors.New("their visibility ended before an environment was free")

func (p *poller) giveUpExpired(b *batch) {
	now := time.Now()
	if gone := b.remove(func(m message) bool { return !now.Before(m.expires) }); len(gone) > 0 {
		p.tellErrored(&PollError{Operation: "Invoke", Messages: len(gone), Err: errExpired})
	}
}

// expires returns when the first of b's messages is visible again.
func (b *batch) expires() time.Time {
	first := b.messages[0].expires
	for _, m := range b.messages[1:] {
		if m.expires.Before(first) {
			first = m.expires
		}
	}
	return first
}

// groupRun is an invocation as its message groups see it.
type groupRun struct {
	done   chan struct{}
	failed map[string]int // group to the receive of a message that was not processed; read after done
}

// lockGroups notes that b is being invoked. On a FIFO queue the returned run
// must be ended; on others it is nil.
func (p *poller) lockGroups(b *batch) *groupRun {
	if !p.isFIFO {
		return nil
	}
	if len(p.carry) == 0 { // what is over matters to nothing that is held
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

// inOrder waits until no group of b is being invoked. The queue sees to that
// by its lock, except for messages of the same receive that went into another
// batch, and when a message became visible before its invocation ended. After
// a failure, messages that were received together with the failed one are
// released: they must not overtake it.
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

// end lets the groups' next invocation begin.
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
