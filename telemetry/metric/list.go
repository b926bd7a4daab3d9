package metric

import (
	"cmp"

	"github.com/sqsbatch/sqsbatch/batch"
)

// Kind is how a metric combines its observations.
type Kind uint8

const (
	// Counter adds them up.
	Counter Kind = iota
	// Distribution keeps them as values, for percentiles.
	Distribution
	// Gauge keeps the latest one.
	Gauge
)

func (k Kind) String() string { return [...]string{"counter", "distribution", "gauge"}[k] }

// Unit is a CloudWatch unit, see MetricDatum in the API reference.
type Unit string

const (
	Count        Unit = "Count"
	Milliseconds Unit = "Milliseconds"
	Seconds      Unit = "Seconds"
	Percent      Unit = "Percent"
	Bytes        Unit = "Bytes"
)

// Metric is a metric in [All]. The only dimensions are the service and the queue. Data with too
// many values for a dimension is in logs and traces.
type Metric struct {
	// Name is the metric's name in systems without labels (CloudWatch).
	Name string
	Kind Kind
	Unit Unit
	// Help describes the metric, and what to do about a value.
	Help string

	// Family, Label and Value are for systems with labels. The metrics of a family are one
	// metric there: "Records" with outcome="retry". Without a Label, Family is the Name.
	Family, Label, Value string

	// Poll is true if the metric is observed only in containers.
	Poll bool
	// Send is true if the metric is about calls of package sender, see
	// [Recorder.SenderCalled].
	Send bool

	index int
}

// Index returns the metric's position in [All].
func (m *Metric) Index() int { return m.index }

// All are the metrics, in the order in which to show them.
var All []*Metric

// byOutcome maps outcomes to metrics. Go makes the metrics in the order of their declarations
// only if this variable and All stand above them.
var byOutcome [batch.Abandoned + 1]*Metric

func metric(m Metric) *Metric {
	m.Family = cmp.Or(m.Family, m.Name)
	m.index = len(All)
	All = append(All, &m)
	return &m
}

// ByName returns the metric with a name, or nil.
func ByName(name string) *Metric {
	for _, m := range All {
		if m.Name == name {
			return m
		}
	}
	return nil
}

// Records by outcome. Each record of a batch is counted in one of these.
var (
	RecordsSucceeded = records(batch.Succeeded, "RecordsSucceeded",
		"Records whose handler returned nil. Their rate is the throughput. Scale by the queue's backlog, not by this.")
	RecordsDuplicate = records(batch.Duplicate, "RecordsDuplicate",
		"Records whose work was done before, and which were deleted without calling the handler. A few are usual: SQS delivers at least once. Many mean that a sender repeats itself.")
	RecordsExpired = records(batch.Expired, "RecordsExpired",
		"Records whose result nobody waits for any more, such as requests whose callers have given up. Above 0 for long: handlers take longer than callers wait, or the queue has a backlog.")
	RecordsRetried = records(batch.Retry, "RecordsRetried",
		"Records whose handler failed and that come back after their backoff. A steady share means that a dependency fails: the log has the reason.")
	RecordsInProgress = records(batch.InProgress, "RecordsInProgress",
		"Records that came while another worker was doing their work. They come back when that one's claim ends, and are not failures. Above 0 for long: handlers take longer than the visibility timeout, or processes are killed.")
	RecordsDeadLettered = records(batch.DeadLettered, "RecordsDeadLettered",
		"Records that sqsbatch sent to the dead-letter queue because they failed for good. Above 0: read the attribute sqsbatch of the dead letters, fix the cause, redrive. Records that SQS moves by maxReceiveCount do not count here: see RecordsLastAttempt.")
	RecordsDropped = records(batch.Dropped, "RecordsDropped",
		"Records that failed for good and were deleted, because SQSBATCH_ON_PERMANENT says so. They are gone. Above 0: make sure that this is intended.")
	RecordsNotStarted = records(batch.NotStarted, "RecordsNotStarted",
		"Records returned to the queue because too little time was left, their batch was aborted (batch.Abort) or a container was stopped. Each time costs an attempt. Above 0 for long: make batches smaller, or raise the concurrency or the timeout.")
	RecordsSkipped = records(batch.Skipped, "RecordsSkipped",
		"Records of a FIFO group returned to the queue because an earlier record of the group failed. They come back with it: find out why it failed.")
	RecordsAbandoned = records(batch.Abandoned, "RecordsAbandoned",
		"Records whose handler ignored the end of its context. Above 0 is a bug: the handler, or a client in it, does not use the context.")
)

