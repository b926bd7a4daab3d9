package dlq

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/sqsbatch/sqsbatch/batch"
	"github.com/sqsbatch/sqsbatch/cmd/sqsbatch/internal/dlq/journal"
	"github.com/sqsbatch/sqsbatch/cmd/sqsbatch/internal/dlq/queue"
)

// A report tells what a replay or move is going to do, and what it did.
type report struct {
	*session
	m     *moving
	t     *transfer
	began time.Time
}

// nameOf returns the name of a queue, or its ARN if it is not of the account, region and
// partition of the other queue.
func nameOf(arn, other string) string {
	if name := batch.QueueName(arn); strings.TrimSuffix(arn, name) == strings.TrimSuffix(other, batch.QueueName(other)) {
		return name
	}
	return arn
}

// destination says where the messages go.
func (r *report) destination() string {
	if to := r.t.routes.to; to != nil {
		return nameOf(to.ARN, r.queue.ARN)
	}
	return "the queues that they came from"
}

// plan says what a transfer is going to do.
func (r *report) plan(set *settings, state *journal.State) {
	q := r.queue
	text := fmt.Sprintf("%s: about %s", q.Name(), count(q.Visible))
	if q.InFlight > 0 {
		text += fmt.Sprintf(", %s in flight", number(q.InFlight))
	}
	r.print("%s", text)
	which := "all of them"
	if !r.t.pick.selection.All() {
		which = "those that are selected"
	}
	if set.Limit > 0 {
		which += fmt.Sprintf(", at most %s,", number(set.Limit))
	}
	pace := "as fast as SQS takes them"
	if r.m.rate > 0 {
		pace = fmt.Sprintf("at most %s a second", number(r.m.rate))
		if n := q.Visible; set.Limit > 0 && set.Limit < n {
			pace += fmt.Sprintf(", about %s", short(time.Duration(set.Limit/r.m.rate)*time.Second))
		} else if r.t.pick.selection.All() {
			pace += fmt.Sprintf(", about %s", short(time.Duration(n/r.m.rate)*time.Second))
		}
	}
	r.print("%s %s to %s, %s", r.m.verb, which, r.destination(), pace)
	if state != nil {
		unsure, undeleted := 0, 0
		for _, p := range state.Pending {
			if p.Sent {
				undeleted++
			} else {
				unsure++
			}
		}
		r.print("going on: %s were sent; %s of them are to be deleted still, and for %s more only the attempt is known", number(state.Sent), number(undeleted), number(unsure))
		r.t.result.sent("", 0, state.Twice)
	}
}

// begin shows how far the run is.
func (r *report) begin(set *settings) {
	total := r.queue.Visible
	r.status.begin(func() (done, of int, text string) {
		c := r.t.result.now()
		n, did := c.Deleted, r.m.did
		if r.t.dryRun {
			n, did = c.Selected, "selected"
		}
		text = fmt.Sprintf("%s %s", number(n), did)
		if c.NotSelected > 0 {
			text += fmt.Sprintf(", %s not selected", number(c.NotSelected))
		}
		if c.Failed > 0 {
			text += fmt.Sprintf(", %s failed (%s)", number(c.Failed), c.Failures[0].Error)
		}
		done, text = r.t.scan.progress(text)
		of = total
		if set.Limit > 0 && set.Limit < of && c.NotSelected == 0 {
			done, of = c.Selected, set.Limit
		}
		return done, max(of, done), text
	})
}

// end says what a transfer did, and returns the error that the command ends with.
func (r *report) end(a account, err error) error {
	c := r.t.result.now()
	line := newDoneLine(r.m.verb, r.session, r.t.dryRun, c, a, err)
	line.By, line.ElapsedMS, line.NotDeleted = bySend, time.Since(r.began).Milliseconds(), r.t.undeleted()
	if r.t.journal != nil {
		line.Journal = r.t.journal.Path()
	}
	r.text(line, a)
	if e := r.json(line); e != nil {
		return e
	}
	return r.verdict(line, a, err)
}

