package serve

import (
	"bufio"
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"sync/atomic"
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
	err  error // first error of the output, owned by run until done

	waiting     chan any
	lost        atomic.Int64 // events that did not fit into waiting and are not reported yet
	ended, done chan struct{}
}

// newEventLog returns a log that writes nothing before start is called.
func newEventLog(w io.Writer, output string) *eventLog {
	return &eventLog{
		out: bufio.NewWriter(w), json: output == "json", rows: rows{term: view.Detect(w)},
		waiting: make(chan any, waitingEvents), ended: make(chan struct{}),
	}
}

// start lets the log write its lines.
func (l *eventLog) start() {
	if l != nil {
		l.done = make(chan struct{})
		go l.run()
	}
}

// run writes events until the log has ended and none waits.
func (l *eventLog) run() {
	defer close(l.done)
	for {
		select {
		case e := <-l.waiting:
			l.write(e)
			continue
		default: // none waits
		}
		if n := l.lost.Swap(0); n > 0 {
			l.write(Lost{"lost", time.Now().UTC(), int(n)})
		}
		if err := l.out.Flush(); err != nil {
			l.err = cmp.Or(l.err, fmt.Errorf("--verbose: %w", err))
			l.out.Reset(io.Discard)
		}
		select {
		case e := <-l.waiting:
			l.write(e)
		case <-l.ended:
			if len(l.waiting) == 0 {
				return
			}
		}
	}
}

// send queues an event. It does not wait for the output.
func (l *eventLog) send(e any) {
	select {
	case l.waiting <- e:
	default:
		l.lost.Add(1)
	}
}

func (l *eventLog) observe(e sqs.Event) { l.send(e) }

// observeCall queues refused calls, but no call whose client left.
func (l *eventLog) observeCall(c sqs.Call) {
	if c.Error != "" && c.Error != "no answer" {
		c.Began, c.Ended = c.Began.UTC(), c.Ended.UTC()
		l.send(Refused{"refused", c})
	}
}

// write adds an event to the output. Errors stay in the writer, for Flush.
func (l *eventLog) write(event any) {
	if !l.json {
		_, _ = l.out.WriteString(l.rows.row(event) + "\n")
		return
	}
	encoder := json.NewEncoder(l.out)
	encoder.SetEscapeHTML(false)
	_ = encoder.Encode(event)
}

// end writes the waiting events, if start was called, and stops the log. It does not wait for an
// output that is not read.
func (l *eventLog) end() error {
	if l == nil || l.done == nil {
		return nil
	}
	close(l.ended)
	select {
	case <-l.done:
		return l.err
	case <-time.After(endTimeout):
		return nil
	}
}
