package serve

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"sync"
	"time"

	"github.com/sqsbatch/sqsbatch/cmd/sqsbatch/internal/show"
	"github.com/sqsbatch/sqsbatch/emulator/sqs"
)

const (
	// waitingLines may be observed before the server waits for the output.
	waitingLines = 256
	// endTimeout bounds how long the end waits for an output that nobody reads.
	endTimeout = time.Second
	// shownBody is how many characters of a body a line shows.
	shownBody = 60
)

// An eventLog writes what happens to messages and which calls are refused, in
// the order in which it happens, from a goroutine of its own: the server waits
// for its observer. A nil one does nothing.
type eventLog struct {
	json           bool
	lines          chan func(io.Writer)
	started, ended chan struct{}
	done           chan error // what became of writing
	once           sync.Once
}

// newEventLog returns a log whose lines wait for start.
func newEventLog(w io.Writer, output string) *eventLog {
	l := &eventLog{
		json:    output == "json",
		lines:   make(chan func(io.Writer), waitingLines),
		started: make(chan struct{}), ended: make(chan struct{}),
		done: make(chan error, 1),
	}
	go func() { l.done <- l.run(bufio.NewWriter(w)) }()
	return l
}

// start lets the lines out, after what is printed at the start.
func (l *eventLog) start() {
	if l != nil {
		close(l.started)
	}
}

// observe is the server's observer.
func (l *eventLog) observe(e sqs.Event) {
	format := textEvent
	if l.json {
		format = jsonEvent
	}
	l.add(func(w io.Writer) { format(w, e) })
}

// observeCall is the server's observer of calls.
func (l *eventLog) observeCall(c sqs.Call) {
	if !refused(c) {
		return
	}
	format := textRefusal
	if l.json {
		format = jsonRefusal
	}
	l.add(func(w io.Writer) { format(w, c) })
}

func (l *eventLog) add(line func(io.Writer)) {
	select {
	case l.lines <- line:
	case <-l.ended:
	}
}

// end writes what was observed until now and stops.
func (l *eventLog) end() (err error) {
	if l == nil {
		return nil
	}
	l.once.Do(func() {
		close(l.ended)
		select {
		case err = <-l.done:
		case <-time.After(endTimeout):
		}
	})
	return err
}

func (l *eventLog) run(w *bufio.Writer) (failed error) {
	flush := func() {
		if err := w.Flush(); err != nil {
			failed = fmt.Errorf("--verbose: %w", err)
			w.Reset(io.Discard) // the server must not wait for what cannot be written
		}
	}
	var early []func(io.Writer) // clients may come before the start is printed
	for waiting := true; waiting; {
		select {
		case line := <-l.lines:
			early = append(early, line)
		case <-l.started:
			waiting = false
		case <-l.ended:
			return nil
		}
	}
	for _, line := range early {
		line(w)
	}
	for {
		line, ok := l.next(flush)
		if !ok {
			flush()
			return failed
		}
		line(w)
	}
}

// next returns the next line, and false when the log has ended and none is
// left. It calls idle before it waits.
func (l *eventLog) next(idle func()) (line func(io.Writer), ok bool) {
	select {
	case line = <-l.lines:
		return line, true
	default:
		idle()
	}
	select {
	case line = <-l.lines:
		return line, true
	case <-l.ended:
	}
	select {
	case line = <-l.lines:
		return line, true
	default:
		return nil, false
	}
}

// textEvent writes a line for a person. Errors stay in the writer, for Flush.
func textEvent(w io.Writer, e sqs.Event) {
	parts := []string{
		e.Time.Format("15:04:05.000"), fmt.Sprintf("%-10s", e.Kind), e.Queue,
	}
	if e.MessageID != "" {
		parts = append(parts, shortID(e.MessageID))
	}
	if e.MessageGroupID != "" {
		parts = append(parts, "group="+e.MessageGroupID)
	}
	if e.ReceiveCount > 0 {
		parts = append(parts, "receives="+fmt.Sprint(e.ReceiveCount))
	}
	if e.Visibility > 0 {
		parts = append(parts, "hidden="+e.Visibility.Round(time.Millisecond).String())
	}
	if e.DeadLetterQueue != "" {
		parts = append(parts, "to="+e.DeadLetterQueue)
	}
	if e.MovedTo != "" {
		parts = append(parts, "to="+e.MovedTo, "as="+shortID(e.NewMessageID))
	}
	if e.Body != "" && e.Kind != sqs.Purged {
		parts = append(parts, show.Brief(e.Body, shownBody))
	}
	_, _ = io.WriteString(w, strings.Join(parts, "  ")+"\n")
}

// shortID is enough of a message's id to tell it from others by eye.
func shortID(id string) string { return id[:min(8, len(id))] }

// jsonEvent writes a line for a program.
func jsonEvent(w io.Writer, e sqs.Event) {
	jsonLine(w, struct {
		Type              string    `json:"type"`
		Time              time.Time `json:"time"`
		Event             sqs.Kind  `json:"event"`
		Queue             string    `json:"queue"`
		MessageID         string    `json:"messageId,omitempty"`
		Body              string    `json:"body,omitempty"`
		ReceiveCount      int       `json:"receiveCount"`
		VisibilitySeconds float64   `json:"visibilitySeconds"`
		MessageGroupID    string    `json:"messageGroupId,omitempty"`
		DeduplicationID   string    `json:"messageDeduplicationId,omitempty"`
		SequenceNumber    string    `json:"sequenceNumber,omitempty"`
		DeadLetterQueue   string    `json:"deadLetterQueue,omitempty"`
		MovedTo           string    `json:"movedTo,omitempty"`
		NewMessageID      string    `json:"newMessageId,omitempty"`
	}{
		"message", e.Time.UTC(), e.Kind, e.Queue, e.MessageID, e.Body, e.ReceiveCount, e.Visibility.Seconds(),
		e.MessageGroupID, e.DeduplicationID, e.SequenceNumber, e.DeadLetterQueue, e.MovedTo, e.NewMessageID,
	})
}

func jsonLine(w io.Writer, v any) {
	encoder := json.NewEncoder(w)
	encoder.SetEscapeHTML(false)
	_ = encoder.Encode(v)
}
