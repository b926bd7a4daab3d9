package batch

import (
	"cmp"
	"context"
	"errors"
	"reflect"
	"runtime/debug"
	"time"
)

// Hooks are functions that observe batches, records and calls to SQS. Fields may be nil. The
// packages of telemetry/ return Hooks; [JoinHooks] combines several:
//
//	Hooks: batch.JoinHooks(emf.New(emf.Config{}).Hooks(), batch.Hooks{RecordFinished: count}),
//
// Hooks are called while records are handled. They must not block, must not keep or change
// their arguments, and must be safe for concurrent use. A hook that panics fails no record:
// a warning reports it.
//
// On Lambda, sqsbatch waits for a hook that blocks, but not so long that the response would
// be late. It then goes on without the hook, and a warning reports that. It waits:
//
//   - for RecordFinished, and Warned about a record that was not started, half of the time
//     that is left until [BatchInfo].SettleBy;
//   - for BatchSettled, Called, and Warned about settling, half of the time that is left
//     until the deadline;
//   - for BatchContext without a limit, since no record is handled before it returns.
//
// RecordContext, and BatchContext in a container, count as part of the handler: if one
// blocks, the record is abandoned.
//
// In a container, BatchContext, RecordContext and RecordFinished run on the record's goroutine
// and take its slot. Exception: RecordFinished of a record that package bulk wrote together with
// the one behind it runs on its own goroutine. BatchSettled is called on another goroutine, and
// the other hooks on a third one. A hook that blocks delays the calls behind it on its
// goroutine, but no record, and a stop only within the stop's time limit. While 10,000 calls
// wait, further ones are dropped. /livez fails when a hook takes more than 30 s.
type Hooks struct {
	// BatchContext is called when a batch begins, before its first record. It returns ctx
	// with values added; only the values count. They are in the contexts of the batch's
	// handlers and hooks, and on Lambda of the calls to SQS that settle it. In a container each
	// record is a batch, whose BatchContext is called just before RecordContext.
	BatchContext func(ctx context.Context, b BatchInfo, records []Record) context.Context

	// RecordContext is called just before a record's handler. It returns ctx with values
	// added; only the values count. They are in the contexts of the handler and of the
	// record's hooks, unless the record is abandoned before RecordContext returns.
	RecordContext func(ctx context.Context, r *Record) context.Context

	// RecordFinished is called when a record's handler has returned or was abandoned, and
	// when the record was skipped. It is not called for records that were not started.
	//
	// The outcome is the handler's: a permanent failure is Retry here, and DeadLettered in
	// BatchSettled if it was sent to the dead-letter queue. Exception: a record that the
	// configuration drops is Dropped here, and a FIFO record that was dead-lettered while its
	// group waited is DeadLettered.
	RecordFinished func(ctx context.Context, r Result)

	// BatchSettled is called when a batch is over: every record has its outcome, and the
	// calls that settle it were made. The results are in the order of the records. In a
	// container it is also called for records whose handler was not called, with a Started
	// of zero.
	BatchSettled func(ctx context.Context, b BatchInfo, results []Result)

	// Called is called after each call to SQS. It does not delay the records. On Lambda,
	// BatchSettled is called after it.
	Called func(ctx context.Context, c Call)

	// Polling is called when a container begins to poll a queue. status returns gauges; its
	// cost grows with the number of running records. It may be called from any goroutine, also
	// after the poll is over.
	Polling func(ctx context.Context, queueARN string, status func() Status)

	// Warned is called with warnings for operators: a call was refused, a setting is wrong,
	// or a problem is about to happen. No record is lost when it is called.
	Warned func(ctx context.Context, w Warning)

	// Flush writes or sends the hooks' buffered data, since there may be no later call. On
	// Lambda it is called at the end of each invocation, before the process is frozen, and
	// has 2 s; in a container it is called at the end of the stop, and has up to 5 s. It
	// should return when ctx ends; sqsbatch waits no longer.
	Flush func(ctx context.Context)

	// Validate returns an error if the hooks' configuration is invalid. It is called once, at
	// the start, and its error prevents the start.
	Validate func() error
}

// JoinHooks returns hooks that call all of the given ones, one after the other, and Flush at
// the same time. If one panics, those after it are called all the same, but the values that
// they add to a context are lost.
func JoinHooks(list ...Hooks) (all Hooks) {
	for _, g := range list {
		f := all
		all = Hooks{
			BatchContext: join(f.BatchContext, g.BatchContext, func(ctx context.Context, b BatchInfo, records []Record) (values context.Context) {
				values = ctx
				defer func() { values = cmp.Or(g.BatchContext(values, b, records), values) }()
				return cmp.Or(f.BatchContext(ctx, b, records), ctx)
			}),
			RecordContext: join(f.RecordContext, g.RecordContext, func(ctx context.Context, r *Record) (values context.Context) {
				values = ctx
				defer func() { values = cmp.Or(g.RecordContext(values, r), values) }()
				return cmp.Or(f.RecordContext(ctx, r), ctx)
			}),
			RecordFinished: both(f.RecordFinished, g.RecordFinished),
			BatchSettled:   all3(f.BatchSettled, g.BatchSettled),
			Called:         both(f.Called, g.Called),
			Polling:        all3(f.Polling, g.Polling),
			Warned:         both(f.Warned, g.Warned),
			Flush:          join(f.Flush, g.Flush, func(ctx context.Context) { atOnce(ctx, f.Flush, g.Flush) }),
			Validate:       join(f.Validate, g.Validate, func() error { return errors.Join(f.Validate(), g.Validate()) }),
		}
	}
	return all
}

// join returns both, which calls f and g, or the one of f and g that is not nil.
func join[F any](f, g, both F) F {
	switch {
	case reflect.ValueOf(f).IsNil():
		return g
	case reflect.ValueOf(g).IsNil():
		return f
	}
	return both
}

