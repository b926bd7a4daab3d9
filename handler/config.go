package handler

import (
	"cmp"
	"log/slog"
	"net/http"
	"os"
	"path/filepath"
	"time"

	"github.com/aws/aws-lambda-go/lambda"
	"github.com/aws/aws-sdk-go-v2/service/sqs"
	"github.com/sqsbatch/sqsbatch/batch"
	"github.com/sqsbatch/sqsbatch/internal/hooks"
	"github.com/sqsbatch/sqsbatch/internal/settle"
	"github.com/sqsbatch/sqsbatch/partialfailure"
)

// Config configures how records are handled. The zero value is ready to use. A zero field
// takes its value from its environment variable, if that is set.
type Config struct {
	// Concurrency is the number of records of a batch handled at the same time, 1 to
	// 10,000. SQSBATCH_CONCURRENCY. Defaults to the number that the handler asks for
	// (package bulk does), or else to 10.
	Concurrency int

	// Reserve is the time kept back at the end of an invocation, in which failed records
	// are settled and the response is sent. It is never more than half of the remaining
	// time. SQSBATCH_RESERVE. Defaults to a tenth of the remaining time, but at least 200
	// ms, at most 2 s, and at most a quarter of the remaining time.
	Reserve time.Duration

	// RecordTimeout is the longest time that one record may take, up to 11 h 59 min.
	// SQSBATCH_RECORD_TIMEOUT. Defaults to the remaining time of the invocation. In a
	// container it defaults to 15 min; see longpoll.Config.
	RecordTimeout time.Duration

	// Deadline chooses how much of the remaining time each record gets: "whole"
	// (batch.WholeRemaining) or "fair" (batch.FairShare). SQSBATCH_DEADLINE_POLICY.
	// Defaults to whole.
	Deadline batch.Deadline

	// MinRemaining is the least remaining time with which a record is still started.
	// SQSBATCH_MIN_REMAINING. Defaults to the median duration of the batch's latest
	// successes, and at least 50 ms.
	MinRemaining time.Duration

	// Grace is how long a handler may still run after its context has ended. A handler that
	// runs longer is abandoned. SQSBATCH_GRACE. Defaults to 1 s; at the end of an
	// invocation it is at most a quarter of the reserve.
	Grace time.Duration

	// Outage is the longest outage of a dependency that records survive, 1 s to 7 h: if a
	// record fails every time, the waits between its attempts add up to at least Outage.
	// See partialfailure.Config. SQSBATCH_OUTAGE. Defaults to 15 min. It excludes Backoff.
	Outage time.Duration

	// Backoff decides when a failed record comes back, in place of Outage. SQSBATCH_BACKOFF
	// is "exponential" (with full jitter), "linear" or "constant". SQSBATCH_BACKOFF_BASE is
	// its first wait (2 s by default), SQSBATCH_BACKOFF_CAP its longest (15 min by
	// default). Defaults to none.
	Backoff partialfailure.Backoff

	// DeadLetterQueue is the URL or ARN of the queue for records that failed for good.
	// SQSBATCH_DEAD_LETTER_QUEUE. Defaults to the one in the source queue's RedrivePolicy,
	// which is read when it is first needed.
	DeadLetterQueue string

	// MaxReceiveCount is the maxReceiveCount of the source queue, 1 to 1,000. It has two
	// uses: to warn before SQS gives up on a record, and to dead-letter a FIFO record at
	// its last failure, so that its group can go on. If DeadLetterQueue is set, it has an
	// effect also if the queue has no RedrivePolicy. SQSBATCH_MAX_RECEIVE_COUNT. Defaults
	// to the one in the source queue's RedrivePolicy.
	MaxReceiveCount int

	// OnPermanent chooses what happens to records that failed for good: "dead-letter",
	// "retry" or "drop". SQSBATCH_ON_PERMANENT. Defaults to dead-letter. Without a
	// dead-letter queue, dead-letter does the same as retry.
	OnPermanent partialfailure.OnPermanent

	// OnMalformed chooses what happens to records that could not be decoded.
	// SQSBATCH_ON_MALFORMED. Defaults to OnPermanent.
	OnMalformed partialfailure.OnPermanent

	// Classify maps errors of the handler to verbs, so that the handler does not have to
	// import this module; see batch.Config. Defaults to none.
	Classify func(error) error

	// ErrorIfAllFail makes an invocation fail if all its records failed, so that Lambda
	// counts an error. The messages are kept in both cases. SQSBATCH_ERROR_IF_ALL_FAIL.
	// Defaults to false.
	ErrorIfAllFail bool

	// DeleteSucceeded is for event source mappings without ReportBatchItemFailures. If some
	// records failed, sqsbatch deletes those that succeeded and then fails the invocation,
	// so that Lambda keeps the others. SQSBATCH_DELETE_SUCCEEDED. Defaults to false.
	DeleteSucceeded bool

	// LogSucceeded adds a log line for each record that succeeded. SQSBATCH_LOG_SUCCEEDED.
	// Defaults to false.
	LogSucceeded bool

	// LogBodyBytes is the number of bytes of a failed record's body to log, up to 8,192.
	// Bodies are often confidential: check who can read the log. SQSBATCH_LOG_BODY_BYTES.
	// Defaults to 0: no body is logged.
	LogBodyBytes int

	// Logger gets a line for each batch and for each record that did not succeed. On Lambda
	// it defaults to the logger of aws-lambda-go, which follows AWS_LAMBDA_LOG_FORMAT and
	// AWS_LAMBDA_LOG_LEVEL. In a container it defaults to JSON with the same keys and the
	// same level, and to one summary of the batches per minute. Both write to standard
	// output.
	Logger *slog.Logger

	// Hooks observe batches, records and calls to SQS; see batch.BatchStartedHook. Defaults
	// to none. The log does not need any.
	Hooks []any

	// MaxHandlers limits how many records the whole process handles at the same time, 1 to
	// 10,000: of all queues together (see [Queues]), or of all invocations together, if
	// Lambda Managed Instances runs several at once. Concurrency, which is for each queue
	// or invocation, then defaults to MaxHandlers. SQSBATCH_MAX_HANDLERS. Defaults to no
	// limit.
	MaxHandlers int

	// StrictPriority gives a free slot of MaxHandlers to the queue with the highest
	// Queue.Weight that has records. A busy queue then starves the queues below it.
	// Defaults to false: each queue gets its share.
	StrictPriority bool

	// Other handles invocations of the same function that are not SQS events, such as
	// direct invocations, schedules or API Gateway. It gets the payload unchanged. Defaults
	// to none: such invocations fail. It has no effect in a container.
	Other lambda.Handler

	// SQS is the client. Defaults to a client configured by the environment, which is made
	// when it is first needed.
	SQS *sqs.Client

	// Poll configures long polling in a container, see [Poll].
	Poll PollConfig
}

