package dlq

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/sqsbatch/sqsbatch/cmd/sqsbatch/internal/cli"
	"github.com/sqsbatch/sqsbatch/cmd/sqsbatch/internal/dlq/letter"
	"github.com/sqsbatch/sqsbatch/cmd/sqsbatch/internal/dlq/queue"
	"github.com/sqsbatch/sqsbatch/cmd/sqsbatch/internal/show"
	"github.com/sqsbatch/sqsbatch/cmd/sqsbatch/internal/view"
)

// A session is one run of a verb on a queue.
type session struct {
	*options
	cmd        *cobra.Command
	tio        cli.IO
	account    *queue.Account
	queue      *queue.Queue
	soft, kill context.Context // ended by the first interrupt, and by the second
	close      func()
	status     *status
	pick       *picker
	scan       *scan // of receive
	result     result
}

var errInterrupted = errors.New("interrupted")

// connect is replaced by tests.
var connect = queue.Connect

// open finds the queue. It refuses one with a dead-letter queue of its own, unless forced:
// every receive counts, and SQS would move what was received too often.
func (o *options) open(cmd *cobra.Command, tio cli.IO, name string, receives bool) (*session, error) {
	if err := o.check(cmd); err != nil {
		return nil, err
	}
	soft, stop := context.WithCancelCause(cmd.Context())
	kill, stopNow := context.WithCancelCause(cmd.Context())
	s := &session{options: o, cmd: cmd, tio: tio, soft: soft, kill: kill}
	s.close = func() { stop(nil); stopNow(nil) }
	s.status = newStatus(tio.Stderr, view.Detect(tio.Stderr))
	go tio.EachInterrupt(kill, func(n int) {
		if n > 1 {
			stopNow(errInterrupted)
			return
		}
		stop(errInterrupted)
		s.status.say("finishing what is in hand and giving the rest back; interrupt again to stop at once")
	})
	var err error
	if s.account, err = connect(soft, o.place, name); err == nil {
		s.queue, err = s.account.Open(soft, name, queue.Opening)
	}
	err = cmp.Or(s.interrupted(), err)
	if err == nil && receives && s.queue.DeadLetterQueue != "" && !o.force {
		err = fmt.Errorf("%s has a dead-letter queue of its own (%s): every look counts as a receive, and SQS moves what was received too often. "+
			"If that is right, add --force", s.queue.Name(), s.queue.DeadLetterQueue)
	}
	if err != nil {
		s.close()
		return nil, asInterrupted(err)
	}
	return s, nil
}

// receiving returns the RunE of a verb for the messages that the flags select.
func (o *options) receiving(tio cli.IO, verb func(s *session) error) func(*cobra.Command, []string) error {
	return func(cmd *cobra.Command, args []string) error {
		selection, err := compile(cmd, o.criteria)
		if err != nil {
			return err
		}
		s, err := o.open(cmd, tio, args[0], true)
		if err != nil {
			return err
		}
		defer s.close()
		s.pick = &picker{selection: selection, limit: o.limit}
		return verb(s)
	}
}

// interrupted returns errInterrupted if an interrupt ended the run.
func (s *session) interrupted() error {
	if s.soft.Err() != nil {
		return context.Cause(s.soft)
	}
	return nil
}

// receive has each deal with all messages of the queue, and shows meanwhile what progress
// returns; nil shows nothing.
func (s *session) receive(each func(context.Context, []letter.Letter) error, progress func(c counts) (done, of int, text string)) error {
	if progress != nil {
		s.status.begin(func() (done, of int, text string) {
			c := s.result.now()
			waiting := ""
			c.Received, waiting = s.scan.progress()
			done, of, text = progress(c)
			return done, max(done, of), text + waiting
		})
	}
	a, err := s.scan.run(s.soft, s.kill, each)
	s.status.end()
	s.result.count(func(c *counts) { c.account = a })
	return cmp.Or(s.interrupted(), err)
}

// looked returns a progress for receive: how much of the queue was looked at, and text.
func (s *session) looked(text func(c counts) string) func(counts) (int, int, string) {
	total := s.queue.Visible // the scan asks again
	return func(c counts) (int, int, string) { return c.Selected + c.NotSelected, total, text(c) }
}

// chosen returns the letters that are selected, and counts the others. It ends the scan at the
// limit.
func (s *session) chosen(letters []letter.Letter) (list []*letter.Letter) {
	for i := range letters {
		l := &letters[i]
		v, err := s.pick.pick(l)
		if err != nil {
			s.result.failed(l.ID, err)
			continue
		}
		if s.result.picked(v); v == take {
			list = append(list, l)
		}
	}
	if s.pick.full() {
		s.scan.stop()
	}
	return list
}

