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
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/sqsbatch/sqsbatch/cmd/sqsbatch/internal/build"
	"github.com/sqsbatch/sqsbatch/cmd/sqsbatch/internal/cli"
	"github.com/sqsbatch/sqsbatch/cmd/sqsbatch/internal/message"
	"github.com/sqsbatch/sqsbatch/cmd/sqsbatch/internal/track"
	"github.com/sqsbatch/sqsbatch/cmd/sqsbatch/internal/view"
	"github.com/sqsbatch/sqsbatch/emulator/lambda"
	"github.com/sqsbatch/sqsbatch/internal/sleep"
)

// A Trial runs messages through a function, each once, and returns their outcomes.
//
//	var t local.Trial
//	t.Flags(cmd)
//	…
//	results, err := t.Run(ctx, kill, tio, build.Go{}, messages)
//
// The function is built and invoked as `sqsbatch local` does: by an emulated event source
// mapping, in the batches of its template, from an emulated queue. It always runs as on
// Lambda: a process that polls by itself could receive a message twice.
//
// # What is real
//
// The handlers run. A trial itself sends nothing to AWS, and the function's endpoint for
// SQS (AWS_ENDPOINT_URL_SQS) is the emulator, even if its template sets another. The
// function's other calls are real: databases, HTTP services, other services of AWS. A
// message that succeeds has had its effect. Also, an idempotency record that the function
// writes outlasts the trial, so the same message may be a duplicate when it is sent to its
// queue later. As with `sqsbatch local`, the function has test credentials, which AWS
// refuses; --env sets others. The emulator has only the queues of the template.
//
// # One attempt
//
// Every message is at its first attempt of as many as the template allows, and the function
// receives it once: the trial does not wait for a backoff, and ignores changes of a message's
// visibility timeout. Exception: a message that the function received but did not start is sent
// again, as a new message, if other messages of its invocation were handled. The filters of the
// event apply. Its window is 1 s at most, and the queue's DelaySeconds does not apply.
//
// # FIFO queues
//
// The queue of the template decides whether it is a FIFO queue. If it is one, the messages
// of a group are tried in order. Each is sent after the outcome of the one before it, so a batch
// has one message of each group. A failed message does not block its group here: all are tried,
// and [TrialResult.Blocked] marks the messages that would have to wait. The function gets each
// message's own deduplication id, but the emulated queue does not compare them, so two messages
// with the same id are both tried.
type Trial struct {
	program
	timeout time.Duration
	verbose bool
}

// A TrialResult is the result of one message.
type TrialResult struct {
	// Outcome is one of package track, or [NotSent]. Empty if the trial ended before the message
	// had an outcome.
	//
	// It is [track.CutOff] if the invocation timed out or its process ended before the
	// message was handled. Another message of the batch may have been the reason.
	Outcome string
	Reason  string // the handler's error, or another explanation of the outcome; "" for a success
	// Blocked is true if an earlier message of the FIFO group failed. In production this
	// message would wait until the other one is dead-lettered or succeeds.
	Blocked bool
}

// NotSent is the outcome of a message that the emulated queue refuses, as SQS would.
const NotSent = "not-sent"

// Flags adds the flags to cmd: --template, --function, --queue, --parameter-overrides, --env,
// --timeout and --verbose. cmd must not have them already. Errors contain cmd's Use up to the
// first "[". Call Flags before the other methods.
func (t *Trial) Flags(cmd *cobra.Command) {
	cli.Section(cmd, "What runs", func(f *pflag.FlagSet) {
		t.program.flags(cmd, f)
		f.Lookup("env").Usage += "\nThe function really runs. Its calls to SQS go to an emulator, all others are real: databases, HTTP services, other services of AWS. Its credentials are for tests, and AWS refuses them; name others with --env AWS_ACCESS_KEY_ID=… and so on."
		timeoutFlag(f, &t.timeout)
		f.BoolVar(&t.verbose, "verbose", false, "also show what the function prints")
	})
}

// Argument sets the function's package, as for `sqsbatch local`, or one more value of
// --parameter-overrides, to an argument of the command line. The error is a usage error.
func (t *Trial) Argument(arg string) error { return t.program.argument(arg) }

// endpointVariable is the variable with the emulator's endpoint.
const endpointVariable = "AWS_ENDPOINT_URL_SQS"

