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
	// waitingEvents may wait for the output. What comes while they do is lost: the
	// server does not wait for an output that nobody reads.
	waitingEvents = 4096
	// endTimeout bounds how long the end waits for such an output.
	endTimeout = time.Second
	// shownBody and shownError are how much of a body and of an error a line shows.
	shownBody  = 60
	shownError = 300
	clock      = "15:04:05.000"
)

// Refused is a call that was answered with an error.
type Refused struct {
	Type string `json:"type"` // "refused"
	sqs.Call
}

// Lost stands where events are missing, because the output was too slow.
type Lost struct {
	Type   string    `json:"type"` // "lost"
	Time   time.Time `json:"timestamp"`
	Events int       `json:"events"`
}

// An eventLog writes what happens to messages and which calls are refused, in order.
type eventLog struct {
	out         *bufio.Writer
	json        bool
	started     chan struct{}
	once        sync.Once // closes started
	wake        chan struct{}
	ended, done chan struct{}
	failed      chan error // the first error of writing

	mu      sync.Mutex
	waiting []any
	lost    int // after those that wait
}

// newEventLog returns a log whose lines wait for start, which is printed first.
func newEventLog(w io.Writer, output string) *eventLog {
	l := &eventLog{
		out: bufio.NewWriter(w), json: output == "json", started: make(chan struct{}), wake: make(chan struct{}, 1),
		ended: make(chan struct{}), done: make(chan struct{}), failed: make(chan error, 1),
	}
	go l.run()
	return l
}

// run writes until the log has ended and nothing waits.
func (l *eventLog) run() {
	defer close(l.done)
	<-l.started
	for ended := false; ; {
		l.mu.Lock()
		batch, lost := l.waiting, l.lost
		l.waiting, l.lost = nil, 0
		l.mu.Unlock()
		if len(batch) > 0 {
			l.write(batch, lost)
			continue
		}
		if ended {
			return
		}
		select {
		case <-l.wake:
		case <-l.ended:
			ended = true
		}
	}
}

// send has an event written, and returns at once.
func (l *eventLog) send(e any) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.waiting) == waitingEvents {
		l.lost++
		return
	}
	l.waiting = append(l.waiting, e)
	select {
	case l.wake <- struct{}{}:
	default:
	}
}

// start lets the lines out.
func (l *eventLog) start() {
	if l != nil {
		l.once.Do(func() { close(l.started) })
	}
}

func (l *eventLog) observe(e sqs.Event) { l.send(e) }

// observeCall is told of calls. One whose client left was not refused.
func (l *eventLog) observeCall(c sqs.Call) {
	if c.Error != "" && c.Error != "no answer" {
		c.Began, c.Ended = c.Began.UTC(), c.Ended.UTC()
		l.send(Refused{"refused", c})
	}
}

func (l *eventLog) write(batch []any, lost int) {
	if lost > 0 {
		batch = append(batch, Lost{"lost", time.Now().UTC(), lost})
	}
	encoder := json.NewEncoder(l.out)
	encoder.SetEscapeHTML(false)
	for _, event := range batch {
		if l.json {
			_ = encoder.Encode(event) // errors stay in the writer, for Flush
		} else {
			_, _ = l.out.WriteString(line(event) + "\n")
		}
	}
	if err := l.out.Flush(); err != nil {
		select {
		case l.failed <- fmt.Errorf("--verbose: %w", err):
		default:
		}
		l.out.Reset(io.Discard)
	}
}

// end writes what was observed until now and stops; nothing without a start.
func (l *eventLog) end() error {
	if l == nil {
		return nil
	}
	l.once.Do(func() {
		l.out.Reset(io.Discard)
		close(l.started)
	})
	close(l.ended)
	select {
	case <-l.done:
	case <-time.After(endTimeout):
	}
	select {
	case err := <-l.failed:
		return err
	default:
		return nil
	}
}

// line shows an event to a person. A refused call quotes what the client sent.
func line(event any) string {
	switch e := event.(type) {
	case sqs.Event:
		return eventLine(e)
	case Refused:
		queue := ""
		if e.Queue != "" {
			queue = show.Body(e.Queue) + "  "
		}
		return fmt.Sprintf("%s  %-10s  %s%s  %s: %s", e.Ended.Local().Format(clock), e.Type, queue, e.Operation, e.Error, show.Brief(e.Message, shownError))
	case Lost:
		return fmt.Sprintf("%s  %-10s  %d events: the output is too slow for them", e.Time.Local().Format(clock), e.Type, e.Events)
	}
	return fmt.Sprint(event)
}

func eventLine(e sqs.Event) string {
	parts := []string{e.Time.Format(clock), fmt.Sprintf("%-10s", e.Kind), e.Queue}
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
	return strings.Join(parts, "  ")
}

// shortID is enough of a message's id to tell it from others by eye.
func shortID(id string) string { return id[:min(8, len(id))] }
