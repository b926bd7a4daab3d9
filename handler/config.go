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

// Config says how records are handled. The zero value is good. A field that is
// left zero is taken from its environment variable, if that is set.
type Config struct {
	// Concurrency is how many records of a batch are handled at a time, 1 to
	// 10,000. SQSBATCH_CONCURRENCY. Defaults to what the handler asks for (package
	// bulk does), and else to 10.
	Concurrency int

	// Reserve is the time kept back at the end of an invocation for settling
	// what failed and for the response, at most half of the remaining time.
	// SQSBATCH_RESERVE. Defaults to a tenth of the remaining time, between
	// 200 ms and 2 s and at most a quarter.
	Reserve time.Duration

	// RecordTimeout is the longest that one record may take, up to 11 h 59 min.
	// SQSBATCH_RECORD_TIMEOUT. Defaults to all that remains of the invocation; in
	// a container to 15 min, see longpoll.Config.
	RecordTimeout time.Duration

	// Deadline is how much of the remaining time a record is given: "whole"
	// (batch.WholeRemaining) or "fair" (batch.FairShare).
	// SQSBATCH_DEADLINE_POLICY. Defaults to whole.
	Deadline batch.Deadline

	// MinRemaining is the least time with which a record is still started.
	// SQSBATCH_MIN_REMAINING. Defaults to the median of the batch's latest
	// successes, and at least 50 ms.
	MinRemaining time.Duration

	// Grace is how long a handler may still run after the end of its context
	// before it is abandoned. SQSBATCH_GRACE. Defaults to 1 s; at the end of
	// an invocation at most a quarter of the reserve.
	Grace time.Duration

	// Outage is the longest outage of a dependency that records outlive, 1 s to 7 h:
	// the waits between the attempts of a record that fails every time add up to it at
	// least. See partialfailure.Config. SQSBATCH_OUTAGE. Defaults to 15 min. It
	// excludes Backoff.
	Outage time.Duration

	// Backoff decides when a failed record comes back, in place of Outage.
	// SQSBATCH_BACKOFF is "exponential" (with full jitter), "linear" or "constant",
	// SQSBATCH_BACKOFF_BASE its first step (2 s by default) and SQSBATCH_BACKOFF_CAP
	// its longest (15 min). Defaults to none.
	Backoff partialfailure.Backoff

	// DeadLetterQueue is the URL or ARN of the queue for records that failed
	// for good. SQSBATCH_DEAD_LETTER_QUEUE. Defaults to the one in the source
	// queue's RedrivePolicy, asked for once it is needed.
	DeadLetterQueue string

	// MaxReceiveCount is the source queue's, 1 to 1,000, to warn before SQS
	// gives up on a record, and to dead-letter a FIFO record that fails for the
	// last time while its group waits; if DeadLetterQueue is set, also where the
	// queue has no RedrivePolicy. SQSBATCH_MAX_RECEIVE_COUNT. Defaults to the
	// one in the source queue's RedrivePolicy.
	MaxReceiveCount int

	// OnPermanent says what becomes of records that failed for good:
	// "dead-letter", "retry" or "drop". SQSBATCH_ON_PERMANENT. Defaults to
	// dead-letter; without a dead-letter queue that is retry.
	OnPermanent partialfailure.OnPermanent

	// OnMalformed is OnPermanent for records that could not be decoded.
	// SQSBATCH_ON_MALFORMED. Defaults to OnPermanent.
	OnMalformed partialfailure.OnPermanent

	// Classify says what errors of the handler mean, so that it needs to know
	// nothing of this module; see batch.Config. Defaults to none.
	Classify func(error) error

	// ErrorIfAllFail makes an invocation fail in which no record was done, so
	// that Lambda counts an error. The messages are kept either way.
	// SQSBATCH_ERROR_IF_ALL_FAIL. Defaults to false.
	ErrorIfAllFail bool

	// DeleteSucceeded is for event source mappings without
	// ReportBatchItemFailures: when records failed, those that succeeded are
	// deleted, and the invocation fails so that the others are kept.
	// SQSBATCH_DELETE_SUCCEEDED. Defaults to false.
	DeleteSucceeded bool

	// LogSucceeded logs a line for each record that succeeded, too.
	// SQSBATCH_LOG_SUCCEEDED. Defaults to false.
	LogSucceeded bool

	// LogBodyBytes logs the first bytes of the bodies of records that failed,
	// up to 8,192. Bodies are often secret: mind who reads the log.
	// SQSBATCH_LOG_BODY_BYTES. Defaults to 0: no body is logged.
	LogBodyBytes int

	// Logger gets a line for each batch and each record that did not succeed.
	// Defaults to aws-lambda-go's, which heeds AWS_LAMBDA_LOG_FORMAT and
	// AWS_LAMBDA_LOG_LEVEL, in a container to JSON with the same keys, which heeds
	// the level; there batches are summed up once a minute. Both write to standard
	// output.
	Logger *slog.Logger

	// Hooks are told what happens, see batch.BatchStartedHook. Defaults to
	// none; the log does not depend on them.
	Hooks []any

	// MaxHandlers bounds how many records are handled at a time by the whole process:
	// of all queues together (see [Queues]), or of all invocations, where Lambda Managed
	// Instances runs several at a time. 1 to 10,000. Concurrency, which is for each queue or
	// invocation, then defaults to it. SQSBATCH_MAX_HANDLERS. Defaults to no bound.
	MaxHandlers int

	// StrictPriority gives a slot of MaxHandlers to the queue with the highest
	// Queue.Weight of those that have records: a busy one then starves those below it.
	// Defaults to false: each gets its part.
	StrictPriority bool

	// Other handles the invocations of the same function that are no SQS events: direct
	// ones, a schedule's, those of API Gateway. It gets the payload as it is. Defaults to
	// none: they fail. It has no effect in a container.
	Other lambda.Handler

	// SQS is the client. Defaults to one from the environment, made when first
	// needed.
	SQS *sqs.Client

	// Poll is for running in a container, see [Poll].
	Poll PollConfig
}

