package batch

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/sqsbatch/sqsbatch/internal/inner"
)

// Engine runs batches of records by one handler. It holds no state of a batch:
// it is safe for concurrent use, and nothing leaks from one batch to the next.
type Engine struct {
	handler Handler     // as it was given
	handle  HandlerFunc // called directly: each call on the way would copy the record on the stack
	cfg     Config
	hooks   *Hooks
	shared  shared // by what was begun with Start
}

// New returns an Engine. It returns an error when h is nil or its method
// Validate() error, if it has one, returns one; when a value of cfg is out of its
// bounds; or when a hook has none of the hooks' methods.
func New(h Handler, cfg Config) (*Engine, error) {
	f, ok := h.(HandlerFunc)
	var noHandler error
	if inner.IsNil(h) {
		noHandler = errors.New("batch: the handler is nil")
	}
	cfg = cfg.WithDefaultsFor(h)
	badHandler := inner.Validate(h)
	hooks, badHooks := NewHooks(cfg.Hooks...)
	if err := errors.Join(noHandler, badHandler, cfg.validate(), badHooks); err != nil {
		return nil, err
	}
	if !ok {
		f = h.Handle
	}
	return &Engine{handler: h, handle: f, cfg: cfg, hooks: hooks}, nil
}

// Hooks returns the engine's hooks, for who settles its results.
func (e *Engine) Hooks() *Hooks { return e.hooks }

// Settling is told of failures while their batch still runs.
type Settling interface {
	// Failed is told of each failure. unit holds the result of the record that
	// failed, followed by those of its FIFO group that were skipped because of
	// it: elements of the slice that Run will return, read only until it has.
	// It must not block, nor call back into the batch.
	Failed(unit []*Result)
	// LastAttempt reports whether SQS gives up on a record after this delivery. It is
	// asked, before it starts, about each record that others of its FIFO group wait
	// for, where the batch has a cutoff: it then leaves them time to be handled. It may
	// block for a moment.
	LastAttempt(r *Record) bool
	// Bury is asked about each record that failed while others of its FIFO group
	// wait behind it in the batch. To put the record out of their
	// way for good, it writes DeadLettered or Dropped into r and returns true;
	// the group then goes on. Otherwise the rest of it is skipped.
	//
	// It is called on the goroutine that handled the record, and may block. ctx
	// ends at the cutoff; a grace later the batch gives up on it, and the record
	// is a failure.
	Bury(ctx context.Context, r *Result) bool
}

// Failed is a [Settling] that buries nothing.
type Failed func(unit []*Result)

// Failed calls f.
func (f Failed) Failed(unit []*Result) { f(unit) }

// LastAttempt returns false.
func (Failed) LastAttempt(*Record) bool { return false }

// Bury returns false.
func (Failed) Bury(context.Context, *Result) bool { return false }

// Run handles every record and returns their results in the same order, each
// with exactly one outcome: Succeeded, Retry, NotStarted, Skipped or Abandoned,
// and DeadLettered or Dropped where on buried it, see [Settling].
//
// It returns when all are done, or else shortly after times' cutoff (see
// [Engine.Times]) or the end of ctx. With a ctx that has ended already nothing
// is started. Without a cutoff, Run takes as long as the handlers do.
//
// on may be nil. It is not told of what was not started.
//
// Cost: one allocation a record for its context, and Concurrency goroutines
// at most, abandoned ones aside.
func (e *Engine) Run(ctx context.Context, records []Record, times Times, on Settling) []Result {
	if len(records) == 0 {
		return nil
	}
	r := e.newRun(ctx, records, times)
	r.settling = on
	r.done = make(chan struct{})
	if ctx.Err() == nil {
		r.start()
		r.wait()
	}
	return r.close()
}

func (e *Engine) newRun(ctx context.Context, records []Record, times Times) *run {
	bounds := &unbounded
	if times != unbounded {
		own := times // a copy, so that times itself stays on the stack
		bounds = &own
	}
	return &run{
		Engine:  e,
		parent:  ctx,
		times:   bounds,
		records: records,
		results: make([]Result, len(records)),
		order:   newOrder(records),
		waiting: len(records),
	}
}

var unbounded Times // never written