// More about records.
var (
	RecordsLastAttempt = metric(Metric{Name: "RecordsLastAttempt", Unit: Count,
		Help: "Records that failed at their last attempt. SQS moves them to the dead-letter queue next. Above 0 should page: fix the cause before others follow."})
	RecordsPanicked = metric(Metric{Name: "RecordsPanicked", Unit: Count,
		Help: "Records whose handler panicked or ended its goroutine. They also count as retried. Above 0 is a bug: the log has the stack of a panic."})
	RecordDuration = metric(Metric{Name: "RecordDuration", Kind: Distribution, Unit: Milliseconds,
		Help: "How long handlers took, including failed and abandoned ones. Compare p99 with the time that a record may take."})
	DeadlineUsed = metric(Metric{Name: "DeadlineUsed", Kind: Distribution, Unit: Percent,
		Help: "How much of its time a record's handler used. If p99 is above 80, timeouts are next: raise the timeout, or make batches smaller."})
	Attempts = metric(Metric{Name: "Attempts", Kind: Distribution, Unit: Count,
		Help: "The attempt (ApproximateReceiveCount) at which records were handled. 1 is usual. A maximum near maxReceiveCount means that dead letters follow."})
	MessageAge = metric(Metric{Name: "MessageAge", Kind: Distribution, Unit: Seconds,
		Help: "How old messages were when their handler was done: the time that users wait. Alarm on p99 by your promise, and on the maximum well below the queue's retention."})
)

// Batches and processes.
var (
	BatchSize = metric(Metric{Name: "BatchSize", Kind: Distribution, Unit: Count,
		Help: "Records of an invocation; 1 in a container. If batches are small on a busy queue, a longer batching window costs less."})
	ColdStarts = metric(Metric{Name: "ColdStarts", Unit: Count,
		Help: "Processes that handled their first batch. Many on Lambda: traffic comes in bursts. Many in a container: it restarts, find out why."})
	Warnings = metric(Metric{Name: "Warnings", Unit: Count,
		Help: "Warnings in the log: something is refused, misconfigured or about to go wrong. Above 0: read them."})
	SeriousWarnings = metric(Metric{Name: "SeriousWarnings", Unit: Count,
		Help: "Warnings that are errors in the log: records are held up or handled without effect, and time has not solved it. Above 0 should page."})
)

// Calls that sqsbatch made to SQS.
var (
	ReceiveCalls = ofCalls("Calls", "ReceiveMessage", "ReceiveCalls",
		"Receives. Few messages for many calls mean an idle queue: it costs this many requests.")
	DeleteCalls = ofCalls("Calls", "DeleteMessageBatch", "DeleteCalls",
		"Calls that delete messages. Lambda deletes by itself, so there are some on Lambda only with SQSBATCH_DELETE_SUCCEEDED.")
	VisibilityCalls = ofCalls("Calls", "ChangeMessageVisibilityBatch", "VisibilityCalls",
		"Calls that set a backoff, release records or, in a container, extend the visibility timeout of records that are held.")
	DeadLetterCalls = ofCalls("Calls", "SendMessageBatch", "DeadLetterCalls",
		"Calls that send records to the dead-letter queue.")
	OtherCalls = ofCalls("Calls", "other", "OtherCalls",
		"Calls for a queue's URL and attributes: a few, at the start and when records fail.")

	MessagesReceived = ofCalls("CallEntries", "ReceiveMessage", "MessagesReceived",
		"Messages that receives returned, repeated ones included. Compared with RecordsSucceeded, it shows how many were received without success.")
	DeleteEntries = ofCalls("CallEntries", "DeleteMessageBatch", "DeleteEntries",
		"Messages in calls that delete. Those of repeated calls count again.")
	VisibilityEntries = ofCalls("CallEntries", "ChangeMessageVisibilityBatch", "VisibilityEntries",
		"Messages in calls that change the visibility timeout. Those of repeated calls count again.")
	DeadLetterEntries = ofCalls("CallEntries", "SendMessageBatch", "DeadLetterEntries",
		"Messages in calls to the dead-letter queue. Those of repeated calls count again.")

	ReceiveFailures = ofCalls("CallFailures", "ReceiveMessage", "ReceiveFailures",
		"Receives that failed. If it is above 0 for minutes, no record is handled: check that SQS is reachable and that the role may receive.")
	DeleteFailures = ofCalls("CallFailures", "DeleteMessageBatch", "DeleteFailures",
		"Messages that a call did not delete. They are handled twice unless a later call succeeds.")
	VisibilityFailures = ofCalls("CallFailures", "ChangeMessageVisibilityBatch", "VisibilityFailures",
		"Messages whose visibility timeout a call did not change: backoffs have no effect, or others receive records that are held. Above 0: the log names the permission or the cause.")
	DeadLetterFailures = ofCalls("CallFailures", "SendMessageBatch", "DeadLetterFailures",
		"Messages that did not reach the dead-letter queue. They are retried instead. Above 0: the log names the permission or the cause.")
	OtherFailures = ofCalls("CallFailures", "other", "OtherFailures",
		"Calls for a queue's URL and attributes that failed. The log says what sqsbatch does not know because of that.")

	Throttles = metric(Metric{Name: "Throttles", Unit: Count,
		Help: "Calls that SQS throttled after the SDK's own retries, wholly or for some of their messages. Above 0: a FIFO queue without high throughput, or calls of other programs. Ask for a higher quota."})
)

