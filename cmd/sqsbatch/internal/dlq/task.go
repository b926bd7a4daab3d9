package dlq

import (
	"cmp"
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/spf13/cobra"

	"github.com/sqsbatch/sqsbatch/cmd/sqsbatch/internal/dlq/journal"
	"github.com/sqsbatch/sqsbatch/cmd/sqsbatch/internal/dlq/queue"
	"github.com/sqsbatch/sqsbatch/internal/sleep"
	"github.com/sqsbatch/sqsbatch/internal/sqserror"
)

// whole reports whether SQS is to do the whole of what is asked by a message move task. It
// returns an error if --by wants that, and a task cannot do it. A run that goes on does so
// only if it has sent nothing itself.
func (m *moving) whole(cmd *cobra.Command, t *transfer, set *settings, state *journal.State) (bool, error) {
	if set.By == bySend || state != nil && state.Sent+len(state.Pending) > 0 {
		return false, nil
	}
	why := ""
	switch {
	case !t.pick.selection.All() || set.Limit > 0:
		why = "a task moves all messages; leave out --where, --reason, --since, --until, --id and --limit"
	case t.edit != nil:
		why = "a task changes nothing; leave out --edit and --editor"
	case m.rate > queue.MaxMoveRate:
		why = fmt.Sprintf("--rate is %d; a task moves at most %d messages a second", m.rate, queue.MaxMoveRate)
	case t.routes.to != nil && t.routes.to.FIFO() != t.from.FIFO():
		why = "a task does not move messages between a standard queue and a FIFO queue"
	}
	if why != "" && set.By == byTask {
		return false, usagef(cmd, "--by task: %s", why)
	}
	return why == "", nil
}

// pollTask is how often SQS is asked how far a task is.
const pollTask = 2 * time.Second

// task has SQS move all messages, and follows it to its end. If SQS cannot begin, or fails
// before it has moved anything or at a message whose source it does not know, and --by leaves
// the choice, the messages are sent and deleted instead.
func (m *moving) task(s *session, t *transfer, set *settings, state *journal.State, out *report) error {
	why := m.noTask(s)
	var last *queue.Task
	if why == nil {
		last, why = s.queue.LastTask(s.soft)
	}
	if err := s.interrupted(); err != nil {
		return asInterrupted(err)
	}
	if sqserror.Passing(why) { // it may be gone a moment later
		return why
	}
	if why == nil {
		if err := out.taskPlan(last); err != nil || t.dryRun {
			return err
		}
		var ended *queue.Task
		var err error
		if ended, why, err = m.runTask(s, t, last); err != nil {
			return err
		}
		if ended != nil {
			instead := ended.Failed() && (ended.Moved == 0 || ended.Reason == queue.NoSource) && set.By != byTask && s.interrupted() == nil
			if err := out.taskEnd(ended, set, s.interrupted()); !instead {
				return cmp.Or(err, t.end())
			}
			why = fmt.Errorf("the task failed: %s", ended.Why())
		}
	}
	if set.By == byTask {
		return fmt.Errorf("--by task: %w", why)
	}
	s.status.say("%v: sending and deleting instead", why)
	if err := s.queue.Refresh(s.soft); err != nil {
		return err
	}
	return m.transfer(s, t, set, state, out)
}

// noTask returns why SQS starts no task for the queue: it does so only for a queue that is
// the dead-letter queue of another queue.
func (m *moving) noTask(s *session) error {
	sources, err := s.queue.Sources(s.soft, queue.Patience)
	if err == nil && len(sources) == 0 {
		err = fmt.Errorf("SQS moves only from dead-letter queues, and %s is that of no queue", s.queue.Name())
	}
	return err
}

// runTask starts a task, unless one runs, and follows it. last is the queue's last task, or
// nil. why says that SQS refuses to start one.
func (m *moving) runTask(s *session, t *transfer, last *queue.Task) (ended *queue.Task, why, err error) {
	if last != nil && last.Running() {
		ended, err = followTask(s, last.Handle, nil)
		return ended, nil, err
	}
	to := ""
	if t.routes.to != nil {
		to = t.routes.to.ARN
	}
	handle, err := s.queue.StartTask(s.soft, to, m.rate)
	switch {
	case sqserror.Unsure(err):
		return nil, nil, fmt.Errorf("the task may have begun; `--resume` follows it if so: %w", err)
	case err != nil:
		return nil, err, nil
	}
	ended, err = followTask(s, handle, last)
	return ended, nil, err
}

// followTask waits for the end of the task with a handle, and cancels it after an interrupt.
// SQS lists tasks with a delay: until it lists the task, last is the one before it.
func followTask(s *session, handle string, last *queue.Task) (ended *queue.Task, err error) {
	var moved atomic.Int64
	total := s.queue.Visible
	s.status.begin(func() (done, of int, text string) {
		n := int(moved.Load())
		return n, total, number(n) + " moved by SQS"
	})
	defer s.status.end()
	for canceled := false; ; {
		if s.soft.Err() != nil && !canceled {
			canceled = true
			if err := s.queue.CancelTask(s.kill, handle); err != nil {
				return nil, fmt.Errorf("the task goes on: %w", err)
			}
		}
		latest, err := s.queue.LastTask(s.kill)
		switch {
		case err != nil:
			return nil, fmt.Errorf("the task goes on, and cannot be followed: %w", err)
		case latest == nil || last != nil && latest.Started.Equal(last.Started): // not yet listed
		case !latest.Running():
			return latest, nil
		default:
			moved.Store(latest.Moved)
		}
		ctx := s.soft
		if canceled {
			ctx = s.kill
		}
		sleep.For(ctx, pollTask)
		if s.kill.Err() != nil {
			return nil, errors.New("stopped following the task, which goes on")
		}
	}
}
