package metric

import "github.com/sqsbatch/sqsbatch/batch"

// Records by what became of them: each record of a batch is counted in one.
var (
	RecordsSucceeded = records(batch.Succeeded, "RecordsSucceeded",
		"Records whose handler returned nil. Their rate is the throughput: scale by the queue's backlog, not by this.")
	RecordsRetried = records(batch.Retry, "RecordsRetried",
		"Records whose handler failed, and that come back after their backoff. A steady share is a dependency that fails: look at the reason in the log.")
	RecordsDeadLettered = records(batch.DeadLettered, "RecordsDeadLettered",
		"Records that sqsbatch sent to the dead-letter queue, because they failed for good. Above 0: read the attribute sqsbatch of the dead letters, fix the cause, redrive. What SQS moves by maxReceiveCount is not in it: see RecordsLastAttempt.")
	RecordsDropped = records(batch.Dropped, "RecordsDropped",
		"Records that failed for good and were deleted, as SQSBATCH_ON_PERMANENT or SQSBATCH_ON_MALFORMED says. They are gone: above 0, be sure that this is meant.")
	RecordsNotStarted = records(batch.NotStarted, "RecordsNotStarted",
		"Records given back because too little time was left, their batch was aborted (batch.Abort) or a container was stopped, each at the price of an attempt. Above 0 for long: a smaller batch, more concurrency, or a longer timeout.")
	RecordsSkipped = records(batch.Skipped, "RecordsSkipped",
		"Records of a FIFO group given back because an earlier one of it failed. They come back with it: look at what failed.")
	RecordsAbandoned = records(batch.Abandoned, "RecordsAbandoned",
		"Records whose handler ignored the end of its context. Above 0 is a bug: the handler, or a client in it, does not take the context.")
)

// More about records.
var (
	RecordsLastAttempt = metric(Metric{Name: "RecordsLastAttempt", Unit: Count,
		Help: "Records that failed at their last attempt: SQS moves them to the dead-letter queue next. Above 0 should page: mend the cause before others follow."})
	RecordsPanicked = metric(Metric{Name: "RecordsPanicked", Unit: Count,
		Help: "Records whose handler panicked, or ended its goroutine; they count as retried, too. Above 0 is a bug: the stack of a panic is in the log."})
	RecordDuration = metric(Metric{Name: "RecordDuration", Kind: Distribution, Unit: Milliseconds,
		Help: "How long handlers took, failures and abandonments included. Watch p99 against the time that a record may take."})
	DeadlineUsed = metric(Metric{Name: "DeadlineUsed", Kind: Distribution, Unit: Percent,
		Help: "How much of the time that a record was given its handler used. Above 80 at p99, timeouts are next: raise the timeout, or make batches smaller."})
	Attempts = metric(Metric{Name: "Attempts", Kind: Distribution, Unit: Count,
		Help: "The attempt (ApproximateReceiveCount) at which records were handled. 1 is usual; a maximum near maxReceiveCount means that dead letters follow."})
	MessageAge = metric(Metric{Name: "MessageAge", Kind: Distribution, Unit: Seconds,
		Help: "How long ago records had been sent when their handler was done with them. What users wait for: alarm on p99 by your promise, and on the maximum well below the queue's retention."})
)

// Batches and processes.
var (
	BatchSize = metric(Metric{Name: "BatchSize", Kind: Distribution, Unit: Count,
		Help: "Records of an invocation; in a container, of one group that came together. Small ones on a busy queue: a longer batching window costs less."})
	ColdStarts = metric(Metric{Name: "ColdStarts", Unit: Count,
		Help: "Processes that handled their first batch. Many on Lambda: traffic in bursts; in a container: it restarts, look why."})
	Warnings = metric(Metric{Name: "Warnings", Unit: Count,
		Help: "Warnings in the log: something is refused, misconfigured or about to go wrong. Above 0: read them."})
	SeriousWarnings = metric(Metric{Name: "SeriousWarnings", Unit: Count,
		Help: "Those of the warnings that are errors in the log: records are held up or handled in vain, and time has not mended it. Above 0 should page."})
)

