package dlq

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/sqsbatch/sqsbatch/cmd/sqsbatch/internal/dlq/queue"
)

// A printer tells what a verb did.
type printer struct{ *session }

// print writes a line for people: to standard output, unless that is for JSON.
func (p *printer) print(format string, args ...any) {
	out := p.tio.Stdout
	if p.output == "json" {
		out = p.tio.Stderr
	}
	fmt.Fprintf(out, format+"\n", args...)
}

// json writes an object, if the output is JSON.
func (p *printer) json(v any) error {
	if p.output != "json" {
		return nil
	}
	return writeJSON(p.tio.Stdout, v)
}

func (p *printer) row(n int, format string, args ...any) {
	if n > 0 {
		p.print("  %8s  %s", number(n), fmt.Sprintf(format, args...))
	}
}

// rows say what became of messages that a verb did not act on.
func (p *printer) rows(c counts, a account) {
	p.row(c.NotSelected, "not selected")
	p.row(c.LeftByEdit, "left by the edit")
	p.row(c.Arrived, "left: they were sent after the run began")
	p.row(c.Behind, "left: a message before them in their group stays")
	for _, f := range c.Failures {
		p.row(f.Count, "left: %s (%s)", f.Error, strings.Join(f.Examples, ", "))
	}
	p.row(a.Unseen, "not seen: %s", unseen(p.queue))
	p.row(a.Newer, "not seen: they came while the command ended")
	p.row(a.Elsewhere, "in flight elsewhere: another reader has them, or a run that was killed less than two minutes ago")
	p.row(a.Hidden, "still hidden, for two minutes at most")
}

// verdict is the error that a verb ends with. full says that the limit was reached, so that
// further messages do not matter.
func (p *printer) verdict(c counts, a account, err error, full bool) error {
	switch {
	case err != nil:
		return asInterrupted(err)
	case c.Failed > 0:
		return partly("%s stay in %s, see above", count(c.Failed), p.queue.Name())
	case a.Unseen > 0 && !full:
		return partly("%s could not be seen: %s", count(a.Unseen), unseen(p.queue))
	case len(c.SentTwice) > 0:
		return partly("%s may have been sent twice, see above", count(len(c.SentTwice)))
	}
	return nil
}

func writeJSON(w io.Writer, v any) error {
	lines := json.NewEncoder(w)
	lines.SetEscapeHTML(false)
	return lines.Encode(v)
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
	Newer       int    `json:"newer"`
	Elsewhere   int    `json:"inFlightElsewhere"`
	StillHidden int    `json:"stillHidden"`
	NotDeleted  int    `json:"sentNotDeleted"`
	Journal     string `json:"journal,omitempty"`
	Error       string `json:"error,omitempty"`
}

func newDoneLine(verb string, s *session, dryRun bool, c counts, a account, err error) *doneLine {
	line := &doneLine{
		Type: "result", Verb: verb, Queue: s.queue.ARN, DryRun: dryRun,
		counts: c, Received: a.Received, Unseen: a.Unseen, Newer: a.Newer, Elsewhere: a.Elsewhere, StillHidden: a.Hidden,
	}
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
