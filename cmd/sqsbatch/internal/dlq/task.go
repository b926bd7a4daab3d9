package dlq

import (
	"errors"
	"fmt"
	"time"

	"github.com/sqsbatch/sqsbatch/cmd/sqsbatch/internal/dlq/queue"
	"github.com/sqsbatch/sqsbatch/internal/sleep"
	"github.com/sqsbatch/sqsbatch/internal/sqserror"
)

// whole reports whether SQS can do the whole of what is asked by a message move task.
func (m *moving) whole(t *transfer, set *settings) bool {
	return m.by != bySend && t.pick.selection.All() && set.Limit == 0 && t.edit == nil && m.rate <= queue.MaxMoveRate &&
		(t.routes.to == nil || t.routes.to.FIFO() == t.from.FIFO())
}

// pollTask is how often SQS is asked how far a task is.
const pollTask = 2 * time.Second

// noSource is why a task fails at a message that SQS did not move into the queue
// (developer guide, "Troubleshoot dead-letter queue and DLQ redrive issues").
const noSource = "CouldNotDetermineMessageSource"

// task has SQS move all messages, and follows it to its end. If SQS cannot, and --by
// leaves the choice, the messages are sent and deleted instead.
func (m *moving) task(s *session, t *transfer, set *settings, out *report) error {
	why := m.noTask(s)
	if why == nil {
		running, err := s.queue.LastTask(s.soft)
		if err != nil {
			return err
		}
		following := running != nil && running.Running()
		out.taskPlan(following, running)
		if t.dryRun {
			return nil
		}
		var ended *queue.Task
		if ended, why, err = m.runTask(s, t, running); err != nil {
			return err
		}
		if ended != nil {
			done := out.taskEnd(ended, s.interrupted())
			if ended.Reason != noSource || m.by == byTask || s.interrupted() != nil {
				return first(done, m.endJournal(t))
			}
			why = errors.New("SQS does not know where some of the messages came from")
		}
	}
	if m.by == byTask {
		return fmt.Errorf("--by task: %w", why)
	}
	out.note("%v: sending and deleting instead", why)
	if err := s.queue.Refresh(s.soft); err != nil {
		return err
	}
	return m.transfer(s, t, set, nil, out)
}

func (m *moving) endJournal(t *transfer) error {
	j := t.journal
	t.journal = nil
	return j.End()
}

// noTask returns why SQS starts no task for the queue: it does so only for a queue that is
// the dead-letter queue of another queue.
func (m *moving) noTask(s *session) error {
	sources, err := s.queue.Sources(s.soft)
	if err == nil && len(sources) == 0 {
		err = fmt.Errorf("SQS moves only from dead-letter queues, and %s is that of no queue", s.queue.Name())
	}
	return err
}

// runTask starts a task, unless one runs, and follows it. why says that SQS refuses to
// start one.
func (m *moving) runTask(s *session, t *transfer, running *queue.Task) (ended *queue.Task, why, err error) {
	to := ""
	if t.routes.to != nil {
		to = t.routes.to.ARN
	}
	handle := ""
	if running == nil || !running.Running() {
		if handle, err = s.queue.StartTask(s.soft, to, m.rate); err != nil {
			if sqserror.Unsure(err) {
				return nil, nil, err
			}
			return nil, err, nil
		}
	} else {
		handle = running.Handle
	}
	task := &queue.Task{Handle: handle, Status: "RUNNING"}
	s.status.begin(func() (done, total int, text string) {
		return int(task.Moved), s.queue.Visible, number(int(task.Moved)) + " moved by SQS"
	})
	defer s.status.end()
	for canceled := false; ; {
		if s.soft.Err() != nil && !canceled {
			canceled = true
			if err := s.queue.CancelTask(s.kill, handle); err != nil {
				return nil, nil, fmt.Errorf("the task goes on: %w", err)
			}
		}
		latest, err := s.queue.LastTask(s.kill)
		switch {
		case err != nil:
			return nil, nil, fmt.Errorf("the task goes on, and cannot be followed: %w", err)
		case latest != nil && !latest.Running():
			return latest, nil, nil
		case latest != nil:
			task = latest
		}
		ctx := s.soft
		if canceled {
			ctx = s.kill
		}
		sleep.For(ctx, pollTask)
		if s.kill.Err() != nil {
			return nil, nil, errors.New("stopped following the task, which goes on")
		}
	}
}
