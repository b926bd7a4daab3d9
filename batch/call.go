package batch

import (
	"context"
	"time"
)

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

// Called tells the hooks of a call to SQS.
func (h *Hooks) Called(ctx context.Context, c Call) {
	if h != nil {
		each(ctx, h, c.QueueARN, h.called, func(hook CallHook) { hook.Called(ctx, c) })
	}
}

// WantsCalls reports whether there is a hook for calls: without one, nothing
// needs to be noted of them.
func (h *Hooks) WantsCalls() bool { return h != nil && len(h.called) > 0 }
