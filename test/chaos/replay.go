package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/sqsbatch/sqsbatch/test/internal/harness"
	"github.com/sqsbatch/sqsbatch/test/internal/must"
)

// replayOptions are the flags.
type replayOptions struct {
	messages, kills, parallel int
	seed                      uint64
	fifo, both                bool
	program                   string // sqsbatch, which is built
	dir                       string // for journals
}

// replayMain shows with real processes that `sqsbatch dlq replay` loses nothing.
//
//	go run . replay -messages 5000 -kills 10 -both
//	go run . replay -messages 100000 -kills 50 -fifo
//
// It fills a dead-letter queue (replay_fill.go, replay_plan.go), some messages as sqsbatch does it and some
// as SQS does it. Then it replays a selection of them with an edit (replay.go): it interrupts
// the first run, kills the next ones at random calls (replay_proxy.go), and has the last one go on to
// its end. That one waits two minutes for the messages that the killed ones have hidden. At
// the end it reads both sides of the server and judges (replay_judge.go):
//
//   - No selected message is lost. Each is at its destination, edited as asked.
//   - Each message that is not selected is still in the dead-letter queue, as it was, and
//     visible.
//   - Only a message that was in flight at a kill may be there twice, and the tool names it.
//     None is in a FIFO queue, if the last run began within five minutes.
//   - After the interrupt no message is hidden.
func replayMain(args []string) error {
	var o replayOptions
	flags := flag.NewFlagSet("replay", flag.ExitOnError)
	flags.IntVar(&o.messages, "messages", 5000, "how many messages are in the dead-letter queue")
	flags.IntVar(&o.kills, "kills", 10, "how often the command is killed")
	flags.IntVar(&o.parallel, "parallel", 16, "the command's --parallel")
	flags.Uint64Var(&o.seed, "seed", 1, "seed of the kills")
	flags.BoolVar(&o.fifo, "fifo", false, "FIFO queues instead of standard ones")
	flags.BoolVar(&o.both, "both", false, "standard and FIFO queues side by side")
	_ = flags.Parse(args) // it exits at an error
	return runReplay(context.Background(), o)
}

func runReplay(ctx context.Context, o replayOptions) (err error) {
	defer must.Return(&err)
	o.dir = must.Get(os.MkdirTemp("", "deadletters"))
	defer func() { _ = os.RemoveAll(o.dir) }()
	o.program = filepath.Join(o.dir, "sqsbatch.exe")
	must.Do(harness.Build(ctx, o.program, "./cmd/sqsbatch"))
	if !o.both {
		return onServer(ctx, o)
	}
	var runs sync.WaitGroup
	errs := make([]error, 2)
	for i := range errs {
		one := o
		one.fifo = i == 1
		runs.Go(func() { errs[i] = onServer(ctx, one) })
	}
	runs.Wait()
	return errors.Join(errs...)
}

// onServer replays on a server of its own.
func onServer(ctx context.Context, o replayOptions) (err error) {
	defer must.Return(&err)
	server := must.Get(harness.StartSQS(ctx, o.program))
	defer func() { err = errors.Join(err, server.Stop()) }()
	p := must.Get(newProxy(server.URL))
	defer p.close()
	r := &replay{scene: newScene(o, server.URL), proxy: p}
	if err := must.Run(func() { r.fill(ctx); r.run(ctx) }); err != nil {
		return fmt.Errorf("%s queues: %w", o.kind(), err)
	}
	return nil
}

func (o *replayOptions) kind() string {
	if o.fifo {
		return "FIFO"
	}
	return "standard"
}

// A replay is the whole of what happens to one dead-letter queue.
type replay struct {
	*scene
	proxy   *proxy
	journal string
	random  *rand.Rand
	budget  int // messages that a run sends on average before its end
	first   time.Time
}

// print prints what a run found, with the kind of its queues.
func (r *replay) print(format string, args ...any) {
	fmt.Printf("%-8s  %s\n", r.kind(), fmt.Sprintf(format, args...))
}

// share is how much of the selected messages the runs send that do not reach their end. The
// others are hidden by killed runs, or left for the last one.
const share = 0.4

func (r *replay) run(ctx context.Context) {
	name := "standard.journal"
	if r.fifo {
		name = "fifo.journal"
	}
	r.journal = filepath.Join(r.dir, name)
	r.random = rand.New(rand.NewPCG(r.seed, uint64(len(name))))
	moved := 0
	for _, is := range expected(r.messages, r.fifo) {
		if is {
			moved++
		}
	}
	r.budget = max(1, int(share*float64(moved)/float64(r.kills+1)))
	r.print("%d messages, %d of them to be replayed", r.messages, moved)
	r.interrupt(ctx)
	r.first = time.Now()
	for n := range r.kills {
		if err := must.Run(func() {
			t, status := r.strike(ctx, true, func(p *os.Process) { _ = p.Kill() })
			if status != -1 {
				must.Failf("it had ended with status %d: %s", status, t.output())
			}
		}); err != nil {
			must.Failf("kill %d: %w", n+1, err)
		}
	}
	r.print("%d kills in %s; the last run waits for what they have hidden", r.kills, secondsSince(r.first))
	r.judge(ctx, r.finish(ctx))
}

