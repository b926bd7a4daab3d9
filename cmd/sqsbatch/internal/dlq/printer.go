package dlq

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/sqsbatch/sqsbatch/cmd/sqsbatch/internal/cli"
	"github.com/sqsbatch/sqsbatch/cmd/sqsbatch/internal/dlq/queue"
	"github.com/sqsbatch/sqsbatch/cmd/sqsbatch/internal/show"
)

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
		s.print("  %8s  %s", number(n), show.Clean(fmt.Sprintf(format, args...)))
	}
}

// rows say what became of messages that a verb did not act on.
func (s *session) rows(c counts, a account) {
	s.row(c.NotSelected, "not selected")
	s.row(c.LeftByEdit, "left by the edit")
	s.row(c.Arrived, "left: they were sent after the run began")
	s.row(c.Behind, "left: a message before them in their group stays")
	for _, f := range c.Failures {
		s.row(f.Count, "left: %s (%s)", f.Error, strings.Join(f.Examples, ", "))
	}
	s.row(a.Unseen, "not seen: %s", unseen(s.queue))
	s.row(a.Newer, "not seen: they came while the command ended")
	s.row(a.Elsewhere, "in flight elsewhere: another reader has them, or a run that was killed less than two minutes ago")
	s.row(a.Hidden, "still hidden, for two minutes at most")
}

// verdict is the error that a verb ends with. full says that the limit was reached, so that
// further messages do not matter.
func (s *session) verdict(c counts, a account, err error, full bool) error {
	switch {
	case err != nil:
		return asInterrupted(err)
	case c.Failed > 0:
		return partly("%s stay in %s, see above", count(c.Failed), s.queue.Name())
	case a.Unseen > 0 && !full:
		return partly("%s could not be seen: %s", count(a.Unseen), unseen(s.queue))
	case len(c.SentTwice) > 0:
		return partly("%s may have been sent twice, see above", count(len(c.SentTwice)))
	}
	return nil
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
	account
	NotDeleted int    `json:"sentNotDeleted"`
	Journal    string `json:"journal,omitempty"`
	Error      string `json:"error,omitempty"`
}

func newDoneLine(verb string, s *session, dryRun bool, c counts, a account, err error) *doneLine {
	line := &doneLine{Type: "result", Verb: verb, Queue: s.queue.ARN, DryRun: dryRun, counts: c, account: a}
	if err != nil {
		line.Error = err.Error()
	}
	return line
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
