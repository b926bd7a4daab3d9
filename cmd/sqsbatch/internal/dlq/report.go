package dlq

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
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
	printer
	s     *session
	m     *moving
	t     *transfer
	began time.Time
}

func newReport(s *session, m *moving, t *transfer) *report {
	return &report{printer: printer{s}, s: s, m: m, t: t, began: time.Now()}
}

// words of a verb.
func (r *report) words() (will, did string) {
	if r.m.move {
		return "move", "moved"
	}
	return "replay", "replayed"
}

// note writes a line about the run itself.
func (r *report) note(format string, args ...any) { r.s.status.say(fmt.Sprintf(format, args...)) }

func writeJSON(w io.Writer, v any) error {
	lines := json.NewEncoder(w)
	lines.SetEscapeHTML(false)
	return lines.Encode(v)
}

// plan says what a transfer is going to do.
func (r *report) plan(set *settings, state *journal.State) {
	q := r.s.queue
	will, _ := r.words()
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
		which += fmt.Sprintf(", at most %s", number(set.Limit))
	}
	to := "the queues that they came from"
	if r.t.routes.to != nil {
		to = r.t.routes.to.Name()
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
	r.print("%s %s to %s, %s", will, which, to, pace)
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
	total := r.s.queue.Visible
	_, did := r.words()
	r.s.status.begin(func() (done, of int, text string) {
		c := r.t.result.now()
		r.t.scan.mu.Lock()
		received := r.t.scan.received
		r.t.scan.mu.Unlock()
		done, of = received, total
		if set.Limit > 0 && set.Limit < of && c.NotSelected == 0 {
			done, of = c.Selected, set.Limit
		}
		n := c.Deleted
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
		return done, max(of, done), text
	})
}

// A done line is the last of the JSON output.
type doneLine struct {
	Type      string `json:"type"` // "result"
	Verb      string `json:"verb"`
	Queue     string `json:"queue"`
	DryRun    bool   `json:"dryRun"`
	By        string `json:"by"`
	ElapsedMS int64  `json:"elapsedMs"`
	counts
	Received    int    `json:"received"`
	Unseen      int    `json:"unseen"`
	Elsewhere   int    `json:"inFlightElsewhere"`
	StillHidden int    `json:"stillHidden"`
	NotDeleted  int    `json:"sentNotDeleted"`
	Journal     string `json:"journal,omitempty"`
	Error       string `json:"error,omitempty"`
}

// end says what a transfer did, and returns the error that the command ends with.
func (r *report) end(a account, err error) error {
	c := r.t.result.now()
	line := doneLine{
		Type: "result", Verb: r.m.verb(), Queue: r.s.queue.ARN, DryRun: r.t.dryRun, By: bySend, ElapsedMS: time.Since(r.began).Milliseconds(),
		counts: c, Received: a.Received, Unseen: a.Unseen, Elsewhere: a.Elsewhere, StillHidden: a.Hidden, NotDeleted: r.t.undeleted(),
	}
	if r.t.journal != nil {
		line.Journal = r.t.journal.Path()
	}
	if err != nil {
		line.Error = err.Error()
	}
	r.text(&line)
	if e := r.json(line); e != nil {
		return e
	}
	return r.verdict(&line, err)
}

// text says it to people.
func (r *report) text(d *doneLine) {
	will, did := r.words()
	if r.t.dryRun {
		r.print("%s would be %s:", count(d.Selected-d.Failed-d.LeftByEdit), did)
	} else {
		r.print("%s %s in %s:", count(d.Deleted), did, short(time.Since(r.began)))
	}
	for _, arn := range slices.SortedFunc(maps.Keys(d.Destinations), func(a, b string) int { return d.Destinations[b] - d.Destinations[a] }) {
		r.print("  %8s  to %s", number(d.Destinations[arn]), batch.QueueName(arn))
	}
	r.rows(d.counts, account{Unseen: d.Unseen, Elsewhere: d.Elsewhere, Hidden: d.StillHidden})
	r.row(d.NotDeleted, "sent, and not deleted from %s", r.s.queue.Name())
	if n := len(d.SentTwice); n > 0 {
		r.row(n, "may have been sent twice: %s", someIDs(d.SentTwice))
	}
	for _, edit := range r.t.result.edits {
		r.print("\n%s", strings.TrimSpace(edit))
	}
	if r.t.dryRun && d.Error == "" {
		r.print("Nothing was changed. To %s them, add --yes.", will)
	}
}