// command is the first run, or one that goes on.
func (r *replay) command(ctx context.Context, resume bool) *toolRun {
	args := []string{"replay", r.dead, "--endpoint-url", r.proxy.url, "--journal", r.journal, "--parallel", strconv.Itoa(r.parallel), "--output", "json"}
	if resume {
		return tool(ctx, r.program, append(args, "--resume")...)
	}
	// SQS lists only orders as a source.
	return tool(ctx, r.program, append(args, "--by", "send", "--where", where, "--edit", edit, "--yes", "--origin", arn(r.returns))...)
}

// strike runs a process until a blow falls, at a random message of a random operation.
func (r *replay) strike(ctx context.Context, resume bool, what func(*os.Process)) (t *toolRun, status int) {
	t = r.command(ctx, resume)
	b := &blow{operation: "SendMessageBatch", nth: 1 + r.random.IntN(2*r.budget), answered: r.random.IntN(2) == 0}
	if r.random.IntN(3) == 0 {
		b.operation = "DeleteMessageBatch"
	}
	b.strike = func() { what(t.cmd.Process) }
	r.proxy.arm(nil)
	status = t.run(func() { r.proxy.arm(b) })
	if !r.proxy.struck() {
		must.Failf("the run ended before message %d of %s, with status %d: %s", b.nth, b.operation, status, t.output())
	}
	return t, status
}

// interrupt begins the replay. The first run meets a Ctrl-C, after which no message is hidden.
func (r *replay) interrupt(ctx context.Context) {
	t, status := r.strike(ctx, false, func(p *os.Process) { _ = p.Signal(os.Interrupt) })
	out := t.result()
	_, hidden := must.Get2(r.counts(ctx, r.dead))
	switch {
	case status != 130:
		must.Failf("after an interrupt the status is %d, want 130: %s", status, t.output())
	case hidden > 0 || out.StillHidden > 0:
		must.Failf("after an interrupt %d messages are hidden (the tool says %d)", hidden, out.StillHidden)
	case out.Failed > 0 || len(out.SentTwice) > 0:
		must.Failf("an interrupt made messages fail or be sent twice: %s", t.output())
	}
	r.print("interrupted after %d messages: status 130, none hidden", out.Deleted)
}

// finish goes on with the replay to its end.
func (r *replay) finish(ctx context.Context) result {
	began := time.Now()
	r.proxy.arm(nil)
	t := r.command(ctx, true)
	status := t.run(func() {})
	out, want := t.result(), 0
	if out.Behind+out.Unseen+len(out.SentTwice) > 0 {
		want = 3
	}
	if status != want || out.Error != "" || out.Failed+out.StillHidden+out.InFlightElsewhere > 0 || out.Unseen > 0 && !r.fifo {
		must.Failf("the last run ended with status %d, want %d: %s", status, want, t.output())
	}
	r.print("the last run ended after %s with status %d", secondsSince(began), status)
	again := r.command(ctx, true)
	if status := again.run(func() {}); status != 2 {
		must.Failf("--resume of a run that ended has status %d, want 2: %s", status, again.output())
	}
	return out
}

// A toolRun is one process of `sqsbatch dlq`.
type toolRun struct {
	cmd            *exec.Cmd
	stdout, stderr bytes.Buffer
}

// result is the last line of its JSON output.
type result struct {
	Type                      string
	Selected, Deleted, Failed int
	Behind, Unseen            int
	InFlightElsewhere         int
	StillHidden               int
	SentTwice                 []string
	Error                     string
}

// tool prepares a process. Its configuration is not that of the user.
func tool(ctx context.Context, program string, args ...string) *toolRun {
	t := &toolRun{cmd: exec.CommandContext(ctx, program, append([]string{"dlq"}, args...)...)}
	t.cmd.Stdout, t.cmd.Stderr = &t.stdout, &t.stderr
	for _, variable := range os.Environ() {
		if !strings.HasPrefix(variable, "AWS_") {
			t.cmd.Env = append(t.cmd.Env, variable)
		}
	}
	t.cmd.Env = append(t.cmd.Env, "AWS_REGION=us-east-1", "AWS_ACCESS_KEY_ID=test", "AWS_SECRET_ACCESS_KEY=test", "AWS_EC2_METADATA_DISABLED=true")
	return t
}

// runReplay runs it, and calls started meanwhile. It returns the exit status, -1 after a kill.
func (t *toolRun) run(started func()) (status int) {
	must.Do(t.cmd.Start())
	started()
	err := t.cmd.Wait()
	if _, exited := errors.AsType[*exec.ExitError](err); !exited {
		must.Do(err)
	}
	return t.cmd.ProcessState.ExitCode()
}

// result reads the output.
func (t *toolRun) result() (r result) {
	all := bytes.Split(bytes.TrimSpace(t.stdout.Bytes()), []byte("\n"))
	if err := json.Unmarshal(all[len(all)-1], &r); err != nil || r.Type != "result" {
		must.Failf("the output does not end with a result: %s", t.output())
	}
	return r
}

// output is what it printed, for errors.
func (t *toolRun) output() string {
	return strings.TrimSpace(t.stdout.String() + "\n" + t.stderr.String())
}

// secondsSince is how long ago a time is.
func secondsSince(since time.Time) string { return fmt.Sprintf("%.1f s", time.Since(since).Seconds()) }
