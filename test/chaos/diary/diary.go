// Package diary has a line for each handler call's start and end, despite kill -9.
package diary

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"time"
)

// Order is a message's body: what its handler must do.
type Order struct {
	N         int  `json:"n"`
	Key       int  `json:"key,omitempty"`       // one more than the N of the order whose copy it is
	Millis    int  `json:"ms"`                  // how long to work
	Fails     int  `json:"fails,omitempty"`     // so many first attempts fail
	Permanent bool `json:"permanent,omitempty"` // fails for good
	Deaf      bool `json:"deaf,omitempty"`      // works on when its context ends
	Once      bool `json:"once,omitempty"`      // works at the first attempt only
}

// Outcome is how a handler call ended.
type Outcome string

const (
	OK        Outcome = "ok"
	Failed    Outcome = "failed"
	Permanent Outcome = "permanent"
	Cancelled Outcome = "cancelled"
)

// Line is one line of a diary.
type Line struct {
	Kind    Kind
	N       int // the order's
	Attempt int // the delivery's number, ApproximateReceiveCount
	At      time.Time
	Outcome Outcome       // of an End
	Lasted  time.Duration // of a Stall, which ended at At
}

// Kind is what a line is about.
type Kind string

const (
	Start Kind = "start"
	End   Kind = "end"
	Stall Kind = "stall"
)

// Writer appends to a diary, each line by one write, which outlives the process.
type Writer struct{ file *os.File }

// Open opens a diary to append to it.
func Open(path string) (*Writer, error) {
	f, err := os.OpenFile(path, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o644)
	if err != nil {
		return nil, err
	}
	return &Writer{f}, nil
}

// Write adds a line.
func (w *Writer) Write(l Line) error {
	text, err := json.Marshal(l)
	if err == nil {
		_, err = w.file.Write(append(text, '\n'))
	}
	return err
}

// Read returns a diary's lines, without one that a killed worker did not end.
func Read(path string) (lines []Line, err error) {
	text, err := os.ReadFile(path)
	for line := range bytes.Lines(text) {
		if !bytes.HasSuffix(line, []byte("\n")) {
			break
		}
		var l Line
		if err := json.Unmarshal(line, &l); err != nil {
			return nil, fmt.Errorf("%s: %q: %w", path, line, err)
		}
		lines = append(lines, l)
	}
	return lines, err
}

// Stalls reports when the machine did not run this process. It does not return.
func Stalls(report func(at time.Time, lasted time.Duration)) {
	const tick, late = 20 * time.Millisecond, 50 * time.Millisecond
	for {
		before := time.Now()
		time.Sleep(tick)
		if after := time.Now(); after.Sub(before) > tick+late {
			report(after, after.Sub(before)-tick)
		}
	}
}
