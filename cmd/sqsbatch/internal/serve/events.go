package serve

import (
	"bufio"
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"sync"
	"time"

	"github.com/sqsbatch/sqsbatch/cmd/sqsbatch/internal/view"
	"github.com/sqsbatch/sqsbatch/emulator/sqs"
)

const (
	// waitingEvents limits the events that wait for the output. Others are lost, because the
	// server must not wait for an output without a reader.
	waitingEvents = 4096
	// endTimeout limits the wait for such an output at the end.
	endTimeout = time.Second
	// shownError limits the length of an error in a line.
	shownError = 300
)

// Refused is a call that was answered with an error.
type Refused struct {
	Type string `json:"type"` // "refused"
	sqs.Call
}

// Lost counts events that are missing in the output, because it was too slow.
type Lost struct {
	Type   string    `json:"type"` // "lost"
	Time   time.Time `json:"timestamp"`
	Events int       `json:"events"`
}

// An eventLog writes the events of messages and the refused calls, in order.
type eventLog struct {
	out  *bufio.Writer
	json bool
	rows rows
	done chan struct{}

	mu             sync.Mutex
	changed        *sync.Cond // waiting, started or ended
	waiting        []any
	lost           int // number of events lost after the waiting ones
	started, ended bool
	err            error // first error of the output
}

// newEventLog returns a log that writes nothing before start is called.
func newEventLog(w io.Writer, output string) *eventLog {
	l := &eventLog{out: bufio.NewWriter(w), json: output == "json", rows: rows{term: view.Detect(w)}, done: make(chan struct{})}
	l.changed = sync.NewCond(&l.mu)
	go l.run()
	return l
}

// run writes events until the log has ended and none waits.
func (l *eventLog) run() {
	defer close(l.done)
	l.mu.Lock()
	defer l.mu.Unlock()
	for {
		for !l.ended && !(l.started && len(l.waiting) > 0) {
			l.changed.Wait()
		}
		if !l.started || len(l.waiting) == 0 {
			return
		}
		batch, lost := l.waiting, l.lost
		l.waiting, l.lost = nil, 0
		l.mu.Unlock()
		err := l.write(batch, lost)
		l.mu.Lock()
		l.err = cmp.Or(l.err, err)
	}
}

// send queues an event. It does not wait for the output.
func (l *eventLog) send(e any) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.waiting) == waitingEvents {
		l.lost++
		return
	}
	l.waiting = append(l.waiting, e)
	l.changed.Signal()
}

// start lets the log write its lines.
func (l *eventLog) start() {
	if l == nil {
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.started = true
	l.changed.Signal()
}

func (l *eventLog) observe(e sqs.Event) { l.send(e) }

// observeCall queues refused calls, but no call whose client left.
func (l *eventLog) observeCall(c sqs.Call) {
	if c.Error != "" && c.Error != "no answer" {
		c.Began, c.Ended = c.Began.UTC(), c.Ended.UTC()
		l.send(Refused{"refused", c})
	}
}

// write writes events. After an error the output is discarded.
func (l *eventLog) write(batch []any, lost int) error {
	if lost > 0 {
		batch = append(batch, Lost{"lost", time.Now().UTC(), lost})
	}
	encoder := json.NewEncoder(l.out)
	encoder.SetEscapeHTML(false)
	for _, event := range batch {
		if l.json {
			_ = encoder.Encode(event) // errors stay in the writer, for Flush
		} else {
			_, _ = l.out.WriteString(l.rows.row(event) + "\n")
		}
	}
	if err := l.out.Flush(); err != nil {
		l.out.Reset(io.Discard)
		return fmt.Errorf("--verbose: %w", err)
	}
	return nil
}

// end writes the waiting events, if start was called, and stops the log.
func (l *eventLog) end() error {
	if l == nil {
		return nil
	}
	l.mu.Lock()
	l.ended = true
	l.changed.Signal()
	l.mu.Unlock()
	select {
	case <-l.done:
	case <-time.After(endTimeout):
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.err
}
