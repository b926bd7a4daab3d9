package batch

import (
	"context"
	"time"
)

// A hook is any value with one or more of the methods of the interfaces below,
// and of [CallHook], [PollHook] and [FlushHook].
// Hooks are called on the path of the records: they must not block, and must
// be safe for several goroutines. A hook that panics is contained; what it
// panicked with goes to the warning hooks.
//
// On Lambda a hook that blocks is waited for, before it costs the response:
//
//   - RecordFinished, and Warned that none was started, for half of the
//     time that is left until [Times].SettleBy;
//   - BatchSettled, Called, and Warned of what settling met, for half of the time
//     that is left until the deadline; Flush as [FlushHook] says.
//
// After that they are told beside the response, and a warning says so. Not bounded
// are BatchContext and BatchStarted: nothing is handled before they return. One
// that blocks in RecordContext or RecordStarted is its record's handler that blocks:
// the record is abandoned.
//
// In a container BatchContext, BatchStarted and the hooks for records are called on the
// goroutine of a record, and take its slot for as long as they block; the others on
// goroutines of their own. /livez fails when one takes more than 30 s.

// BatchInfo describes a batch that begins.
type BatchInfo struct {
	Records int
	// QueueARN is the queue of the batch's first record.
	QueueARN string
	Started  time.Time
	Times    Times
}

// BatchStartedHook is told that a batch begins, before its first record.
type BatchStartedHook interface {
	BatchStarted(ctx context.Context, b BatchInfo)
}

// BatchSettledHook is told that a batch is over: every record has its outcome,
// and what could be settled is. The results are in the order of the records
// and must not be kept or changed.
type BatchSettledHook interface {
	BatchSettled(ctx context.Context, b BatchInfo, results []Result)
}

// RecordStartedHook is told that a record's handler is about to be called.
type RecordStartedHook interface {
	RecordStarted(ctx context.Context, r *Record)
}

// RecordFinishedHook is told that a record's handler returned or was
// abandoned, or that the record was skipped. The outcome is the handler's: a
// permanent failure is Retry here, and DeadLettered in [BatchSettledHook] if
// that came true, unless it was dead-lettered in place: a FIFO record that others wait for. It is not told
// of records that were not started.
type RecordFinishedHook interface {
	RecordFinished(ctx context.Context, r Result)
}

// WarningHook is told what an operator should know: something was refused,
// is misconfigured or about to go wrong. No record is lost by it.
type WarningHook interface {
	Warned(ctx context.Context, w Warning)
}

// Warning is something that an operator should know.
type Warning struct {
	// Message says what happened and what to do.
	Message string
	// MessageID is the record it is about; empty when it is about none in particular.
	MessageID string
	// Queue is the name of the queue it is about; empty when that is not known.
	Queue string
	// Err is the cause; may be nil.
	Err error
	// Info is set when nothing is wrong: it is said once how something was set up.
	// Package telemetry/log writes it at level INFO; it does not count as a warning.
	Info bool
	// Serious is set when somebody should look now: records are held up, or
	// handled in vain, and time alone has not mended it. Package telemetry/log
	// writes such a warning at level ERROR.
	Serious bool
}

// Hooks that give contexts values, so that what a handler does can be told to
// belong to its record: the spans of a trace, a logger with the record's id.
// What they return must be derived from the context that they are given. Only
// its values count: neither its end nor its deadline is heeded.

// BatchContextHook is asked for the context of a batch, before its
// [BatchStartedHook] is told. All that is done for the batch has the values of
// the context that it returns: its handlers, its hooks, and on Lambda the calls
// to SQS that settle it.
type BatchContextHook interface {
	BatchContext(ctx context.Context, b BatchInfo, records []Record) context.Context
}

// RecordContextHook is asked for the context of a record, before its
// [RecordStartedHook] is told. The handler's context, and that of the hooks
// that are told of the record, have the values of the context that it returns.
// When the record is abandoned meanwhile, they are told without.
type RecordContextHook interface {
	RecordContext(ctx context.Context, r *Record) context.Context
}

// FlushHook keeps something back, to write or send it later. Flush is called
// when there may be no later: package handler calls it at the end of each
// invocation on Lambda, which freezes the process then, after BatchSettled and
// for 2 s at most; and in a container at the end of Poll, for up to 5 s. It
// should return when ctx ends, and is not waited for any longer.
//
// Whoever uses a longpoll.Poller without package handler calls
// it by itself.
type FlushHook interface {
	Flush(ctx context.Context)
}

// Call is one call to SQS that sqsbatch made.
type Call struct {
	// Operation is the API action: ReceiveMessage, DeleteMessageBatch,
	// ChangeMessageVisibilityBatch (a backoff, a release, or in a container an
	// extension), SendMessageBatch (to the dead-letter queue),
	// GetQueueAttributes or GetQueueUrl.
	Operation string
	// QueueARN is the queue whose records the call is about, also where it goes
	// to their dead-letter queue. Empty while a long poll does not know it yet.
	QueueARN string
	// URL is the queue that was called; the name, for GetQueueUrl.
	URL string
	// Entries counts the messages that the call was about: those sent with a
	// batch call, or those that a receive returned. 0 for the others.
	Entries int
	// Failed counts the entries that SQS did not confirm: all when Err is set.
	Failed int
	// Throttled counts those of Failed of which the answer says that there are
	// too many calls. Of a call that was throttled as a whole Err says it.
	Throttled int
	// Started is when the call was made, and Duration how long its answer took,
	// with what the SDK tried again by itself.
	Started  time.Time
	Duration time.Duration
	// Err is why there is no answer; nil when there is, also one with entries
	// that failed. It is [context.Canceled] when the call was given up: the
	// long poll that is open when a poller stops.
	Err error
}

// CallHook is told of each call to SQS, when it was answered. It is called
// beside the records and is not waited for, but on Lambda before
// [BatchSettledHook], for half of the time that is left for settling at most.
type CallHook interface {
	Called(ctx context.Context, c Call)
}

// Load is how a long poll is at one moment.
type Load struct {
	// Slots is how many records, or FIFO groups, are handled at a time at most;
	// Running is how many are.
	Slots, Running int
	// Waiting counts the records that were received and wait for a slot,
	// Undeleted those that were handled and are not deleted yet.
	Waiting, Undeleted int
	// AbandonedRunning counts the handlers that were given up and still run.
	AbandonedRunning int
	// OldestSeconds is for how long the oldest of what runs has been running.
	OldestSeconds float64
	// Lost counts, since the beginning, the records that SQS took back while
	// they were held; Repeated the deliveries of records that were held or
	// handled already.
	Lost, Repeated int
	// Ended says that the long poll is over: nothing changes any more.
	Ended bool
}

// PollHook is told that a long poll begins. load tells how it is, whenever it
// is asked: for gauges, which are read now and then. It costs a look at each
// running record, and may be called from any goroutine, later than Polling
// returned and after the poll's end too.
type PollHook interface {
	Polling(ctx context.Context, queueARN string, load func() Load)
}
