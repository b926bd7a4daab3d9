package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"time"
)

// task is a message's body: what its handler must do.
type task struct {
	N         int  `json:"n"`
	Key       int  `json:"key,omitempty"`       // one more than the N of the order whose copy it is
	Millis    int  `json:"ms"`                  // how long to work
	Fails     int  `json:"fails,omitempty"`     // so many first attempts fail
	Permanent bool `json:"permanent,omitempty"` // fails for good
	Deaf      bool `json:"deaf,omitempty"`      // works on when its context ends
	Once      bool `json:"once,omitempty"`      // works at the first attempt only
}

// workOf is the number of the order whose work a message is.
func (t task) workOf() int {
	if t.Key > 0 {
		return t.Key - 1
	}
	return t.N
}

// ending is how a handler call ended.
type ending string

const (
	endedOK        ending = "ok"
	endedFailed    ending = "failed"
	endedPermanent ending = "permanent"
	endedCancelled ending = "cancelled"
)

// diaryLine is one line of a diary.
type diaryLine struct {
	Kind    lineKind
	N       int // the order's
	Attempt int // the delivery's number, ApproximateReceiveCount
	At      time.Time
	Outcome ending        // of an End
	Lasted  time.Duration // of a Stall, which ended at At
}

// lineKind is what a line is about.
type lineKind string

const (
	lineStart lineKind = "start"
	lineEnd   lineKind = "end"
	lineStall lineKind = "stall"
)

// diaryWriter appends to a diary, each line by one write, which outlives the process.
type diaryWriter struct{ file *os.File }

// openDiary opens a diary to append to it.
func openDiary(path string) (*diaryWriter, error) {
	f, err := os.OpenFile(path, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o644)
	if err != nil {
		return nil, err
	}
	return &diaryWriter{f}, nil
}

// Write adds a line.
func (w *diaryWriter) Write(l diaryLine) error {
	text, err := json.Marshal(l)
	if err == nil {
		_, err = w.file.Write(append(text, '\n'))
	}
	return err
}

// readDiary returns a diary's lines, without one that a killed worker did not end.
func readDiary(path string) (lines []diaryLine, err error) {
	text, err := os.ReadFile(path)
	for line := range bytes.Lines(text) {
		if !bytes.HasSuffix(line, []byte("\n")) {
			break
		}
		var l diaryLine
		if err := json.Unmarshal(line, &l); err != nil {
			return nil, fmt.Errorf("%s: %q: %w", path, line, err)
		}
		lines = append(lines, l)
	}
	return lines, err
}

// watchStalls reports when the machine did not run this process. It does not return.
func watchStalls(report func(at time.Time, lasted time.Duration)) {
	const tick, late = 20 * time.Millisecond, 50 * time.Millisecond
	for {
		before := time.Now()
		time.Sleep(tick)
		if after := time.Now(); after.Sub(before) > tick+late {
			report(after, after.Sub(before)-tick)
		}
	}
}