// unseen says why messages of a queue could not be seen.
func unseen(q *queue.Queue) string {
	if q.FIFO() {
		return "SQS shows no more of a group while its first messages are held"
	}
	return fmt.Sprintf("SQS allows %s messages in flight", number(queue.MaxInFlight))
}

// someIDs lists the first ids.
func someIDs(ids []string) string {
	const most = 5
	if len(ids) > most {
		return strings.Join(ids[:most], ", ") + fmt.Sprintf(" and %s more", number(len(ids)-most))
	}
	return strings.Join(ids, ", ")
}

// verdict is the error that the command ends with.
func (r *report) verdict(d *doneLine, err error) error {
	again := ""
	if d.Journal != "" {
		again = "; go on with --resume"
	}
	switch left := d.Failed + d.Behind + d.NotDeleted; {
	case errors.Is(err, errInterrupted):
		return &interruptedError{fmt.Sprintf("interrupted: %s were %s, the others are in %s%s", count(d.Deleted), second(r.words()), r.s.queue.Name(), again)}
	case err != nil:
		return fmt.Errorf("%w%s", err, again)
	case left > 0 && r.t.dryRun:
		return partly("%s would stay in %s, see above", count(left), r.s.queue.Name())
	case left > 0:
		return partly("%s stay in %s, see above%s", count(left), r.s.queue.Name(), again)
	case d.Unseen > 0 && d.Selected < r.t.pick.limit || d.Unseen > 0 && r.t.pick.limit == 0:
		return partly("%s could not be seen: %s", count(d.Unseen), unseen(r.s.queue))
	case len(d.SentTwice) > 0:
		return partly("%s may have been sent twice, see above", count(len(d.SentTwice)))
	}
	return nil
}

func second(_, b string) string { return b }

// asInterrupted gives an interruption its exit status.
func asInterrupted(err error) error {
	if errors.Is(err, errInterrupted) {
		return &interruptedError{"interrupted"}
	}
	return err
}

// An interruptedError ends a command that was interrupted.
type interruptedError struct{ text string }

func (e *interruptedError) Error() string { return e.text }
func (e *interruptedError) Unwrap() error { return errInterrupted }

// ExitStatus is that of a program that SIGINT ended.
func (e *interruptedError) ExitStatus() int { return 130 }

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
func (r *report) taskPlan(following bool, running *queue.Task) {
	q := r.s.queue
	will, _ := r.words()
	r.print("%s: about %s", q.Name(), count(q.Visible))
	if following {
		r.print("a task of SQS that began at %s is moving them already; following it", running.Started.Local().Format(time.DateTime))
		return
	}
	to := "the queues that they came from"
	if r.t.routes.to != nil {
		to = r.t.routes.to.Name()
	}
	pace := "as fast as SQS finds right"
	if r.m.rate > 0 {
		pace = fmt.Sprintf("%s a second, about %s", number(r.m.rate), short(time.Duration(q.Visible/r.m.rate)*time.Second))
	}
	r.print("%s all of them to %s by a message move task of SQS, %s", will, to, pace)
	if r.t.routes.to == nil {
		r.print("SQS knows this only of messages that it moved itself; those that sqsbatch dead-lettered are sent and deleted afterwards")
	}
	if r.t.dryRun {
		r.print("Nothing was changed. To %s them, add --yes.", will)
	}
}

// taskEnd says what SQS did.
func (r *report) taskEnd(task *queue.Task, interrupted error) error {
	_, did := r.words()
	r.print("%s %s by SQS in %s: %s%s", count(int(task.Moved)), did, short(time.Since(task.Started)), strings.ToLower(task.Status), reason(task.Reason))
	if err := r.json(map[string]any{
		"type": "result", "verb": r.m.verb(), "queue": r.s.queue.ARN, "dryRun": false, "by": byTask,
		"moved": task.Moved, "status": task.Status, "failureReason": task.Reason,
	}); err != nil {
		return err
	}
	switch {
	case interrupted != nil:
		return &interruptedError{fmt.Sprintf("interrupted: the task was cancelled; what it moved stays moved, the rest is in %s", r.s.queue.Name())}
	case task.Status == "FAILED":
		return partly("the task failed%s; what it moved stays moved, the rest is in %s", reason(task.Reason), r.s.queue.Name())
	case task.Status == "CANCELLED":
		return partly("the task was cancelled by someone else; the rest is in %s", r.s.queue.Name())
	}
	return nil
}

func reason(text string) string {
	if text == "" {
		return ""
	}
	return " (" + text + ")"
}