// PollConfig is the part of the configuration that only counts in a container.
// The zero value is good, but for Queues. See [longpoll.Config] for what each means.
type PollConfig struct {
	// Queues are the URLs, ARNs or names of the queues to poll, side by side, each
	// with slots of its own and none of them twice. SQSBATCH_QUEUE_URL, separated by commas.
	Queues []string

	// Wait is how long a receive waits for messages, 1 s to 20 s.
	// SQSBATCH_WAIT. Defaults to 20 s.
	Wait time.Duration

	// Prefetch bounds the records of a queue that wait for a slot; -1 means
	// none. SQSBATCH_PREFETCH. Defaults to 4 x Concurrency, at most 320 or
	// Concurrency, or on FIFO queues to Concurrency; see [longpoll.Config].
	Prefetch int

	// Visibility is for how long a record is hidden from others, at a time: what
	// a crash costs. SQSBATCH_VISIBILITY. Defaults to 1 min, or without
	// heartbeats to the queue's own visibility timeout.
	Visibility time.Duration

	// NoHeartbeat extends no visibility. SQSBATCH_HEARTBEAT=false. Defaults to false.
	NoHeartbeat bool

	// UntilEmpty ends Run when a long poll of each queue has brought nothing, while no
	// record is held here: for jobs that a schedule starts. Records that come back later
	// are left to the next run. SQSBATCH_UNTIL_EMPTY. Defaults to false.
	UntilEmpty bool

	// DrainLimit is how long a stop waits for what runs. SQSBATCH_DRAIN_LIMIT.
	// Defaults to 25 s less Grace, and at least 1 s: ending what still runs takes
	// the grace and settling 4 s, and Amazon ECS and Kubernetes kill after 30 s.
	DrainLimit time.Duration

	// MaxAbandoned is how many handlers may be running that were given up before
	// the process ends. SQSBATCH_MAX_ABANDONED. Defaults to Concurrency.
	MaxAbandoned int

	// HealthAddr is where to serve /livez, /readyz and /statusz, such as
	// "127.0.0.1:8080", or ":8080" in a pod. SQSBATCH_HEALTH_ADDR. Defaults to nowhere.
	// All calls of Poll in a process that name the same address share one listener,
	// and are healthy when all their queues are, until each has returned.
	// A health check by command (cmd/livez, on Amazon ECS) knows only the
	// variable: where this is set, give it the same address as its argument.
	HealthAddr string

	// Handlers are served at HealthAddr, too, by their paths, such as "/metrics"
	// (telemetry/prometheus), until everything was drained. They have 5 s for an
	// answer. Of several calls of Poll with the same path and HealthAddr, the one
	// that began first serves it. Defaults to none.
	Handlers map[string]http.Handler
}

// engine is the part of the configuration that batch has to know.
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

// failures is the part of the configuration that partialfailure has to know.
func (c *Config) failures() partialfailure.Config {
	return partialfailure.Config{
		Outage:          c.Outage,
		Backoff:         c.Backoff,
		DeadLetterQueue: c.DeadLetterQueue,
		MaxReceiveCount: c.MaxReceiveCount,
		OnPermanent:     c.OnPermanent,
		OnMalformed:     c.OnMalformed,
		Name:            cmp.Or(os.Getenv("AWS_LAMBDA_FUNCTION_NAME"), filepath.Base(os.Args[0])), // as the metrics' dimension Service
	}
}

// settling is how invocations are settled.
func (c *Config) settling(set *hooks.Set) settle.Config {
	return settle.Config{Config: c.failures(), Client: c.client(), Hooks: set, DeleteIfOthersFail: c.DeleteSucceeded}
}