// Calls to SQS that sqsbatch made.
var (
	ReceiveCalls = callsOf("ReceiveMessage", "ReceiveCalls", true,
		"Receives. Few messages for many calls is an idle queue: what it costs is this many requests.")
	DeleteCalls = callsOf("DeleteMessageBatch", "DeleteCalls", false,
		"Calls that delete; on Lambda, which deletes by itself, only with SQSBATCH_DELETE_SUCCEEDED.")
	VisibilityCalls = callsOf("ChangeMessageVisibilityBatch", "VisibilityCalls", false,
		"Calls that set a backoff, release records or, in a container, extend what is held.")
	DeadLetterCalls = callsOf("SendMessageBatch", "DeadLetterCalls", false,
		"Calls that send records to the dead-letter queue.")
	OtherCalls = callsOf("", "OtherCalls", false,
		"Calls that ask for a queue's URL and attributes: a few, at the start and when records fail.")

	MessagesReceived = entriesOf("ReceiveMessage", "MessagesReceived", true,
		"Messages that receives returned, repeated ones included. Beside RecordsSucceeded, it tells what is received in vain.")
	DeleteEntries = entriesOf("DeleteMessageBatch", "DeleteEntries", false,
		"Messages in calls that delete; those of repeated calls count again.")
	VisibilityEntries = entriesOf("ChangeMessageVisibilityBatch", "VisibilityEntries", false,
		"Messages in calls that change visibility; those of repeated calls count again.")
	DeadLetterEntries = entriesOf("SendMessageBatch", "DeadLetterEntries", false,
		"Messages in calls to the dead-letter queue; those of repeated calls count again.")

	ReceiveFailures = failuresOf("ReceiveMessage", "ReceiveFailures", true,
		"Receives that failed. Above 0 for minutes, nothing is handled: look whether SQS is reachable and the role may receive.")
	DeleteFailures = failuresOf("DeleteMessageBatch", "DeleteFailures", false,
		"Messages that a call did not delete. They are handled twice unless a later call succeeds.")
	VisibilityFailures = failuresOf("ChangeMessageVisibilityBatch", "VisibilityFailures", false,
		"Messages whose visibility a call did not change: backoffs are not kept, or others receive what is held. Above 0: the log names the permission or the cause.")
	DeadLetterFailures = failuresOf("SendMessageBatch", "DeadLetterFailures", false,
		"Messages that did not reach the dead-letter queue, and are retried instead. Above 0: the log names the permission or the cause.")
	OtherFailures = failuresOf("", "OtherFailures", false,
		"Calls for a queue's URL and attributes that failed. The log says what is not known for it.")

	Throttles = metric(Metric{Name: "Throttles", Unit: Count,
		Help: "Calls that SQS throttled after the SDK's own tries, wholly or for some of their messages. Above 0: a FIFO queue without high throughput, or calls of others; ask for a higher quota."})
)

// What a long poll holds.
var (
	Slots = metric(Metric{Name: "Slots", Kind: Gauge, Unit: Count, Poll: true,
		Help: "Records, or FIFO groups, that a container may handle at a time (Concurrency)."})
	Running = metric(Metric{Name: "Running", Kind: Gauge, Unit: Count, Poll: true,
		Help: "Slots in use. As many as Slots for long: more slots, if the handler waits, or more containers."})
	Waiting = metric(Metric{Name: "Waiting", Kind: Gauge, Unit: Count, Poll: true,
		Help: "Records received that wait for a slot. Many for long, while Running is below Slots: FIFO groups that are few."})
	Undeleted = metric(Metric{Name: "Undeleted", Kind: Gauge, Unit: Count, Poll: true,
		Help: "Records handled and not deleted yet. Growing: deletes fail (DeleteFailures); at 400 and Concurrency, or 100 and Concurrency while none succeeds, receiving stops."})
	AbandonedRunning = metric(Metric{Name: "AbandonedRunning", Kind: Gauge, Unit: Count, Poll: true,
		Help: "Handlers that were given up and still run. Above 0: they hold memory and connections; the process ends above MaxAbandoned."})
	OldestRunning = metric(Metric{Name: "OldestRunning", Kind: Gauge, Unit: Seconds, Poll: true,
		Help: "For how long the oldest of what runs has been running. Near the record timeout: a handler that hangs."})
	RecordsLost = metric(Metric{Name: "RecordsLost", Unit: Count, Poll: true,
		Help: "Records that SQS took back while they were held: others may handle them as well. Above 0: extensions fail, a container is suspended, or somebody deletes."})
	RecordsRepeated = metric(Metric{Name: "RecordsRepeated", Unit: Count, Poll: true,
		Help: "Deliveries of records that were held or handled already, which are not handled again. A few are usual; many: visibility is lost, or deletes have no effect."})
)

// byOutcome has the metric of each outcome.
var byOutcome [batch.Abandoned + 1]*Metric

func records(o batch.Outcome, name, help string) *Metric {
	byOutcome[o] = metric(Metric{Name: name, Unit: Count, Help: help, Family: "Records", Label: "outcome", Value: o.String()})
	return byOutcome[o]
}

// operation are the metrics of an API action; nil where there is none.
type operation struct{ calls, entries, failures *Metric }

// operations has "" for all others.
var operations = map[string]*operation{}

func operationFor(action string) *operation {
	if operations[action] == nil {
		operations[action] = &operation{}
	}
	return operations[action]
}

func byOperation(action, family, name, help string, poll bool) *Metric {
	value := action
	if value == "" {
		value = "other"
	}
	return metric(Metric{Name: name, Unit: Count, Help: help, Family: family, Label: "operation", Value: value, Poll: poll})
}

func callsOf(action, name string, poll bool, help string) *Metric {
	m := byOperation(action, "Calls", name, help, poll)
	operationFor(action).calls = m
	return m
}

func entriesOf(action, name string, poll bool, help string) *Metric {
	m := byOperation(action, "CallEntries", name, help, poll)
	operationFor(action).entries = m
	return m
}

func failuresOf(action, name string, poll bool, help string) *Metric {
	m := byOperation(action, "CallFailures", name, help, poll)
	operationFor(action).failures = m
	return m
}