// both returns a function that calls f, and then g, also if f panics.
func both[A, B any](f, g func(A, B)) func(A, B) {
	return join(f, g, func(a A, b B) {
		defer g(a, b)
		f(a, b)
	})
}

func all3[A, B, C any](f, g func(A, B, C)) func(A, B, C) {
	return join(f, g, func(a A, b B, c C) {
		defer g(a, b, c)
		f(a, b, c)
	})
}

// atOnce calls f and g at the same time, and returns when both have returned. It panics if
// one of them did.
func atOnce(ctx context.Context, f, g func(context.Context)) {
	ended := make(chan *PanicError)
	go func() {
		var p *PanicError
		defer func() {
			if v := recover(); v != nil {
				p = &PanicError{Value: v, Stack: debug.Stack()}
			}
			ended <- p
		}()
		f(ctx)
	}()
	defer func() {
		if p := <-ended; p != nil {
			panic(p)
		}
	}()
	g(ctx)
}

// BatchInfo describes a batch that begins.
type BatchInfo struct {
	Records int
	// QueueARN is the queue of the batch's first record.
	QueueARN string
	Started  time.Time
	// Deadline is the time at which Lambda kills the invocation. Zero in a container, and
	// without a deadline.
	Deadline time.Time
	// Cutoff is the time by which handlers must return: Deadline less the reserve. Zero
	// without a deadline.
	Cutoff time.Time
	// SettleBy is the time by which calls that settle records must end, so that the response
	// can still be sent. Zero without a deadline.
	SettleBy time.Time
}

// Warning is a message for operators.
type Warning struct {
	// Message describes what happened and what to do.
	Message string
	// MessageID is the id of the record. Empty if the warning is not about one record.
	MessageID string
	// Queue is the name of the queue. Empty if it is not known.
	Queue string
	// Err is the cause. It may be nil.
	Err error
	// Info is set if nothing is wrong: the message reports a setting once.
	// Package telemetry/log writes it at level INFO, and it does not count as a warning.
	Info bool
	// Serious is set if an operator should act now: records are held up or fail repeatedly,
	// and waiting has not helped. Package telemetry/log writes such a warning at level
	// ERROR.
	Serious bool
}

// Call describes one call that sqsbatch made to SQS.
type Call struct {
	// Operation is the API action: ReceiveMessage, DeleteMessageBatch,
	// ChangeMessageVisibilityBatch (a backoff, a release, or in a container an
	// extension), SendMessageBatch (to the dead-letter queue),
	// GetQueueAttributes or GetQueueUrl.
	Operation string
	// QueueARN is the source queue of the records, also for calls to the dead-letter queue.
	// Empty until a long poll has looked up the ARN.
	QueueARN string
	// URL is the URL of the called queue. For GetQueueUrl it is the queue's name.
	URL string
	// Entries is the number of messages in the call: the entries of a batch call, or the
	// messages that a receive returned. 0 for other calls.
	Entries int
	// Failed is the number of entries that SQS did not confirm: all of them if Err is set.
	Failed int
	// Throttled is the number of failed entries that SQS throttled. If SQS throttled the
	// whole call, it is 0 and Err has the cause.
	Throttled int
	// Started is the time of the call. Duration is the time to the answer, including the
	// retries of the SDK.
	Started  time.Time
	Duration time.Duration
	// Err is set if SQS did not answer the call or refused it as a whole. It is nil if only
	// entries failed. It is [context.Canceled] for a receive that was open when a poller
	// stopped.
	Err error
}

// Status is the state of the poll of a queue at one moment.
type Status struct {
	// Queue is the queue, as the configuration names it.
	Queue string `json:"queue"`
	// State is one of:
	//
	//   - "created", "starting", "polling", "draining", "stopped";
	//   - "failing": receiving fails, or deleting fails and nothing is received;
	//   - "paused": see Pause of handler.Poller;
	//   - "aborted": nothing is received for a time, see [Abort].
	State string `json:"state"`
	// Concurrency is the largest number of records, or FIFO groups, that are handled at a
	// time. Running is the number now.
	Concurrency int `json:"concurrency"`
	Running     int `json:"running"`
	// Waiting is the number of received records that wait to be handled. Undeleted is the
	// number of handled records that are not deleted yet.
	Waiting   int `json:"waiting"`
	Undeleted int `json:"undeleted"`
	// AbandonedRunning is the number of abandoned handlers that still run.
	AbandonedRunning int `json:"abandonedRunning"`
	// OldestSeconds is the running time of the oldest running handler.
	OldestSeconds float64 `json:"oldestSeconds"`
	// LastReceive is the time of SQS's latest answer to a receive. Zero for none.
	LastReceive time.Time `json:"lastReceive,omitzero"`
	// LastError is the latest error of receiving, deleting or extending, and LastErrorAt its
	// time.
	LastError   string    `json:"lastError,omitempty"`
	LastErrorAt time.Time `json:"lastErrorAt,omitzero"`
	Counts      Counts    `json:"counts"`
}

// Counts are totals since the poll of a queue began.
type Counts struct {
	Receives   int `json:"receives"`   // calls of ReceiveMessage
	Received   int `json:"received"`   // messages received
	Succeeded  int `json:"succeeded"`  // records whose handler succeeded
	Failed     int `json:"failed"`     // records whose handler failed or was abandoned
	Abandoned  int `json:"abandoned"`  // records whose handler was abandoned
	Released   int `json:"released"`   // records released without being handled
	Lost       int `json:"lost"`       // records that SQS made visible to others while they were held
	Repeated   int `json:"repeated"`   // deliveries of records that were held or handled already
	Extensions int `json:"extensions"` // calls that extended visibility
}
