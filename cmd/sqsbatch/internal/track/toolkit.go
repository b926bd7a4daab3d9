package track

import (
	"cmp"
	"encoding/json"
	"path"
	"strings"
	"time"

	"github.com/sqsbatch/sqsbatch/batch"
)

// A report is a line of the toolkit's log, about a record or a batch, or a warning. The text is
// "message" in Lambda's format, "msg" in slog's.
type report struct {
	Level     string   `json:"level"`
	Logger    string   `json:"logger"`
	Message   string   `json:"message"`
	Msg       string   `json:"msg"`
	RequestID string   `json:"requestId"`
	MessageID string   `json:"messageId"`
	Attempt   int      `json:"attempt"`
	Outcome   string   `json:"outcome"`
	Reason    string   `json:"reason"`
	Stack     string   `json:"stack"`
	Duration  *float64 `json:"durationMs"`
	Allowed   *float64 `json:"allowedMs"`
	VisibleIn *float64 `json:"visibleInMs"`
	DLQ       string   `json:"deadLetterQueue"`
}

// parseReport parses a line of the toolkit's log. It returns false for other lines.
func parseReport(line string) (report, bool) {
	var r report
	if !strings.HasPrefix(line, "{") || !strings.Contains(line, `"sqsbatch"`) || json.Unmarshal([]byte(line), &r) != nil || r.Logger != "sqsbatch" {
		return report{}, false
	}
	r.Message = cmp.Or(r.Message, r.Msg)
	return r, true
}

func (r report) record() Record {
	out := Record{
		RequestID: r.RequestID, MessageID: r.MessageID, Attempt: r.Attempt,
		Outcome: r.Outcome, Reason: r.Reason, PanickedAt: panickedAt(r.Stack),
		Duration: duration(r.Duration), Allowed: duration(r.Allowed), VisibleIn: duration(r.VisibleIn),
	}
	if r.DLQ != "" {
		out.DeadLetterQueue = batch.QueueName(r.DLQ)
	}
	return out
}

// logged emits a line that is not about a record or a batch: a [Warning] for the toolkit's
// warnings and errors, else a [Log].
func (t *Tracker) logged(r report, toolkit bool, line Log) {
	news := r.Level == "INFO" || r.Level == "DEBUG"
	if news {
		line.Text = r.Message
	}
	if news || !toolkit {
		t.emit(line)
		return
	}
	w := Warning{Text: r.Message, MessageID: r.MessageID, Serious: r.Level == "ERROR"}
	if r.Reason != "" {
		w.Text += ": " + r.Reason
	}
	if m := t.messages[r.MessageID]; m != nil {
		w.Body = m.body
	}
	t.emit(w)
}

// panickedAt returns the line that panicked, as in "orders/main.go:31": the first line of
// the stack after the runtime's. It returns "" if the stack has none.
func panickedAt(stack string) string {
	lines, panicked := strings.Split(stack, "\n"), false
	for i, line := range lines[:len(lines)-1] {
		switch {
		case strings.HasPrefix(line, "panic("):
			panicked = true
		case panicked && !strings.HasPrefix(line, "\t") && !strings.HasPrefix(line, "runtime."):
			file, _, _ := strings.Cut(strings.TrimSpace(lines[i+1]), " ")
			return path.Join(path.Base(path.Dir(file)), path.Base(file))
		}
	}
	return ""
}

// duration returns ms milliseconds, -1 ns for nil.
func duration(ms *float64) time.Duration {
	if ms == nil {
		return -1
	}
	return time.Duration(*ms * float64(time.Millisecond))
}