// print writes a line for people: to standard output, unless that is for JSON.
func (s *session) print(format string, args ...any) {
	out := s.tio.Stdout
	if s.output == "json" {
		out = s.tio.Stderr
	}
	fmt.Fprintf(out, format+"\n", args...)
}

// json writes an object, if the output is JSON.
func (s *session) json(v any) error {
	if s.output != "json" {
		return nil
	}
	lines := json.NewEncoder(s.tio.Stdout)
	lines.SetEscapeHTML(false)
	return lines.Encode(v)
}

func (s *session) row(n int, format string, args ...any) {
	if n > 0 {
		s.print("  %8s  %s", show.Number(n), show.Clean(fmt.Sprintf(format, args...)))
	}
}

// rows say what became of messages that a verb did not act on.
func (s *session) rows(c counts) {
	s.row(c.NotSelected, "not selected")
	s.row(c.LeftByEdit, "left by the edit")
	s.row(c.Arrived, "left: they were sent after the run began")
	s.row(c.Behind, "left: a message before them in their group stays")
	for _, f := range c.Failures {
		s.row(f.Count, "left: %s (%s)", f.Error, f.ids())
	}
	s.row(c.Unseen, "not seen: %s", unseen(s.queue))
	s.row(c.Newer, "not seen: they came while the command ended")
	s.row(c.Elsewhere, "in flight elsewhere: another reader has them, or a run that was killed less than two minutes ago")
	s.row(c.Hidden, "still hidden, for two minutes at most")
}

// unseen says why messages of a queue could not be seen.
func unseen(q *queue.Queue) string {
	if q.FIFO() {
		return "SQS shows no more of a group while its first messages are held"
	}
	return fmt.Sprintf("SQS allows %s messages in flight", show.Number(queue.MaxInFlight))
}

// rowOfTwice names messages that may have been sent twice.
func (s *session) rowOfTwice(c counts) {
	twice := failure{Count: len(c.SentTwice), Examples: c.SentTwice[:min(5, len(c.SentTwice))]}
	s.row(twice.Count, "may have been sent twice: %s", twice.ids())
}

// sayDryRun says how to do what a dry run has shown.
func (s *session) sayDryRun() {
	if s.dryRun() {
		s.print("Nothing was changed. To %s them, add --yes.", s.cmd.Name())
	}
}

// verdict is the error that a verb ends with. If the limit was reached, messages that could not
// be seen do not matter.
func (s *session) verdict(c counts, err error) error {
	switch {
	case err != nil:
		return asInterrupted(err)
	case c.Failed > 0:
		return partly("%s stay in %s, see above", count(c.Failed), s.queue.Name())
	case c.Unseen > 0 && !s.pick.full():
		return partly("%s could not be seen: %s", count(c.Unseen), unseen(s.queue))
	case len(c.SentTwice) > 0:
		return partly("%s may have been sent twice, see above", count(len(c.SentTwice)))
	}
	return nil
}

// partly returns an error that says that a verb did only a part of what it was to do.
func partly(format string, args ...any) error {
	return &cli.StatusError{Status: 3, Err: fmt.Errorf(format, args...)}
}

// asInterrupted gives an interruption its exit status.
func asInterrupted(err error) error {
	if errors.Is(err, errInterrupted) {
		return interrupted("")
	}
	return err
}

// interrupted returns the error of a command that was interrupted, with the exit status of a
// program that SIGINT ended.
func interrupted(format string, args ...any) error {
	return &cli.StatusError{Status: 130, Err: fmt.Errorf("interrupted"+format, args...)}
}

// A doneLine is the last line of the JSON output.
type doneLine struct {
	Type      string `json:"type"` // "result"
	Verb      string `json:"verb"`
	Queue     string `json:"queue"`
	DryRun    bool   `json:"dryRun"`
	By        string `json:"by"`
	ElapsedMS int64  `json:"elapsedMs"`
	counts
	NotDeleted int    `json:"sentNotDeleted"`
	Journal    string `json:"journal,omitempty"`
	Error      string `json:"error,omitempty"`
}

func (s *session) doneLine(c counts, err error) *doneLine {
	line := &doneLine{Type: "result", Verb: s.cmd.Name(), Queue: s.queue.ARN, DryRun: s.dryRun(), counts: c}
	if err != nil {
		line.Error = err.Error()
	}
	return line
}