// text says it to people.
func (r *report) text(d *doneLine, a account) {
	if r.t.dryRun {
		n := 0
		for _, to := range d.Destinations {
			n += to
		}
		r.print("%s would be %s:", count(n), r.m.did)
	} else {
		r.print("%s %s in %s:", count(d.Deleted), r.m.did, short(time.Since(r.began)))
	}
	for _, arn := range slices.SortedFunc(maps.Keys(d.Destinations), func(a, b string) int { return d.Destinations[b] - d.Destinations[a] }) {
		r.row(d.Destinations[arn], "to %s", nameOf(arn, r.queue.ARN))
	}
	r.rows(d.counts, a)
	r.row(d.NotDeleted, "sent, and not deleted from %s", r.queue.Name())
	r.row(len(d.SentTwice), "may have been sent twice: %s", someIDs(d.SentTwice))
	for _, edit := range r.t.result.edits {
		r.print("\n%s", strings.TrimSpace(edit))
	}
	if r.t.dryRun && d.Error == "" {
		r.print("Nothing was changed. To %s them, add --yes.", r.m.verb)
	}
}

// verdict is the error that the command ends with.
func (r *report) verdict(d *doneLine, a account, err error) error {
	again := ""
	if d.Journal != "" {
		again = "; go on with --resume"
	}
	switch left := d.Failed + d.Behind + d.NotDeleted; {
	case errors.Is(err, errInterrupted):
		return interrupted(": %s were %s, the others are in %s%s", count(d.Deleted), r.m.did, r.queue.Name(), again)
	case err != nil:
		return fmt.Errorf("%w%s", err, again)
	case left > 0 && r.t.dryRun:
		return partly("%s would stay in %s, see above", count(left), r.queue.Name())
	case left > 0:
		return partly("%s stay in %s, see above%s", count(left), r.queue.Name(), again)
	}
	return r.session.verdict(d.counts, a, nil, r.t.pick.full())
}

// undeleted is how many messages were sent and not deleted.
func (t *transfer) undeleted() (n int) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, p := range t.pending {
		if p.Sent && p.Handle != "" {
			n++
		}
	}
	return n
}

// taskPlan says what SQS is going to do.
func (r *report) taskPlan(last *queue.Task) error {
	q := r.queue
	r.print("%s: about %s", q.Name(), count(q.Visible))
	if last != nil && last.Running() {
		r.print("a task of SQS that began at %s is moving them already; following it", last.Started.Local().Format(time.DateTime))
		return r.taskDryRun(0)
	}
	pace := "as fast as SQS finds right"
	if r.m.rate > 0 {
		pace = fmt.Sprintf("%s a second, about %s", number(r.m.rate), short(time.Duration(q.Visible/r.m.rate)*time.Second))
	}
	r.print("%s all of them to %s by a message move task of SQS, %s", r.m.verb, r.destination(), pace)
	if r.t.routes.to == nil {
		r.print("SQS knows this only of messages that it moved itself; those that sqsbatch dead-lettered are sent and deleted afterwards")
	}
	if r.t.dryRun {
		r.print("Nothing was changed. To %s them, add --yes.", r.m.verb)
	}
	return r.taskDryRun(q.Visible)
}

// taskDryRun writes the JSON line of a dry run. n is about how many messages SQS would move.
func (r *report) taskDryRun(n int) error {
	if !r.t.dryRun {
		return nil
	}
	return r.json(map[string]any{
		"type": "result", "verb": r.m.verb, "queue": r.queue.ARN, "dryRun": true, "by": byTask, "selected": n,
	})
}

// taskEnd says what SQS did.
func (r *report) taskEnd(task *queue.Task, set *settings, interruption error) error {
	r.print("%s %s by SQS in %s: %s", count(int(task.Moved)), r.m.did, short(time.Since(task.Started)), strings.ToLower(task.Status))
	if err := r.json(map[string]any{
		"type": "result", "verb": r.m.verb, "queue": r.queue.ARN, "dryRun": false, "by": byTask,
		"moved": task.Moved, "status": task.Status, "failureReason": task.Reason,
	}); err != nil {
		return err
	}
	switch {
	case interruption != nil:
		return interrupted(": the task was cancelled; what it moved stays moved, the rest is in %s", r.queue.Name())
	case task.Failed() && task.Moved == 0:
		return fmt.Errorf("the task failed: %s; all messages are still in %s: without --by task they are sent and deleted instead", task.Why(), r.queue.Name())
	case task.Failed():
		again := "run the command again to go on"
		if set.By == byTask {
			again += ", without --by task if it fails again"
		}
		return partly("the task failed after %s: %s; the rest is in %s; %s", count(int(task.Moved)), task.Why(), r.queue.Name(), again)
	case task.Status == "CANCELLED":
		return partly("the task was cancelled by someone else; the rest is in %s", r.queue.Name())
	}
	return nil
}
