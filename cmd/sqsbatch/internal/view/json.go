package view

import (
	"encoding/json"
	"io"
	"sync"

	"github.com/sqsbatch/sqsbatch/cmd/sqsbatch/internal/track"
	"github.com/sqsbatch/sqsbatch/emulator/sqs"
)

// JSON writes a line for each final record, invocation, moved message and process, and at
// the end "metrics" and "summary". A Text shows everything else.
type JSON struct {
	*Text
	mu  sync.Mutex
	enc *json.Encoder
	err error
}

// NewJSON returns a JSON that writes its lines to w, and everything else to aside.
func NewJSON(w io.Writer, aside *Text) *JSON {
	enc := json.NewEncoder(w)
	enc.SetEscapeHTML(false)
	return &JSON{Text: aside, enc: enc}
}

type metricsLine struct {
	Type    string        `json:"type"` // "metrics"
	Metrics *track.Report `json:"metrics"`
}

type summaryLine struct {
	Type string `json:"type"` // "summary"
	track.Progress
	Remaining  int     `json:"remaining"`
	DurationMs float64 `json:"durationMs"`
}

// Tick implements [View].
func (j *JSON) Tick(track.Progress) {}

// Event implements [View].
func (j *JSON) Event(e track.Event) {
	switch e := e.(type) {
	case track.Record:
		if e.Final {
			j.write(e)
		}
	case track.Ended, track.Process, sqs.Event:
		j.write(e)
	case track.Log, track.Warning:
		j.Text.Event(e)
	}
}

// Summary implements [View].
func (j *JSON) Summary(s Summary) {
	if s.Metrics != nil {
		j.write(metricsLine{"metrics", s.Metrics})
	}
	j.write(summaryLine{"summary", s.Progress, s.Remaining(), float64(s.Elapsed.Microseconds()) / 1000})
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