// options returns the options of `sqsbatch local` for a trial.
func (t *Trial) options() (options, error) {
	o := options{
		program: t.program, timeout: t.timeout, trial: true,
		addr: anyPort, mode: modeLambda, processes: 1, noSamples: true,
	}
	if _, given := t.env[endpointVariable]; given {
		return o, t.usagef("--env %s: the trial sets it, so that nothing is sent to a real queue", endpointVariable)
	}
	if t.timeout < 0 {
		return o, t.negative(t.timeout)
	}
	o.env = maps.Clone(t.env)
	o.env["AWS_IGNORE_CONFIGURED_ENDPOINT_URLS"] = "false" // otherwise the endpoint has no effect
	return o, nil
}

// Run tries messages and returns their results, in the same order. It writes its progress to
// tio.Stderr, uses nothing else of tio, and ignores the messages' receive counts.
//
// With an error, Run returns the results so far. It returns an error if the function cannot
// run, after --timeout, and at the end of ctx or kill. At ctx's end, Run starts no
// invocation and waits for the running ones. The end of kill, and --timeout, end them at
// once.
func (t *Trial) Run(ctx, kill context.Context, tio cli.IO, builder build.Builder, messages []message.Message) ([]TrialResult, error) {
	o, err := t.options()
	if err != nil || len(messages) == 0 {
		return nil, err
	}
	text := view.NewText(tio.Stderr, view.Detect(tio.Stderr))
	text.ShowAll()
	r := &run{o: o, builder: builder, stderr: tio.Stderr, view: text}
	c := &trialCourse{
		messages: messages, text: text, verbose: t.verbose, wake: make(chan struct{}, 1),
		results: make([]TrialResult, len(messages)), left: len(messages), sent: map[string]*delivery{}, cut: map[string]bool{},
	}
	s, tracker, err := r.prepare(ctx, c.event)
	if err != nil {
		return nil, err
	}
	defer s.close()
	c.attach(s)
	function := s.deployment.Function
	text.Say(fmt.Sprintf("messages to try: %d; function %s: %s, timeout %s, batches of %d; settings: %s",
		len(messages), function.Name, s.pkgName, function.Timeout, s.deployment.Event.BatchSize, s.settings))

	stopTracking := inBackground(tracker, func() { text.Status(c.progress()) })
	err = c.run(ctx, kill, t.timeout)
	stopTracking()
	text.Status("")
	return c.results, err
}

// trialError returns err, or the reason of ctx's end if that caused err.
func trialError(ctx context.Context, err error, timeout time.Duration) error {
	err = notInterrupted(ctx, err)
	if errors.Is(err, errTimeout) {
		return fmt.Errorf("--timeout: not everything was tried after %s", timeout)
	}
	return err
}

// A trialCourse is one run of a [Trial].
//
// Three goroutines use it: the caller of run sends messages, the poller of the event source
// mapping receives them, and the tracker reports the outcomes.
type trialCourse struct {
	messages []message.Message
	text     *view.Text
	verbose  bool
	stack    *stack
	fifo     bool
	lanes    [][]int        // messages to send, see trialLanes; owned by the sending goroutine
	records  []track.Record // records of the current invocation; owned by the tracker's goroutine
	wake     chan struct{}  // token: left or over changed

	// mu is also held while a message is sent, because sent has its id only after the call.
	mu      sync.Mutex
	results []TrialResult
	left    int                  // number of missing results
	failed  []bool               // by lane: a message failed
	sent    map[string]*delivery // by message id
	over    []*delivery          // ended deliveries, for the sending goroutine
	cut     map[string]bool      // request ids of invocations that timed out or crashed
}

// A delivery is a message in the emulated queue.
type delivery struct {
	message, lane int
	handle        string // the last receive's handle
	invoked       bool   // the function has received the message
	ended         bool   // the message has an outcome, or is sent again
	again         bool   // the message is sent again, because the function did not start it
	inQueue       bool   // the message was still in the queue after its outcome
}

// attach adapts the function's event source mapping to the trial.
func (c *trialCourse) attach(s *stack) {
	c.stack, c.fifo = s, s.deployment.Queue.FIFO
	c.lanes = trialLanes(c.messages, c.fifo)
	c.failed = make([]bool, len(c.lanes))

	m := &s.mapping
	m.Window = min(m.Window, time.Second)
	if m.BatchSize <= 10 {
		m.Window = 0 // one receive can return a whole batch
	}
	if m.MaximumConcurrency > s.environments() {
		m.MaximumConcurrency = 0 // a throttled batch would wait for its visibility timeout
	}
	m.SQS = firstDeliveries{SQS: m.SQS, course: c}
	started, ended := m.Started, m.Ended
	m.Started = func(i lambda.Invocation) { c.started(i); started(i) }
	m.Ended = func(e lambda.Ended) { c.invocationEnded(e); ended(e) }
}

