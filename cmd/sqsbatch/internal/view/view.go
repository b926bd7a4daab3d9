// Package view shows the events of package track, as text or as one JSON object a line.
//
//	v := view.NewText(tio.Stdout, view.Detect(tio.Stdout))
//	v.Header(header)
//	v.Event(event)
package view

import (
	"time"

	"github.com/sqsbatch/sqsbatch/cmd/sqsbatch/internal/track"
)

// A View shows one run. Its methods may be called from several goroutines.
type View interface {
	// Say shows a line about the run itself.
	Say(line string)
	// Header shows the function, its settings and the queues.
	Header(h Header)
	// Event shows an event.
	Event(e track.Event)
	// Tick shows the progress. It is called several times a second.
	Tick(p track.Progress)
	// Summary shows the result at the end of the run.
	Summary(s Summary)
}

// Header has the function, its settings and the queues.
type Header struct {
	Package, Function       string
	Settings                string   // path or origin of the template
	Mode                    string   // "poll", or another value for invocations
	Processes               int      // mode poll: number of processes
	Variables               []string // mode poll: settings as KEY=VALUE
	Timeout                 time.Duration
	MemoryMB                int
	Endpoint, QueueURL      string
	Page                    string  // of --ui, "" for none
	MoreQueues              []Queue // mode poll: other queues that are polled
	DeadLetterURL           string  // "" for none
	MaxReceiveCount         int
	Visibility              time.Duration // the queue's visibility timeout
	Outage                  time.Duration // SQSBATCH_OUTAGE that this tool sets; 0 if it does not
	BatchSize               int
	Window                  time.Duration
	MaximumConcurrency      int // 0 for none
	ReportBatchItemFailures bool
	Filters                 []string // patterns; a message that matches none is deleted and never handled
	Once                    bool     // the run ends by itself
}

// A Queue is a queue that feeds the function.
type Queue struct {
	URL        string
	Visibility time.Duration
}

// Summary is the result of a run.
type Summary struct {
	track.Progress
	Dead     []track.Dead
	DeadName string // the dead-letter queue's name, "" for none
	Elapsed  time.Duration
	Metrics  *track.Report // nil: not shown
}

// Remaining returns the number of messages that are still in the queue or in flight.
func (s Summary) Remaining() int { return s.InFlight + s.Waiting }
