package model

import (
	"time"

	"github.com/sqsbatch/sqsbatch/internal/prices"
	"github.com/sqsbatch/sqsbatch/partialfailure"
)

// Scenario describes a queue, its consumers, its load, and what goes wrong. All times of
// Load and Troubles count from the beginning of the run.
type Scenario struct {
	// Seed selects the random draws. Defaults to 0, which is a seed like any other.
	Seed uint64

	// For is the length of the run, 1 s to 14 days. What is in the queue at the end is
	// Totals.Left. Required.
	For time.Duration

	Queue Queue

	// Mapping feeds a Lambda function, and Containers poll. Exactly one of them is required.
	Mapping    *Mapping
	Containers *Containers

	// Function is the Lambda function of Mapping. It has no effect on Containers.
	Function Function
	Toolkit  Toolkit
	Work     Work
	Load     Load
	Troubles []Trouble
	Alarms   []Alarm

	// Prices default to [prices.USEast1].
	Prices prices.Table
}

// Queue is the source queue. Its dead-letter queue keeps all that it gets.
type Queue struct {
	FIFO bool

	// Visibility is the queue's visibility timeout, 0 to 12 h. Containers use their own.
	// Defaults to 30 s, as in SQS.
	Visibility time.Duration

	// Delay is DelaySeconds, 0 to 15 min. Defaults to 0.
	Delay time.Duration

	// Retention is MessageRetentionPeriod, 1 min to 14 days. Defaults to 4 days.
	Retention time.Duration

	// MaxReceiveCount is the redrive policy's, 1 to 1,000. Defaults to 0: there is no
	// dead-letter queue.
	MaxReceiveCount int
}

// Mapping is an event source mapping.
type Mapping struct {
	// BatchSize is 1 to 10,000, and at most 10 on a FIFO queue. Defaults to 10.
	BatchSize int

	// Window is MaximumBatchingWindowInSeconds, 0 to 300 s. Defaults to 0.
	Window time.Duration

	// MaximumConcurrency limits the mapping's invocations, 2 to 1,000. Defaults to 0: none.
	MaximumConcurrency int

	// MinimumPollers (2 to 200) and MaximumPollers (2 to 10,000) are those of the provisioned
	// mode. Each poller runs up to 10 invocations. Default to 0: not provisioned.
	MinimumPollers, MaximumPollers int

	// Pollers, 1 to 1,000, replaces Lambda's scaling: so many receives are open all the time, and
	// only MaximumConcurrency and the function limit invocations. Defaults to 0: Lambda scales.
	Pollers int

	// ReportBatchItemFailures is the function response type. Without it, the toolkit deletes what
	// succeeded and fails the invocation (handler.Config.NoReportBatchItemFailures).
	ReportBatchItemFailures bool
}

// Containers are tasks that run the toolkit's long-poll loop.
type Containers struct {
	// Tasks is the number of tasks at the start, 1 to 5,000. Defaults to 1.
	Tasks int

	// Slots is SQSBATCH_CONCURRENCY of a task, 1 to 10,000. Defaults to 10.
	Slots int

	// Visibility and Prefetch are SQSBATCH_VISIBILITY (3 s to 12 h) and SQSBATCH_PREFETCH (-1:
	// none). Default to the toolkit's own defaults.
	Visibility time.Duration
	Prefetch   int

	// Scaling changes the number of tasks. Defaults to nil: it stays.
	Scaling *Scaling
}

// Scaling adds and removes tasks by the backlog: KEDA's scaler, or target tracking on the backlog
// of a task. Both want (backlog ÷ MessagesPerTask, rounded up) tasks. A task that is removed
// drains.
type Scaling struct {
	// MessagesPerTask is the backlog for which there is to be a task, at least 1. Required.
	MessagesPerTask int

	// Min is 0 to 5,000 tasks, and Max is Min to 5,000. Max defaults to 100, as in KEDA.
	Min, Max int

	// InFlight counts messages in flight as backlog, too, as KEDA does by default.
	InFlight bool

	// Every is the time between two decisions. Defaults to 30 s, KEDA's pollingInterval. Target
	// tracking takes 1 min.
	Every time.Duration

	// Up and Down are for how long more, or fewer, tasks must be wanted before the number
	// changes. Down defaults to 5 min, as in Kubernetes' HorizontalPodAutoscaler. Target tracking
	// takes 3 min up and 15 min down.
	Up, Down time.Duration

	// Start is the time from the decision until a new task polls. Defaults to 0.
	Start time.Duration
}

// Function is a Lambda function.
type Function struct {
	// Timeout is 1 s to 15 min, at most the queue's visibility timeout. Defaults to 3 s.
	Timeout time.Duration

	// MemoryMB is 128 to 10,240. Defaults to 128.
	MemoryMB int

	// Reserved is the reserved concurrency, 0 for none. AccountLimit is the account's limit of
	// concurrent invocations, for this function alone. Defaults to 1,000.
	Reserved, AccountLimit int

	// Init is the time that a new execution environment takes before its first
	// invocation, up to 10 s. Defaults to 0.
	Init time.Duration
}

