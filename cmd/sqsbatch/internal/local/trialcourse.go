package local

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	awssqs "github.com/aws/aws-sdk-go-v2/service/sqs"
	"github.com/aws/aws-sdk-go-v2/service/sqs/types"
	"github.com/aws/smithy-go"

	"github.com/sqsbatch/sqsbatch/cmd/sqsbatch/internal/message"
	"github.com/sqsbatch/sqsbatch/cmd/sqsbatch/internal/track"
	"github.com/sqsbatch/sqsbatch/cmd/sqsbatch/internal/view"
	"github.com/sqsbatch/sqsbatch/emulator/lambda"
)

// A trialCourse is one run of a [Trial].
//
// Three goroutines meet here: the caller of run sends messages, the poller of the event
// source mapping receives them, and the tracker tells the outcomes.
type trialCourse struct {
	messages []message.Message
	text     *view.Text
	verbose  bool
	stack    *stack
	fifo     bool
	lanes    [][]int        // messages to send, see trialLanes; of the sending goroutine
	records  []track.Record // of the invocation that the tracker tells; of its goroutine
	wake     chan struct{}  // says that left or over changed

	// mu is also held while a message is sent: nobody looks for a message whose id is not
	// known yet.
	mu      sync.Mutex
	results []TrialResult
	left    int                  // results that are missing
	failed  []bool               // by lane: a message of it failed
	sent    map[string]*delivery // by message id
	over    []*delivery          // that the sending goroutine has not seen yet
	cut     map[string]bool      // request ids of invocations that timed out or crashed
}

// A delivery is a message in the emulated queue.
type delivery struct {
	message, lane int
	handle        string // of the last receive
	invoked       bool   // the function has had it
	ended         bool   // it has an outcome, or is to be sent again
	again         bool   // it is to be sent again, because the function did not start it
	inQueue       bool   // at its end
}

func newTrialCourse(messages []message.Message, text *view.Text, verbose bool) *trialCourse {
	return &trialCourse{
		messages: messages, text: text, verbose: verbose, wake: make(chan struct{}, 1),
		results: make([]TrialResult, len(messages)), left: len(messages),
		sent: map[string]*delivery{}, cut: map[string]bool{},
	}
}

// attach makes the function's event source mapping that of the trial.
func (c *trialCourse) attach(s *stack) {
	c.stack, c.fifo = s, s.deployment.Queue.FIFO
	c.lanes = trialLanes(c.messages, c.fifo)
	c.failed = make([]bool, len(c.lanes))

	m := &s.mapping
	m.Window = min(m.Window, time.Second)
	if m.BatchSize <= 10 {
		m.Window = 0 // all of a batch can come from one receive
	}
	if m.MaximumConcurrency > s.environments() {
		m.MaximumConcurrency = 0 // a throttled batch would wait for its visibility timeout
	}
	m.SQS = firstDeliveries{SQS: m.SQS, course: c}
	started, ended := m.Started, m.Ended
	m.Started = func(i lambda.Invocation) { c.started(i); started(i) }
	m.Ended = func(e lambda.Ended) { c.invocationEnded(e); ended(e) }
}

// trialLanes lists the messages, by their index, that are sent one after another: those of
// a group on a FIFO queue. Elsewhere each message has a lane of its own.
func trialLanes(messages []message.Message, fifo bool) (lanes [][]int) {
	laneOf := map[string]int{}
	for i, m := range messages {
		lane, known := laneOf[m.GroupID]
		if !fifo || !known {
			lane = len(lanes)
			laneOf[m.GroupID] = lane
			lanes = append(lanes, nil)
		}
		lanes[lane] = append(lanes[lane], i)
	}
	return lanes
}