// run is the state of one batch. A record is waiting, then running, then it has
// an outcome.
type run struct {
	*Engine
	parent   context.Context
	times    *Times // read only
	records  []Record
	order    order
	settling Settling      // may be nil
	on       Progress      // nil for Run
	done     chan struct{} // closed when nothing is left to wait for; nil if nobody waits, see Start

	mu        sync.Mutex
	results   []Result
	active    []*worker     // those that were not given up
	nextChain int           // the first chain that was not begun
	waiting   int           // records not started
	running   int           // records started, and not told to the hooks yet
	telling   int           // calls of hooks under way
	quiet     chan struct{} // closed when telling falls to 0, if someone waits
	growing   bool          // a worker was started and has not taken its first record
	stopped   bool          // no further record is started
	byCaller  bool          // because the caller wants it
	aborted   *AbortError   // because a record says that all would fail
	ending    bool          // the grace after the end of all contexts has begun
	ended     bool          // nothing is waited for any more
	endTimer  *time.Timer   // of the cutoff, then of the grace; see Start
	pace      pace

	shared  shared      // by its handlers, see gathering
	parked  int         // active workers whose record waits for others
	answers map[int]any // of records whose turn has not come, see gathering.Wake
}

func (r *run) start() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.grow()
}

// wait returns when no handler is running any more that is waited for.
func (r *run) wait() {
	var cutoff <-chan time.Time
	if !r.times.Cutoff.IsZero() {
		timer := time.NewTimer(time.Until(r.times.Cutoff))
		defer timer.Stop()
		cutoff = timer.C
	}
	select {
	case <-r.done:
		return
	case <-cutoff:
		r.endAll(context.DeadlineExceeded)
	case <-r.parent.Done():
		r.endAll(r.parent.Err())
	}
	// Handlers that heed their context return now, and their results count.
	grace := time.NewTimer(r.cutoffGrace())
	defer grace.Stop()
	select {
	case <-r.done:
	case <-grace.C:
	}
}

// stop starts no further record.
func (r *run) stop() {
	r.stopped = true
	r.checkDone()
}

// abort starts no further record if err says so; the longest delay counts.
func (r *run) abort(err error) {
	v := VerdictOf(err)
	if !v.Aborts {
		return
	}
	if r.aborted == nil || v.After > r.aborted.After {
		r.aborted = &AbortError{After: v.After, Err: err}
	}
	r.stop()
}

// checkDone ends the wait when nothing runs and nothing can be started. The
// caller holds r.mu, as for every method of run without a Lock of its own.
func (r *run) checkDone() {
	if !r.ended && r.running == 0 && len(r.answers) == 0 && (r.stopped || r.waiting == 0) {
		r.finished()
	}
}

// close gives every record that has none its outcome: those still running are
// abandoned, the rest was not started.
func (r *run) close() []Result {
	r.warn(r.closeResults()) // without the lock: a hook may take long
	return r.results
}

func (r *run) closeResults() []Warning {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.stopped = true
	r.tellAbandoned(r.abandonAll())
	late := r.awaitHooks()
	why := errTooLate
	switch {
	case r.byCaller:
		why = ErrStopped
	case r.aborted != nil:
		why = fmt.Errorf("%w: %w: %w", ErrNotStarted, ErrAborted, r.aborted)
	}
	notStarted := 0
	for i := range r.results {
		result := &r.results[i]
		if result.Outcome == Pending {
			result.Record = &r.records[i]
			result.Outcome = NotStarted
			result.Err = why
			notStarted++
		}
	}
	return append(late, r.warnings(notStarted)...)
}

// warnings are of what points to a mistake in the configuration.
func (r *run) warnings(notStarted int) (list []Warning) {
	if notStarted > 0 && notStarted == len(r.records) && r.parent.Err() == nil && !r.byCaller {
		list = append(list, Warning{Queue: QueueName(r.records[0].QueueARN), Message: fmt.Sprintf(
			"no record was started: %v was left before the cutoff. If that is so on every invocation, lower MinRemaining (%v) or raise the function's timeout",
			time.Until(r.times.Cutoff).Round(time.Millisecond), max(r.cfg.MinRemaining, minStart))})
	}
	return list
}

var errTooLate = fmt.Errorf("%w: too little time left", ErrNotStarted)
