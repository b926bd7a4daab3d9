package local

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/sqsbatch/sqsbatch/cmd/sqsbatch/internal/build"
	"github.com/sqsbatch/sqsbatch/cmd/sqsbatch/internal/cli"
	"github.com/sqsbatch/sqsbatch/cmd/sqsbatch/internal/message"
	"github.com/sqsbatch/sqsbatch/cmd/sqsbatch/internal/view"
)

// A Trial runs messages through a function, each once, and returns what became of each.
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
// SQS (AWS_ENDPOINT_URL_SQS) is the emulator, whatever its template says. But whatever else
// the function calls is real: databases, HTTP services, other services of AWS. A message
// that succeeds has had its effect. Also, an idempotency record that the function writes
// outlasts the trial, so the same message may be a duplicate when it is sent to its queue
// later. As with `sqsbatch local`, the function has test credentials, which AWS refuses.
// --env gives it others. Of SQS it finds only the queues of its template.
//
// # One attempt
//
// Every message is at its first attempt of as many as the template allows, and the function
// never sees it a second time: the trial does not wait for a backoff, and ignores what the
// function does to the visibility of a message. There is one exception: a message that the
// function received but did not start is sent again, as a new message, while other messages
// of its invocation were handled. The filters of the event apply. Its window is 1 s at
// most, and the queue's DelaySeconds does not apply.
//
// # FIFO queues
//
// The queue of the template decides whether it is a FIFO queue. If it is one, the messages
// of a group are tried in order, and the next one is sent when the one before has its
// outcome, so a batch has one message of each group. A message that fails does not hold
// back the others here: each is tried, and [TrialResult.Blocked] says which of them would
// have to wait. The function sees each message's own deduplication id, but the emulated
// queue does not compare them, so two messages of the same id are both tried.
type Trial struct {
	program
	timeout time.Duration
	verbose bool
}

// A TrialResult is what became of one message.
type TrialResult struct {
	// Outcome is that of package track, or [NotSent]. Empty if the trial ended before the
	// message had an outcome.
	//
	// It is [track.CutOff] if the invocation timed out or its process ended before the
	// message was handled. Another message of the batch may have been the reason.
	Outcome string
	Reason  string // the handler's error, or what else explains the outcome; "" for a success
	// Blocked says that a message before this one in its FIFO group failed. In production
	// this message would wait until the other one is dead-lettered or succeeds.
	Blocked bool
}

// NotSent is the outcome of a message that the emulated queue refuses, as SQS would.
const NotSent = "not-sent"

// Flags adds the flags to cmd, for which they must have no duplicates: --template,
// --function, --queue, --parameter-overrides, --env, --timeout and --verbose. Errors name
// the command as its Use says, up to the first "[". Call it before the other methods.
func (t *Trial) Flags(cmd *cobra.Command) {
	cli.Section(cmd, "What runs", func(f *pflag.FlagSet) {
		t.program.flags(cmd, f)
		f.Lookup("env").Usage += "\nThe function really runs. Its calls to SQS go to an emulator, all others are real: databases, HTTP services, other services of AWS. Its credentials are for tests, and AWS refuses them; name others with --env AWS_ACCESS_KEY_ID=… and so on."
		timeoutFlag(f, &t.timeout)
		f.BoolVar(&t.verbose, "verbose", false, "also show what the function prints")
	})
}

// Argument takes an argument of the command line: the function's package as for `sqsbatch
// local`, or one more value of --parameter-overrides. The error is about the command line.
func (t *Trial) Argument(arg string) error { return t.program.argument(arg) }

// endpointVariable names the variable by which the function finds the emulator.
const endpointVariable = "AWS_ENDPOINT_URL_SQS"

// options are those of `sqsbatch local` for a trial.
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
	o.env["AWS_IGNORE_CONFIGURED_ENDPOINT_URLS"] = "false" // or the endpoint would not count
	return o, nil
}

// Run tries messages and returns their results, in the same order. It writes its progress to
// tio.Stderr, uses nothing else of tio, and ignores the messages' receive counts.
//
// It also returns the results that there are when it returns an error: because nothing can
// run, because of --timeout, or because ctx or kill ended. When ctx ends, nothing more is
// invoked, and Run waits for the invocations under way. The end of kill and --timeout end
// them at once.
func (t *Trial) Run(ctx, kill context.Context, tio cli.IO, builder build.Builder, messages []message.Message) ([]TrialResult, error) {
	o, err := t.options()
	if err != nil || len(messages) == 0 {
		return nil, err
	}
	text := view.NewText(tio.Stderr, view.Detect(tio.Stderr))
	r := &run{o: o, builder: builder, view: text}
	c := newTrialCourse(messages, text, t.verbose)
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

// trialError is err, or the reason for which ctx ended if err is about that.
func trialError(ctx context.Context, err error, timeout time.Duration) error {
	err = notInterrupted(ctx, err)
	if errors.Is(err, errTimeout) {
		return fmt.Errorf("--timeout: not everything was tried after %s", timeout)
	}
	return err
}