// trialLanes returns lanes of messages, by their index. The messages of a lane are sent one
// after another. On a FIFO queue each group is a lane, on a standard queue each message.
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

// run sends the messages, invokes the function and waits for the outcomes. At ctx's end it waits
// for the running invocations, until kill ends.
func (c *trialCourse) run(ctx, kill context.Context, timeout time.Duration) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	defer context.AfterFunc(kill, func() { cancel(context.Cause(kill)) })()
	kill, stopNow := context.WithCancel(kill)
	defer stopNow()
	defer afterTimeout(timeout, cancel, stopNow)()
	// As in `sqsbatch local`, messages are sent before the first receive if possible.
	for lane := range c.lanes {
		if err := c.sendNext(ctx, lane); err != nil {
			return trialError(ctx, err, timeout)
		}
	}
	ran := make(chan error, 1)
	go func() {
		err := c.stack.run(ctx, kill)
		cancel(cmp.Or(context.Cause(kill), err)) // ends feed if the mapping ended by itself
		ran <- err
	}()
	err := c.feed(ctx)
	cancel(cmp.Or(err, errComplete))
	if broken := <-ran; broken != nil {
		return broken
	}
	return trialError(ctx, err, timeout)
}

// feed sends the other messages, each after the outcome of the one before it. It returns
// nil when every message has an outcome.
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
			if c.fifo && d.inQueue { // the message would block its group
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
			if err := c.sendNext(ctx, d.lane); err != nil {
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

// sendNext sends the next message of a lane that SQS accepts.
func (c *trialCourse) sendNext(ctx context.Context, lane int) error {
	for sent := false; !sent && len(c.lanes[lane]) > 0; {
		var err error
		if sent, err = c.send(ctx, lane, c.lanes[lane][0]); err != nil {
			return err
		}
		c.lanes[lane] = c.lanes[lane][1:]
	}
	return nil
}

// send sends message i, or sets its result to NotSent if SQS refuses it.
func (c *trialCourse) send(ctx context.Context, lane, i int) (sent bool, err error) {
	m := c.messages[i]
	m.DeduplicationID = "" // unique in the queue; received restores it
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
	sleep.Wake(c.wake)
}

// remove deletes a message. If SQS refuses, because the message was visible in the meantime, the
// next receive deletes it: see [trialCourse.received].
func (c *trialCourse) remove(ctx context.Context, handle string) error {
	_, err := c.stack.client.DeleteMessage(ctx, &awssqs.DeleteMessageInput{QueueUrl: &c.stack.deployment.Queue.URL, ReceiptHandle: &handle})
	var refusal smithy.APIError
	if errors.As(err, &refusal) {
		return nil
	}
	return err
}

// firstDeliveries is the mapping's client of the queue. It returns each message of the
// trial once.
type firstDeliveries struct {
	lambda.SQS
	course *trialCourse
}

// ReceiveMessage returns only messages for the function.
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

// received reports whether a message is passed to the function, and whether it is removed
// from the queue. A message that was invoked is not passed again: it stays hidden for
// hours, or is removed if it would block its group. A message that the function sent itself
// is removed.
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

// started marks the messages of an invocation as invoked.
func (c *trialCourse) started(i lambda.Invocation) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, r := range i.Records {
		if d := c.sent[r.MessageID]; d != nil {
			d.invoked = true
		}
	}
}

// invocationEnded notes an invocation that timed out or crashed, before the tracker reports its
// records.
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

// event handles an event of the tracker. The records of an invocation come before its end.
func (c *trialCourse) event(e track.Event) {
	switch e := e.(type) {
	case track.Record:
		switch {
		case e.Outcome == track.Filtered:
			c.outcomes([]track.Record{e})
		case e.Final && e.Invocation > 0: // others were dead-lettered by SQS
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

// handled reports whether the handler was called for a record.
func handled(r track.Record) bool {
	return r.Outcome != track.NotStarted && r.Outcome != track.Skipped
}

// outcomes sets the results of an invocation's final records.
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
	sleep.Wake(c.wake)
}

// outcome sets the result of d's message to a record's outcome. The caller holds mu.
func (c *trialCourse) outcome(d *delivery, r track.Record) {
	result := TrialResult{Outcome: r.Outcome, Reason: r.Reason, Blocked: c.fifo && c.failed[d.lane]}
	if r.Shared && c.cut[r.RequestID] {
		result.Outcome = track.CutOff
	}
	c.result(d.message, result)
	c.failed[d.lane] = c.failed[d.lane] || d.inQueue
}

// progress returns the number of messages tried so far, and by outcome.
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