// Toolkit is the part of handler.Config that matters here. Zero fields have its defaults.
type Toolkit struct {
	// Concurrency is SQSBATCH_CONCURRENCY of a batch, 1 to 10,000. Containers have Slots instead.
	Concurrency int

	// Reserve, RecordTimeout, MinRemaining and Grace are those of handler.Config.
	Reserve, RecordTimeout, MinRemaining, Grace time.Duration

	// Outage is that of partialfailure.Config, 1 s to 7 h. It excludes BackoffBase.
	Outage time.Duration

	// BackoffBase and BackoffCap select partialfailure.Exponential. Both default to 0: Outage
	// decides. BackoffCap defaults to 15 min if there is a base.
	BackoffBase, BackoffCap time.Duration

	OnPermanent partialfailure.OnPermanent
}

// Work says how long a handler takes for a record, and how it ends.
type Work struct {
	Durations Durations

	// Outcomes are shares of all attempts that do not succeed, drawn for each attempt. Defaults
	// to none: every attempt succeeds.
	Outcomes Shares

	// Poison are shares of messages, drawn once for each: all attempts of such a message end in
	// this way. Defaults to none.
	Poison Shares

	// RetryAfter is the time that retries ask for (batch.RetryAfter), up to 12 h. Defaults to 0:
	// the toolkit's schedule decides.
	RetryAfter time.Duration
}

// Durations is a distribution. Exactly one of Constant, P50 and Quantiles may be set. The zero
// value takes no time.
type Durations struct {
	// Constant is the time of every record, up to 12 h.
	Constant time.Duration

	// P50 and P99 are those of a lognormal distribution. P99 is at least P50.
	P50, P99 time.Duration

	// Quantiles are measured times in ascending order, at equal steps of probability from 0 to 1,
	// at least 2 and at most 10,001. Between two of them is a straight line.
	Quantiles []time.Duration
}

// Shares are numbers from 0 to 1. Together they are at most 1; the rest succeeds.
type Shares struct {
	// Retry is an ordinary error, Permanent is batch.Permanent.
	Retry, Permanent float64

	// Hang ignores its context. On Lambda it is abandoned at the cutoff, in a container a
	// grace after its record timeout.
	Hang float64

	// Crash ends the process: all records that it holds come back when their visibility
	// timeout ends.
	Crash float64
}

// Load is what is sent.
type Load struct {
	// Points is the rate over time, straight lines between them, in ascending order of At. Before
	// the first and after the last the rate is constant. Messages arrive by chance at that
	// rate (Poisson). At most 20 million messages may be expected in all.
	Points []Point
	Bursts []Burst

	// Bytes is the size of a message with its attributes, 1 to 1,048,576. Defaults to 1,024.
	Bytes int

	// Groups is the number of FIFO groups, each message in one by chance. Defaults to 100.
	Groups int

	// SendBatch is the number of messages of a send, 1 to 10, for the cost. Defaults to 10.
	SendBatch int
}

// Point is a rate at a time.
type Point struct {
	At        time.Duration
	PerSecond float64
}

// Burst is a number of messages that are sent at once.
type Burst struct {
	At       time.Duration
	Messages int
}

// Kind says what goes wrong.
type Kind string

// The kinds of troubles. Of an attempt that begins in their time, all but Kills and Throttle change
// a share.
const (
	Errors     Kind = "errors"     // attempts fail and are retried
	Hangs      Kind = "hangs"      // attempts hang
	Slow       Kind = "slow"       // attempts take Factor times as long
	Aborts     Kind = "aborts"     // attempts return batch.Abort(After, err)
	Permanents Kind = "permanents" // attempts return batch.Permanent: a bad deploy that cannot read its messages
	Crashes    Kind = "crashes"    // attempts end the process: a bad deploy that panics outside of its handler
	Kills      Kind = "kills"      // a consumer is killed each Every, the one that began first
	Throttle   Kind = "throttle"   // the function's reserved concurrency is Concurrency, 0 included
)

// Trouble is something that goes wrong for a time.
type Trouble struct {
	Kind Kind

	// From and Until, From < Until.
	From, Until time.Duration

	// Share of the attempts, up to 1. Defaults to 1. For an outage behind a circuit breaker or a
	// pool of which one host is down.
	Share float64

	// Factor of Slow, above 0.
	Factor float64

	// After of Aborts, 0 to 12 h.
	After time.Duration

	// Every of Kills, at least 1 s, is the time between two on average.
	Every time.Duration

	// Concurrency of Throttle, 0 or more.
	Concurrency int

	// Took is how long an attempt takes until its error, for Errors, Aborts, Permanents and
	// Crashes. Defaults to 0: as long as it would have taken.
	Took time.Duration
}

// Metric is a metric of the queue.
type Metric string

// The metrics of alarms, each the maximum of a period.
const (
	AgeMetric         Metric = "age"         // ApproximateAgeOfOldestMessage, seconds
	VisibleMetric     Metric = "visible"     // ApproximateNumberOfMessagesVisible
	InFlightMetric    Metric = "inFlight"    // ApproximateNumberOfMessagesNotVisible
	DeadLettersMetric Metric = "deadLetters" // ApproximateNumberOfMessagesVisible of the dead-letter queue
)

// Alarm is a CloudWatch alarm: it rings when Datapoints of the last Periods are beyond the threshold,
// and ends when they are not.
type Alarm struct {
	Name   string
	Metric Metric

	// Threshold is exceeded by a greater value, or with OrEqual by an equal one.
	Threshold float64
	OrEqual   bool

	// Period is whole minutes. Defaults to 1 min.
	Period time.Duration

	// Periods and Datapoints are 1 or more, Datapoints at most Periods. Periods defaults to 1, and
	// Datapoints to Periods.
	Periods, Datapoints int
}
