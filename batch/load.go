package batch

import "context"

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

// Polling tells the hooks that a long poll begins.
func (h *Hooks) Polling(ctx context.Context, queueARN string, load func() Load) {
	if h != nil {
		each(ctx, h, queueARN, h.polling, func(hook PollHook) { hook.Polling(ctx, queueARN, load) })
	}
}
