package view

import (
	"encoding/json"
	"io"
	"sync"
	"time"

	"github.com/sqsbatch/sqsbatch/cmd/sqsbatch/internal/runstats"
	"github.com/sqsbatch/sqsbatch/cmd/sqsbatch/internal/track"
)

// JSON writes a "record" line for each record of each invocation once its
// outcome is final, an "invocation" line after those, a "moved" line for each
// that a message move task moves, a "process" line for each start and end of a
// process that polls, and at the end a "metrics" and a "summary" line. Everything that is no
// such line goes to a Text.
type JSON struct {
	mu      sync.Mutex
	enc     *json.Encoder
	err     error
	aside   *Text
	timeout time.Duration
}

// NewJSON returns a JSON that writes lines to w and the rest to aside.
func NewJSON(w io.Writer, aside *Text) *JSON {
	enc := json.NewEncoder(w)
	enc.SetEscapeHTML(false)
	return &JSON{enc: enc, aside: aside}
}

type recordLine struct {
	Type            string   `json:"type"` // "record"
	Invocation      int      `json:"invocation"`
	Process         int      `json:"process,omitempty"`
	RequestID       string   `json:"requestId"`
	MessageID       string   `json:"messageId"`
	Body            string   `json:"body"`
	Attempt         int      `json:"attempt"`
	Outcome         string   `json:"outcome"`
	Reason          string   `json:"reason"`
	DurationMs      *float64 `json:"durationMs"` // null when not known
	AllowedMs       *float64 `json:"allowedMs"`
	VisibleInMs     *float64 `json:"visibleInMs"` // null when it does not come back
	DeadLetterQueue string   `json:"deadLetterQueue,omitempty"`
}

type invocationLine struct {
	Type       string   `json:"type"` // "invocation"
	Invocation int      `json:"invocation"`
	RequestID  string   `json:"requestId"`
	Records    int      `json:"records"`
	Deleted    int      `json:"deleted"`
	Back       int      `json:"back"`
	DurationMs *float64 `json:"durationMs"`
	TimeoutMs  *float64 `json:"timeoutMs"`
	ColdStart  bool     `json:"coldStart"`
	InitMs     *float64 `json:"initMs,omitempty"`
	Error      string   `json:"error,omitempty"`
	AllFailed  string   `json:"allFailed,omitempty"`
}

type processLine struct {
	Type      string   `json:"type"` // "process"
	Process   int      `json:"process"`
	PID       int      `json:"pid"`
	Ended     string   `json:"ended,omitempty"` // how; not there for a start
	Asked     bool     `json:"asked,omitempty"`
	CutOff    int      `json:"cutOff,omitempty"`    // records; -1 when not known
	AgainInMs *float64 `json:"againInMs,omitempty"` // not there when it is not started again
}

type movedLine struct {
	Type         string `json:"type"` // "moved"
	MessageID    string `json:"messageId"`
	NewMessageID string `json:"newMessageId"`
	Body         string `json:"body"`
	From         string `json:"from"`
	To           string `json:"to"`
}

type metricsLine struct {
	Type    string           `json:"type"` // "metrics"
	Metrics *runstats.Report `json:"metrics"`
}

type summaryLine struct {
	Type         string   `json:"type"` // "summary"
	Sent         int      `json:"sent"`
	Succeeded    int      `json:"succeeded"`
	DeadLettered int      `json:"deadLettered"`
	Dropped      int      `json:"dropped"`
	Lost         int      `json:"lost"`
	Filtered     int      `json:"filtered"`
	Moved        int      `json:"moved"`
	Removed      int      `json:"removed"`
	Remaining    int      `json:"remaining"`
	Retried      int      `json:"retried"`
	Invocations  int      `json:"invocations"`
	DurationMs   *float64 `json:"durationMs"`
	HandledAgain int      `json:"handledAgain,omitempty"`
	Starts       int      `json:"starts,omitempty"` // of processes
	Crashes      int      `json:"crashes,omitempty"`
}

// Say implements [View].
func (j *JSON) Say(line string) { j.aside.Say(line) }

// Header implements [View].
func (j *JSON) Header(h Header) {
	j.timeout = h.Timeout
	j.aside.Header(h)
}

// Tick implements [View].
func (j *JSON) Tick(track.Progress) {}

// Fact implements [View].
func (j *JSON) Fact(f track.Fact) {
	switch f := f.(type) {
	case track.Record:
		if f.Final {
			j.write(recordLine{
				Type: "record", Invocation: f.Invocation, Process: f.Process, RequestID: f.RequestID,
				MessageID: f.MessageID, Body: f.Body, Attempt: f.Attempt, Outcome: f.Outcome, Reason: f.Reason,
				DurationMs: ms(f.Duration), AllowedMs: ms(f.Allowed), VisibleInMs: ms(f.VisibleIn),
				DeadLetterQueue: f.DeadLetterQueue,
			})
		}
	case track.Ended:
		line := invocationLine{
			Type: "invocation", Invocation: f.Invocation, RequestID: f.RequestID,
			Records: f.Records, Deleted: f.Deleted, Back: f.Back,
			DurationMs: ms(f.Duration), TimeoutMs: ms(j.timeout), ColdStart: f.ColdStart,
			Error: f.Error, AllFailed: f.WholeBatchFail,
		}
		if f.ColdStart {
			line.InitMs = ms(f.Init)
		}
		j.write(line)
	case track.Moved:
		j.write(movedLine{"moved", f.MessageID, f.NewMessageID, f.Body, f.From, f.To})
	case track.Process:
		line := processLine{Type: "process", Process: f.Number, PID: f.PID, Ended: f.Ended, Asked: f.Asked, CutOff: f.CutOff}
		if f.Again > 0 {
			line.AgainInMs = ms(f.Again)
		}
		j.write(line)
	case track.Log, track.Warning:
		j.aside.Fact(f)
	}
}

// Summary implements [View].
func (j *JSON) Summary(s Summary) {
	if s.Metrics != nil {
		j.write(metricsLine{"metrics", s.Metrics})
	}
	j.write(summaryLine{
		Type: "summary", Sent: s.Sent, Succeeded: s.Succeeded, DeadLettered: s.DeadLettered,
		Dropped: s.Dropped, Lost: s.Lost, Filtered: s.Filtered, Moved: s.Moved, Removed: s.Removed,
		Remaining: s.Remaining(), Retried: s.Retried, Invocations: s.Invocations, DurationMs: ms(s.Elapsed),
		HandledAgain: s.HandledAgain, Starts: s.Starts, Crashes: s.Crashes,
	})
}

// Err returns the first error of writing a line.
func (j *JSON) Err() error {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.err
}

func (j *JSON) write(line any) {
	j.mu.Lock()
	defer j.mu.Unlock()
	if j.err == nil {
		j.err = j.enc.Encode(line)
	}
}

// ms is d in milliseconds, to the microsecond, and nil when d is negative.
func ms(d time.Duration) *float64 {
	if d < 0 {
		return nil
	}
	v := float64(d.Microseconds()) / 1000
	return &v
}
