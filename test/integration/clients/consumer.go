package clients

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"strings"
	"time"

	"github.com/sqsbatch/sqsbatch/internal/subprocess"
	"github.com/sqsbatch/sqsbatch/test/internal/sqsserver"
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
	command func(endpoint string) *exec.Cmd
	// exit is its exit code after SIGTERM.
	exit int
	// skips is for one that leaves the rest of a group when one of it fails.
	skips bool
}

// check gives a consumer a standard queue and a FIFO queue.
func (c consumer) check(ctx context.Context, s *sqsserver.Server) error {
	var wrong []error
	for _, p := range []plan{standard(), fifo()} {
		if err := c.run(ctx, s, p); err != nil {
			wrong = append(wrong, fmt.Errorf("%s: %w", p.queue, err))
		}
	}
	return errors.Join(wrong...)
}

func (c consumer) run(ctx context.Context, s *sqsserver.Server, p plan) error {
	begin := time.Now()
	limited, cancel := context.WithTimeoutCause(ctx, planTime, fmt.Errorf("not done within %v", planTime))
	defer cancel()
	q, err := makeQueues(ctx, s.URL, p)
	if err != nil {
		return err
	}
	book := newLedger(p)
	cmd := c.command(s.URL)
	cmd.Env = append(cmd.Env, "QUEUE_URL="+q.url, "NOTE="+note)
	stdin, err := cmd.StdinPipe()
	if err != nil {
		return err
	}
	process, err := subprocess.Start(cmd, book.line)
	if err != nil {
		return err
	}
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
		err = errors.Join(gone(ctx, q), q.deadLetters(ctx, p))
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
func drive(ctx context.Context, stdin io.Writer, q *queues, p plan, book *ledger, ended <-chan struct{}) error {
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
	if _, err := io.WriteString(stdin, lines(p.tasks...)); err != nil {
		return err
	}
	if err := wait("send all but the last task", book.sent); err != nil {
		return err
	}
	if err := q.empty(ctx); err != nil {
		return err
	}
	if _, err := io.WriteString(stdin, lines(p.last)); err != nil {
		return err
	}
	return errors.Join(wait("send the last task", book.sent), wait("start the last task", book.started))
}

// gone wants the queue to be empty after the consumer's end.
func gone(ctx context.Context, q *queues) error {
	n, err := q.count(ctx, q.url)
	if err == nil && n > 0 {
		err = fmt.Errorf("%d messages are left after the end", n)
	}
	return err
}
