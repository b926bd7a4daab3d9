package clients

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	awssqs "github.com/aws/aws-sdk-go-v2/service/sqs"
	"github.com/sqsbatch/sqsbatch/internal/subprocess"
	"github.com/sqsbatch/sqsbatch/test/integration/internal/stage"
	"github.com/sqsbatch/sqsbatch/test/internal/harness"
	"github.com/sqsbatch/sqsbatch/test/internal/must"
)

const (
	planTime = 90 * time.Second // at most, on a slow machine
	stopTime = 30 * time.Second // from SIGTERM to the end
)

// A consumer is a library that receives for its users: its program is in a
// directory of its own. It sends the lines of its standard input to QUEUE_URL,
// and prints "sent" when it has sent all up to an empty one. It handles what comes
// from there as the bodies say, prints a line when its handler is called and when
// that returns (see entry), and stops at SIGTERM.
type consumer struct {
	command func() *exec.Cmd // subprocess ends it
	// exit is its exit code after SIGTERM.
	exit int
	// skips is for one that leaves the rest of a group when one of it fails.
	skips bool
}

// check gives a consumer a standard queue and a FIFO queue.
func (c consumer) check(ctx context.Context, s *harness.Server) error {
	var wrong []error
	for _, p := range []plan{standard(), fifo()} {
		if err := c.run(ctx, s, p); err != nil {
			wrong = append(wrong, fmt.Errorf("%s: %w", p.queue, err))
		}
	}
	return errors.Join(wrong...)
}

func (c consumer) run(ctx context.Context, s *harness.Server, p plan) (err error) {
	defer must.Return(&err)
	begin := time.Now()
	limited, cancel := context.WithTimeoutCause(ctx, planTime, fmt.Errorf("not done within %v", planTime))
	defer cancel()
	q := &queues{client: harness.SQSClient(s.URL)}
	q.url, q.dead = must.Get2(harness.MakeQueues(ctx, q.client, p.queue, "dead-"+p.queue, maxReceives))
	book := newLedger(p)
	cmd := c.command()
	cmd.Env = stage.Environment(append(cmd.Env, "AWS_ENDPOINT_URL_SQS="+s.URL, "QUEUE_URL="+q.url, "NOTE="+note)...)
	stdin := must.Get(cmd.StdinPipe())
	process := must.Get(subprocess.Start(cmd, book.line))
	err = drive(limited, stdin, q, p, book, process.Ended())
	stopping, kill := context.WithTimeout(ctx, stopTime)
	defer kill()
	if err != nil {
		kill()
	}
	stopped := time.Now()
	inTime := process.Stop(stopping)
	if code := cmd.ProcessState.ExitCode(); err == nil && (code != c.exit || !inTime) {
		err = fmt.Errorf("%v after SIGTERM (%v at most) it ended with %v", time.Since(stopped).Round(time.Millisecond), stopTime, cmd.ProcessState)
	}
	// No other goroutine has the book now.
	err = errors.Join(append(book.wrong, err, judge(p, book.entries, c.skips))...)
	if err == nil {
		err = errors.Join(harness.RequireEmpty(ctx, q.client, q.url), q.deadLetters(ctx, p))
	}
	if err != nil {
		return fmt.Errorf("%w\nit said last: %s", err, strings.Join(process.LastLines(), "\n"))
	}
	dead, calls := 0, 0
	for _, t := range p.all() {
		calls += t.handled()
		if t.dead() {
			dead++
		}
	}
	fmt.Printf("%6d ms  %s: %d messages, %d calls of the handler, dead letters: %d\n", time.Since(begin).Milliseconds(), p.queue, len(p.all()), calls, dead)
	return nil
}

// drive has a consumer send and handle a plan, and returns when its handler is
// at the last task: that must finish, and be deleted, although SIGTERM comes.
func drive(ctx context.Context, stdin io.Writer, q *queues, p plan, book *ledger, ended <-chan struct{}) (err error) {
	defer must.Return(&err)
	wait := func(what string, c <-chan struct{}) error {
		select {
		case <-c:
			return nil
		case <-ended:
			return fmt.Errorf("%s: it ended", what)
		case <-ctx.Done():
			return fmt.Errorf("%s: %w", what, context.Cause(ctx))
		}
	}
	must.Get(io.WriteString(stdin, lines(p.tasks...)))
	must.Do(wait("send all but the last task", book.sent))
	must.Do(harness.Until(ctx, planTime, func() error { return harness.RequireEmpty(ctx, q.client, q.url) }))
	must.Get(io.WriteString(stdin, lines(p.last)))
	return errors.Join(wait("send the last task", book.sent), wait("start the last task", book.started))
}

type queues struct {
	client    *awssqs.Client
	url, dead string
}

// deadLetters wants the numbers in the dead-letter queue to be those of the plan.
func (q *queues) deadLetters(ctx context.Context, p plan) (err error) {
	defer must.Return(&err)
	var want, got []string
	for _, t := range p.all() {
		if t.dead() {
			want = append(want, strconv.Itoa(t.n))
		}
	}
	for {
		out := must.Get(q.client.ReceiveMessage(ctx, &awssqs.ReceiveMessageInput{
			QueueUrl: &q.dead, MaxNumberOfMessages: 10, MessageAttributeNames: []string{"All"},
		}))
		if len(out.Messages) == 0 {
			break
		}
		for _, m := range out.Messages {
			got = append(got, aws.ToString(m.MessageAttributes["number"].StringValue))
		}
	}
	slices.Sort(want)
	slices.Sort(got)
	if !slices.Equal(got, want) {
		return fmt.Errorf("dead letters %q, expected %q", got, want)
	}
	return nil
}