// run sends the messages, invokes the function and waits for the outcomes. When ctx ends,
// it waits for the invocations under way, until kill ends.
func (c *trialCourse) run(ctx, kill context.Context, timeout time.Duration) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	defer context.AfterFunc(kill, func() { cancel(context.Cause(kill)) })()
	kill, stopNow := context.WithCancel(kill)
	defer stopNow()
	defer afterTimeout(timeout, cancel, stopNow)()
	// As in `sqsbatch local`, what can be sent is sent before the first receive.
	for lane := range c.lanes {
		if err := c.next(ctx, lane); err != nil {
			return trialError(ctx, err, timeout)
		}
	}
	ran := make(chan error, 1)
	go func() {
		err := c.stack.run(ctx, kill)
		cancel(err) // ends the feeding if the mapping ended by itself
		ran <- err
	}()
	err := c.feed(ctx)
	cancel(cmp.Or(err, errComplete))
	if broken := <-ran; broken != nil {
		return broken
	}
	return trialError(ctx, err, timeout)
}

// feed sends the other messages, each when the one before it has its outcome. It returns
// nil when every message has one.
func (c *trialCourse) feed(ctx context.Context) error {
	for {
		c.mu.Lock()
		over, left := c.over, c.left
		c.over = nil
		c.mu.Unlock()
		if left == 0 {
			return nil
		}
		for _, d := range over {
			if c.fifo && d.inQueue { // it would block its group until it comes back
				c.mu.Lock()
				handle := d.handle
				c.mu.Unlock()
				if err := c.remove(ctx, handle); err != nil {
					return err
				}
			}
			if d.again {
				c.lanes[d.lane] = slices.Insert(c.lanes[d.lane], 0, d.message)
			}
			if err := c.next(ctx, d.lane); err != nil {
				return err
			}
		}
		select {
		case <-c.wake:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// next sends the next message of a lane. It passes over those that SQS refuses.
func (c *trialCourse) next(ctx context.Context, lane int) error {
	for sent := false; !sent && len(c.lanes[lane]) > 0; {
		var err error
		if sent, err = c.send(ctx, lane, c.lanes[lane][0]); err != nil {
			return err
		}
		c.lanes[lane] = c.lanes[lane][1:]
	}
	return nil
}

// send sends message i. If SQS refuses it, that is its result.
func (c *trialCourse) send(ctx context.Context, lane, i int) (sent bool, err error) {
	m := c.messages[i]
	m.DeduplicationID = "" // the queue gets a unique one, the function its own
	c.mu.Lock()
	defer c.mu.Unlock()
	id, refusal, err := c.stack.send(ctx, m)
	switch {
	case err != nil:
		return false, err
	case refusal != "":
		c.result(i, TrialResult{Outcome: NotSent, Reason: refusal})
		return false, nil
	}
	c.sent[id] = &delivery{message: i, lane: lane}
	return true, nil
}

// result sets the result of message i. The caller holds mu.
func (c *trialCourse) result(i int, r TrialResult) {
	c.results[i] = r
	c.left--
	c.news()
}

// news wakes the sending goroutine.
func (c *trialCourse) news() {
	select {
	case c.wake <- struct{}{}:
	default:
	}
}

// remove deletes a message. SQS refuses that if the message was visible in the meantime.
// Then it is deleted when it is received: see [trialCourse.received].
func (c *trialCourse) remove(ctx context.Context, handle string) error {
	_, err := c.stack.client.DeleteMessage(ctx, &awssqs.DeleteMessageInput{QueueUrl: &c.stack.deployment.Queue.URL, ReceiptHandle: &handle})
	var refusal smithy.APIError
	if errors.As(err, &refusal) {
		return nil
	}
	return err
}

// firstDeliveries is the queue as the event source mapping sees it: each message of the
// trial is received once.
type firstDeliveries struct {
	lambda.SQS
	course *trialCourse
}

// ReceiveMessage returns what is for the function.
func (f firstDeliveries) ReceiveMessage(ctx context.Context, in *awssqs.ReceiveMessageInput, options ...func(*awssqs.Options)) (*awssqs.ReceiveMessageOutput, error) {
	out, err := f.SQS.ReceiveMessage(ctx, in, options...)
	if err != nil {
		return nil, err
	}
	kept := out.Messages[:0]
	for _, m := range out.Messages {
		pass, remove := f.course.received(m)
		if pass {
			kept = append(kept, m)
		}
		if remove {
			if err := f.course.remove(ctx, *m.ReceiptHandle); err != nil {
				return nil, err
			}
		}
	}
	out.Messages = kept
	return out, nil
}

// received says whether a message is passed to the function, and whether it is removed from
// the queue. A message that the function has had is not passed. It stays hidden for hours,
// but is removed if it must not block its group. The same goes for messages that the
// function itself sent to its queue.
func (c *trialCourse) received(m types.Message) (pass, remove bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	d := c.sent[*m.MessageId]
	if d == nil {
		return false, true
	}
	d.handle = *m.ReceiptHandle
	if d.invoked {
		return false, d.ended && c.fifo
	}
	if id := c.messages[d.message].DeduplicationID; id != "" && c.fifo {
		m.Attributes[string(types.MessageSystemAttributeNameMessageDeduplicationId)] = id
	}
	return true, false
}

// started takes the beginning of an invocation.
func (c *trialCourse) started(i lambda.Invocation) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, r := range i.Records {
		if d := c.sent[r.MessageID]; d != nil {
			d.invoked = true
		}
	}
}

// invocationEnded takes the end of an invocation, before the tracker does.
func (c *trialCourse) invocationEnded(e lambda.Ended) {
	if e.Result.Error == nil {
		return
	}
	switch e.Result.Error.Type {
	case "Sandbox.Timedout", "Sandbox.Closed", "Runtime.ExitError":
		c.mu.Lock()
		defer c.mu.Unlock()
		c.cut[e.RequestID] = true
	}
}

// event takes one event of the tracker. The records of an invocation come before its end.
func (c *trialCourse) event(e track.Event) {
	switch e := e.(type) {
	case track.Record:
		switch {
		case e.Outcome == track.Filtered:
			c.outcomes([]track.Record{e})
		case e.Final && e.Invocation > 0: // else it came from SQS, which had received it as often as it may
			c.records = append(c.records, e)
		}
	case track.Ended:
		c.outcomes(c.records)
		c.records = nil
	case track.Log:
		if c.verbose {
			c.text.Event(e)
		}
	case track.Warning:
		if c.verbose || e.MessageID == "" {
			c.text.Event(e)
		}
	}
}

// handled says whether the handler was called for a record.
func handled(r track.Record) bool {
	return r.Outcome != track.NotStarted && r.Outcome != track.Skipped
}

// outcomes takes the final records of an invocation.
func (c *trialCourse) outcomes(records []track.Record) {
	c.mu.Lock()
	defer c.mu.Unlock()
	progress := slices.ContainsFunc(records, handled)
	for _, r := range records {
		d := c.sent[r.MessageID]
		if d == nil || d.ended {
			continue
		}
		d.ended, d.inQueue, d.again = true, !r.Done(), progress && !handled(r)
		if !d.again {
			c.outcome(d, r)
		}
		c.over = append(c.over, d)
	}
	c.news()
}

// outcome makes a record the result of its message. The caller holds mu.
func (c *trialCourse) outcome(d *delivery, r track.Record) {
	result := TrialResult{Outcome: r.Outcome, Reason: r.Reason, Blocked: c.fifo && c.failed[d.lane]}
	if r.Shared && c.cut[r.RequestID] {
		result.Outcome = track.CutOff
	}
	c.result(d.message, result)
	c.failed[d.lane] = c.failed[d.lane] || d.inQueue
}

// progress is the account so far, in words.
func (c *trialCourse) progress() string {
	c.mu.Lock()
	defer c.mu.Unlock()
	counts := map[string]int{}
	for _, r := range c.results {
		if r.Outcome != "" {
			counts[r.Outcome]++
		}
	}
	parts := []string{fmt.Sprintf("%d of %d tried", len(c.results)-c.left, len(c.results))}
	for _, outcome := range slices.Sorted(maps.Keys(counts)) {
		parts = append(parts, fmt.Sprintf("%d %s", counts[outcome], outcome))
	}
	return strings.Join(parts, " · ")
}
