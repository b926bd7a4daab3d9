package batch

import (
	"context"
	"time"
)

// A hook is any value that implements one or more of the interfaces below, or [CallHook],
// [PollHook] or [FlushHook].
//
// Hooks are called while records are being handled. They must not block, and must be safe
// for concurrent use. A panic in a hook is caught and reported to the warning hooks.
//
// On Lambda, sqsbatch waits for a hook that blocks, but not so long that the response would
// be late:
//
//   - RecordFinished, and Warned about a record that was not started: for half of the
//     time that is left until [Times].SettleBy;
//   - BatchSettled, Called, and Warned about settling: for half of the time that is left
//     until the deadline. For Flush see [FlushHook].
//
// After that the response is sent without waiting for the hook, and a warning reports this.
// There is no limit for BatchContext and BatchStarted: no record is handled before they
// return. RecordContext and RecordStarted count as part of the handler: if they block, the
// record is abandoned.
//
// In a container, BatchContext, BatchStarted and the hooks for records run on the record's
// goroutine and occupy its slot. All other hooks have goroutines of their own. /livez fails
// when a hook takes more than 30 s.

// BatchInfo describes a batch that begins.
type BatchInfo struct {
	Records int
	// QueueARN is the queue of the batch's first record.
	QueueARN string
	Started  time.Time
	Times    Times
}

// BatchStartedHook is called when a batch begins, before its first record.
type BatchStartedHook interface {
	BatchStarted(ctx context.Context, b BatchInfo)
}

// BatchSettledHook is called when a batch is over: every record has its outcome, and the
// calls that settle it were made. The results are in the order of the records. The hook
// must not keep or change them. In a container it is also called for records that were given
// back before their batch began: without BatchStarted, and with a Started of zero.
type BatchSettledHook interface {
	BatchSettled(ctx context.Context, b BatchInfo, results []Result)
}

// RecordStartedHook is called just before a record's handler.
type RecordStartedHook interface {
	RecordStarted(ctx context.Context, r *Record)
}

// RecordFinishedHook is called when a record's handler returned or was abandoned, and when
// the record was skipped. It is not called for records that were not started.
//
// The outcome is the handler's. A permanent failure is Retry here, and becomes DeadLettered
// in [BatchSettledHook] if it was sent to the dead-letter queue. Exception: a FIFO record
// that was dead-lettered while its group waited is already DeadLettered here.
type RecordFinishedHook interface {
	RecordFinished(ctx context.Context, r Result)
}

// WarningHook is called with warnings for operators: a call was refused, a setting is
// wrong, or a problem is about to happen. No record is lost when it is called.
type WarningHook interface {
	Warned(ctx context.Context, w Warning)
}

// Warning is a message for operators.
type Warning struct {
	// Message says what happened and what to do.
	Message string
	// MessageID is the record that the warning is about. Empty if it is not about one
	// record.
	MessageID string
	// Queue is the name of the queue that the warning is about. Empty if it is not known.
	Queue string
	// Err is the cause. It may be nil.
	Err error
	// Info is set if nothing is wrong: the message reports once how something was set up.
	// Package telemetry/log writes it at level INFO, and it does not count as a warning.
	Info bool
	// Serious is set if an operator should act now: records are held up or fail repeatedly,
	// and waiting has not helped. Package telemetry/log writes such a warning at level
	// ERROR.
	Serious bool
}

// Hooks that add values to contexts, so that what a handler does can be linked to its
// record: the spans of a trace, a logger with the record's id.
//
// A hook must derive the context that it returns from the one that it gets. Only the values
// of the returned context count. Its end and its deadline are ignored.

// BatchContextHook returns the context of a batch. It is called before [BatchStartedHook].
// The batch's handlers, its hooks, and on Lambda the calls to SQS that settle it see the
// values of the returned context.
type BatchContextHook interface {
	BatchContext(ctx context.Context, b BatchInfo, records []Record) context.Context
}

// RecordContextHook returns the context of a record. It is called before
// [RecordStartedHook]. The record's handler and the hooks called for the record see the
// values of the returned context. If the record is abandoned before the hook returns, later
// hooks see the context without these values.
type RecordContextHook interface {
	RecordContext(ctx context.Context, r *Record) context.Context
}

// FlushHook is for hooks that buffer data, to write or send it later. Flush must write or
// send what is buffered, because there may be no later call:
//
//   - On Lambda, package handler calls Flush at the end of each invocation, after BatchSettled,
//     since Lambda then freezes the process. It waits for 2 s at most.
//   - In a container, package handler calls it at the end of Poll, and waits for up to 5 s.
//
// Flush should return when ctx ends; sqsbatch does not wait any longer.
//
// If you use longpoll.Poller without package handler, call Flush yourself.
type FlushHook interface {
	Flush(ctx context.Context)
}

// Call describes one call that sqsbatch made to SQS.
type Call struct {
	// Operation is the API action: ReceiveMessage, DeleteMessageBatch,
	// ChangeMessageVisibilityBatch (a backoff, a release, or in a container an
	// extension), SendMessageBatch (to the dead-letter queue),
	// GetQueueAttributes or GetQueueUrl.
	Operation string
	// QueueARN is the source queue of the records that the call is about, also for calls to
	// its dead-letter queue. Empty as long as a long poll does not know the ARN yet.
	QueueARN string
	// URL is the URL of the queue that was called. For GetQueueUrl it is the queue's name.
	URL string
	// Entries is the number of messages in the call: the entries of a batch call, or the
	// messages that a receive returned. 0 for other calls.
	Entries int
	// Failed is the number of entries that SQS did not confirm: all of them if Err is set.
	Failed int
	// Throttled is the number of failed entries that SQS throttled. If SQS throttled the
	// whole call, it is 0 and Err has the cause.
	Throttled int
	// Started is when the call was made. Duration is the time to the answer, including the
	// retries of the SDK.
	Started  time.Time
	Duration time.Duration
	// Err is set if the call got no answer from SQS or was refused. It is nil if there is
	// an answer, also if entries in it failed. It is [context.Canceled] for a receive that
	// was open when a poller stopped.
	Err error
}

// CallHook is called after each call to SQS. It runs concurrently with the records and does
// not delay them. On Lambda, [BatchSettledHook] is called after it; sqsbatch waits for it
// for half of the time that is left for settling at most.
type CallHook interface {
	Called(ctx context.Context, c Call)
}

// Load is the state of a long poll at one moment.
type Load struct {
	// Slots is the largest number of records, or FIFO groups, that are handled at the same
	// time. Running is how many of them are running now.
	Slots, Running int
	// Waiting is the number of received records that wait for a slot. Undeleted is the
	// number of handled records that have not been deleted yet.
	Waiting, Undeleted int
	// AbandonedRunning is the number of abandoned handlers that still run.
	AbandonedRunning int
	// OldestSeconds is for how long the oldest running handler has been running.
	OldestSeconds float64
	// Lost is the number of records, since the start, that SQS made visible to others while
	// they were held. Repeated is the number of deliveries of records that were held or
	// handled already.
	Lost, Repeated int
	// Ended is true when the long poll is over. Nothing changes after that.
	Ended bool
}

// PollHook is called when a long poll begins. The function load returns the current state;
// use it for gauges that are read from time to time. A call of load looks at each running
// record. It may be called from any goroutine, also after Polling has returned and after
// the long poll is over.
type PollHook interface {
	Polling(ctx context.Context, queueARN string, load func() Load)
}