// Calls of package sender, by its Config.OnCall.
var (
	SendBatchSize = metric(Metric{Name: "SendBatchSize", Send: true, Kind: Distribution, Unit: Count,
		Help: "Messages in a call of package sender: their sum is the messages in calls, and the number of values is the calls. Near 1 on a busy queue: a longer Linger costs less."})
	SendBytes = metric(Metric{Name: "SendBytes", Send: true, Unit: Bytes,
		Help: "Bytes in calls of package sender, bodies and attributes. SQS bills each 64 KiB of a call as a request."})
	SendWait = metric(Metric{Name: "SendWait", Send: true, Kind: Distribution, Unit: Milliseconds,
		Help: "How long the oldest message of a call of package sender was in the buffer before the call. Far above Linger for long: SQS throttles or does not answer, calls take too long for Concurrency, or FIFO groups are too few."})
	SendRetries = metric(Metric{Name: "SendRetries", Send: true, Unit: Count,
		Help: "Messages in calls of package sender that had been in a call before. Above 0 for long: see SendFailures."})
	SendFailures = metric(Metric{Name: "SendFailures", Send: true, Unit: Count,
		Help: "Messages that a call of package sender did not send. Most are sent by a later call: the results of messages, or the error of a record, say which are not."})
	SendThrottles = metric(Metric{Name: "SendThrottles", Send: true, Unit: Count,
		Help: "Calls of package sender that SQS throttled, wholly or for some of their messages. The sender then makes fewer calls at a time. Above 0 for long: a FIFO queue without high throughput, or other senders."})
)

// The state of a long poll.
var (
	Slots = metric(Metric{Name: "Slots", Kind: Gauge, Unit: Count, Poll: true,
		Help: "How many records, or FIFO groups, a container may handle at a time (Concurrency)."})
	Running = metric(Metric{Name: "Running", Kind: Gauge, Unit: Count, Poll: true,
		Help: "Slots in use. As many as Slots for long: add slots if the handler waits, or add containers."})
	Waiting = metric(Metric{Name: "Waiting", Kind: Gauge, Unit: Count, Poll: true,
		Help: "Records that were received and wait for a slot. Many for long, while Running is below Slots: the queue has few FIFO groups."})
	Undeleted = metric(Metric{Name: "Undeleted", Kind: Gauge, Unit: Count, Poll: true,
		Help: "Records that were handled and are not deleted yet. If it grows, deletes fail (DeleteFailures). Receiving stops at 400 plus Concurrency, or at 100 plus Concurrency while no delete succeeds."})
	AbandonedRunning = metric(Metric{Name: "AbandonedRunning", Kind: Gauge, Unit: Count, Poll: true,
		Help: "Handlers that were abandoned and still run. Above 0: they hold memory and connections. The process ends above MaxAbandoned."})
	OldestRunning = metric(Metric{Name: "OldestRunning", Kind: Gauge, Unit: Seconds, Poll: true,
		Help: "How long the oldest of the running handlers has been running. Near the record timeout: a handler hangs."})
	RecordsLost = metric(Metric{Name: "RecordsLost", Unit: Count, Poll: true,
		Help: "Records that SQS made visible again while they were held: others may handle them as well. Above 0: extensions fail, a container is suspended, or another program deletes messages."})
	RecordsRepeated = metric(Metric{Name: "RecordsRepeated", Unit: Count, Poll: true,
		Help: "Deliveries of records that were held or handled already. They are not handled again. A few are usual. Many: records become visible while they are held, or deletes have no effect."})
)

func records(o batch.Outcome, name, help string) *Metric {
	byOutcome[o] = metric(Metric{Name: name, Unit: Count, Help: help, Family: "Records", Label: "outcome", Value: o.String()})
	return byOutcome[o]
}

func ofCalls(family, action, name, help string) *Metric {
	return metric(Metric{Name: name, Unit: Count, Help: help, Family: family, Label: "operation", Value: action, Poll: action == "ReceiveMessage"})
}

// operation has the metrics of an API action; nil if there is none.
type operation struct{ calls, entries, failures *Metric }

var operations = map[string]operation{
	"ReceiveMessage":               {ReceiveCalls, MessagesReceived, ReceiveFailures},
	"DeleteMessageBatch":           {DeleteCalls, DeleteEntries, DeleteFailures},
	"ChangeMessageVisibilityBatch": {VisibilityCalls, VisibilityEntries, VisibilityFailures},
	"SendMessageBatch":             {DeadLetterCalls, DeadLetterEntries, DeadLetterFailures},
}
