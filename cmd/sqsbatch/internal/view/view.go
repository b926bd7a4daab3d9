// Package view shows the events of package track, as text to read or as one JSON
// object a line.
//
//	v := view.NewText(tio.Stdout, view.Detect(tio.Stdout))
//	v.Header(header)
//	v.Event(event)
package view

import (
	"time"

	"github.com/sqsbatch/sqsbatch/cmd/sqsbatch/internal/runstats"
	"github.com/sqsbatch/sqsbatch/cmd/sqsbatch/internal/track"
)

// A View shows one run. Its methods may be called from several goroutines.
type View interface {
	// Say shows a line about the run itself.
	Say(line string)
	// Header shows what runs, and where.
	Header(h Header)
	// Event shows what happened.
	Event(e track.Event)
	// Tick shows how far the run is; it is called several times a second.
	Tick(p track.Progress)
	// Summary ends the run.
	Summary(s Summary)
}

// Header says what runs, and where.
type Header struct {
	Package, Function       string
	Settings                string   // where they are from
	Mode                    string   // "poll", or else invocations
	Processes               int      // of the mode poll
	Variables               []string // of the mode poll: settings, as KEY=VALUE
	Timeout                 time.Duration
	MemoryMB                int
	Endpoint, QueueURL      string
	MoreQueues              []Queue // that are polled, too
	DeadLetterURL           string  // "" without one
	MaxReceiveCount         int
	Visibility              time.Duration // of the queue
	Outage                  time.Duration // over which this tool spaces retries; 0 where it does not
	BatchSize               int
	Window                  time.Duration
	MaximumConcurrency      int // 0 for none
	ReportBatchItemFailures bool
	Filters                 []string // patterns; a message that matches none is deleted and never handled
	Once                    bool     // the run ends by itself
}

// A Queue is one that feeds the function.
type Queue struct {
	URL        string
	Visibility time.Duration
}

// Summary is the account at the end.
type Summary struct {
	track.Progress
	Dead     []track.Dead
	DeadName string // of the dead-letter queue, "" without one
	Elapsed  time.Duration
	Metrics  *runstats.Report // nil: they are not shown
}

// Remaining are the messages that are still in the queue or in an invocation.
func (s Summary) Remaining() int { return s.InFlight + s.Waiting }
