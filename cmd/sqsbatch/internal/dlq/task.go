package dlq

import (
	"cmp"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"time"

	"github.com/sqsbatch/sqsbatch/cmd/sqsbatch/internal/dlq/queue"
	"github.com/sqsbatch/sqsbatch/cmd/sqsbatch/internal/show"
	"github.com/sqsbatch/sqsbatch/internal/sleep"
	"github.com/sqsbatch/sqsbatch/internal/sqserror"
)

// noTask returns why a message move task of SQS cannot do the whole of what is asked, "" if it
// can.
func (t *transfer) noTask() string {
	switch {
	case !t.Criteria.All() || t.Limit > 0:
		return "a task moves all messages; leave out --where, --reason, --since, --until, --id and --limit"
	case t.edit != nil:
		return "a task changes nothing; leave out --edit and --editor"
	case t.rate > queue.MaxMoveRate:
		return fmt.Sprintf("--rate is %d; a task moves at most %d messages a second", t.rate, queue.MaxMoveRate)
	case t.routes.to != nil && t.routes.to.FIFO() != t.queue.FIFO():
		return "a task does not move messages between a standard queue and a FIFO queue"
	}
	return ""
}

// task has SQS move all messages, and follows it to its end. instead says that the messages are
// to be sent and deleted: SQS cannot begin, or failed before it had moved anything or at a
// message whose source it does not know, and --by leaves the choice.
func (t *transfer) task() (instead bool, err error) {
	last, why := t.lastTask()
	if err := t.interrupted(); err != nil {
		return false, asInterrupted(err)
	}
	if sqserror.Passing(why) { // it may be gone a moment later
		return false, why
	}
	if why == nil {
		if err := t.taskPlan(last); err != nil || t.dryRun() {
			return false, err
		}
		var handle string
		if handle, why = t.startTask(last); sqserror.Unsure(why) {
			return false, fmt.Errorf("the task may have begun; `--resume` follows it if so: %w", why)
		}
		if why == nil {
			ended, err := t.followTask(handle, last)
			if err != nil {
				return false, err
			}
			err = t.taskReport(ended)
			if !ended.Failed() || ended.Moved > 0 && ended.Reason != queue.NoSource || t.By == byTask || t.interrupted() != nil {
				return false, cmp.Or(err, t.endJournal())
			}
			why = fmt.Errorf("the task failed: %s", ended.Why())
		}
	}
	if t.By == byTask {
		return false, fmt.Errorf("--by task: %w", why)
	}
	t.status.say("%v: sending and deleting instead", why)
	return true, t.queue.Refresh(t.soft)
}

// lastTask returns the queue's last task, nil if there is none. why says that SQS starts no task
// for the queue: it does so only for a queue that is the dead-letter queue of another queue.
func (t *transfer) lastTask() (last *queue.Task, why error) {
	sources, err := t.queue.Sources(t.soft, queue.Patience)
	if err != nil {
		return nil, err
	}
	if len(sources) == 0 {
		return nil, fmt.Errorf("SQS moves only from dead-letter queues, and %s is that of no queue", t.queue.Name())
	}
	return t.queue.LastTask(t.soft)
}

// startTask starts a task, unless the last one runs.
func (t *transfer) startTask(last *queue.Task) (handle string, err error) {
	if last != nil && last.Running() {
		return last.Handle, nil
	}
	to := ""
	if t.routes.to != nil {
		to = t.routes.to.ARN
	}
	return t.queue.StartTask(t.soft, to, t.rate)
}

// pollTask is how often SQS is asked how far a task is.
const pollTask = 2 * time.Second

// followTask waits for the end of the task with a handle, and cancels it after an interrupt.
// SQS lists tasks with a delay: until it lists the task, it lists last, the one before it.
func (t *transfer) followTask(handle string, last *queue.Task) (ended *queue.Task, err error) {
	var moved atomic.Int64
	total := t.queue.Visible
	t.status.begin(func() (done, of int, text string) {
		n := int(moved.Load())
		return n, total, show.Number(n) + " moved by SQS"
	})
	defer t.status.end()
	for ctx := t.soft; ; {
		if t.soft.Err() != nil && ctx != t.kill {
			ctx = t.kill
			if err := t.queue.CancelTask(ctx, handle); err != nil {
				return nil, fmt.Errorf("the task goes on: %w", err)
			}
		}
		latest, err := t.queue.LastTask(t.kill)
		switch {
		case err != nil:
			return nil, fmt.Errorf("the task goes on, and cannot be followed: %w", err)
		case latest == nil || last != nil && last.Handle != handle && latest.Started.Equal(last.Started): // not yet listed
		case !latest.Running():
			return latest, nil
		default:
			moved.Store(latest.Moved)
		}
		sleep.For(ctx, pollTask)
		if t.kill.Err() != nil {
			return nil, errors.New("stopped following the task, which goes on")
		}
	}
}

// taskPlan says what SQS is going to do.
func (t *transfer) taskPlan(last *queue.Task) error {
	t.print("%s: about %s", t.queue.Name(), count(t.queue.Visible))
	selected := 0 // about how many messages SQS would move
	if last != nil && last.Running() {
		t.print("a task of SQS that began at %s is moving them already; following it", last.Started.Local().Format(time.DateTime))
	} else {
		selected = t.queue.Visible
		pace := "as fast as SQS finds right"
		if t.rate > 0 {
			pace = show.Number(t.rate) + " a second" + t.about(selected)
		}
		t.print("%s all of them to %s by a message move task of SQS, %s", t.cmd.Name(), t.destination(), pace)
		if t.routes.to == nil {
			t.print("SQS knows this only of messages that it moved itself; those that sqsbatch dead-lettered are sent and deleted afterwards")
		}
		t.sayDryRun()
	}
	if !t.dryRun() {
		return nil
	}
	return t.json(map[string]any{
		"type": "result", "verb": t.cmd.Name(), "queue": t.queue.ARN, "dryRun": true, "by": byTask, "selected": selected,
	})
}

// taskReport says what SQS did, and returns the error that the command ends with.
func (t *transfer) taskReport(task *queue.Task) error {
	t.print("%s %s by SQS in %s: %s", count(int(task.Moved)), t.did(), short(time.Since(task.Started)), strings.ToLower(task.Status))
	if err := t.json(map[string]any{
		"type": "result", "verb": t.cmd.Name(), "queue": t.queue.ARN, "dryRun": false, "by": byTask,
		"moved": task.Moved, "status": task.Status, "failureReason": task.Reason,
	}); err != nil {
		return err
	}
	switch {
	case t.interrupted() != nil:
		return interrupted(": the task was cancelled; what it moved stays moved, the rest is in %s", t.queue.Name())
	case task.Failed() && task.Moved == 0:
		return fmt.Errorf("the task failed: %s; all messages are still in %s: without --by task they are sent and deleted instead", task.Why(), t.queue.Name())
	case task.Failed():
		again := "run the command again to go on"
		if t.By == byTask {
			again += ", without --by task if it fails again"
		}
		return partly("the task failed after %s: %s; the rest is in %s; %s", count(int(task.Moved)), task.Why(), t.queue.Name(), again)
	case task.Status == "CANCELLED":
		return partly("the task was cancelled by someone else; the rest is in %s", t.queue.Name())
	}
	return nil
}