// PollConfig is the part of the configuration that has an effect only in a container. Only
// Queues is required. See [longpoll.Config] for details of each field.
type PollConfig struct {
	// Queues are the URLs, ARNs or names of the queues to poll. Each queue has slots of its
	// own, and may be named only once. SQSBATCH_QUEUE_URL, separated by commas.
	Queues []string

	// Wait is how long a receive waits for messages, 1 s to 20 s. SQSBATCH_WAIT. Defaults
	// to 20 s.
	Wait time.Duration

	// Prefetch is the largest number of received records of a queue that wait for a slot;
	// -1 means none. SQSBATCH_PREFETCH. Defaults to 4 x Concurrency, but at most 320 or
	// Concurrency, whichever is more. For a FIFO queue it defaults to Concurrency. See
	// [longpoll.Config].
	Prefetch int

	// Visibility is the visibility timeout that a held record gets, and gets again with
	// each heartbeat. After a crash its records come back within this time.
	// SQSBATCH_VISIBILITY. Defaults to 1 min, or without heartbeats to the queue's own
	// visibility timeout.
	Visibility time.Duration

	// NoHeartbeat turns off the extension of visibility. SQSBATCH_HEARTBEAT=false. Defaults
	// to false.
	NoHeartbeat bool

	// UntilEmpty ends Run when the queues are empty, for jobs that a schedule starts: when
	// a long poll of each queue has returned nothing and no record is held. Records that
	// come back later are left to the next run. SQSBATCH_UNTIL_EMPTY. Defaults to false.
	UntilEmpty bool

	// DrainLimit is how long a stop waits for running handlers. SQSBATCH_DRAIN_LIMIT.
	// Defaults to 25 s less Grace, and at least 1 s. After DrainLimit, ending the handlers
	// takes up to Grace and settling up to 4 s; Amazon ECS and Kubernetes kill a container
	// after 30 s.
	DrainLimit time.Duration

	// MaxAbandoned is the number of abandoned handlers that may still be running. If there
	// are more, the process ends. SQSBATCH_MAX_ABANDONED. Defaults to Concurrency.
	MaxAbandoned int

	// HealthAddr is the address on which to serve /livez, /readyz and /statusz, such as
	// "127.0.0.1:8080", or ":8080" in a pod. SQSBATCH_HEALTH_ADDR. Defaults to none: they
	// are not served.
	//
	// All calls of Poll in a process with the same address share one listener until each
	// has returned. It reports healthy when all their queues are healthy. The command
	// cmd/livez, for health checks on Amazon ECS, reads only the variable: if you set this
	// field, pass the same address to livez as its argument.
	HealthAddr string

	// Handlers are served at HealthAddr, too, by their paths, such as "/metrics"
	// (telemetry/prometheus), until the drain is over. A handler has 5 s for its answer. If
	// several calls of Poll have the same path and HealthAddr, the handler of the call that
	// began first is used. Defaults to none.
	Handlers map[string]http.Handler
}

// engine returns the configuration of the engine.
func (c *Config) engine() batch.Config {
	return batch.Config{
		Concurrency:   c.Concurrency,
		Reserve:       c.Reserve,
		RecordTimeout: c.RecordTimeout,
		Deadline:      c.Deadline,
		MinRemaining:  c.MinRemaining,
		Grace:         c.Grace,
		Classify:      c.Classify,
		Hooks:         c.Hooks,
	}
}

// failures returns the configuration for failed records.
func (c *Config) failures() partialfailure.Config {
	return partialfailure.Config{
		Outage:          c.Outage,
		Backoff:         c.Backoff,
		DeadLetterQueue: c.DeadLetterQueue,
		MaxReceiveCount: c.MaxReceiveCount,
		OnPermanent:     c.OnPermanent,
		OnMalformed:     c.OnMalformed,
		Name:            cmp.Or(os.Getenv("AWS_LAMBDA_FUNCTION_NAME"), filepath.Base(os.Args[0])), // also the dimension Service of the metrics
	}
}

// settling returns the configuration for settling invocations.
func (c *Config) settling(set *hooks.Set) settle.Config {
	return settle.Config{Config: c.failures(), Client: c.client(), Hooks: set, DeleteIfOthersFail: c.DeleteSucceeded}
}
