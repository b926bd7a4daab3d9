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
	"github.com/sqsbatch/sqsbatch/internal/runner"
	"github.com/sqsbatch/sqsbatch/internal/settle"
	"github.com/sqsbatch/sqsbatch/partialfailure"
)

// Config configures how records are handled. The zero value is ready to use. A zero field
// takes its value from its environment variable, if that is set.
type Config struct {
	// Concurrency is the largest number of records handled at the same time, 1 to 10,000: in
	// a container of all queues together, on Lambda of the batch, or of all batches if Lambda
	// Managed Instances runs several invocations in one process. SQSBATCH_CONCURRENCY.
	// Defaults, for each queue and each batch, to the number that the handler asks for
	// (package bulk does), or else to 10.
	Concurrency int

	// Reserve is the time kept back at the end of an invocation, in which failed records
	// are settled and the response is sent. It is never more than half of the remaining
	// time. SQSBATCH_RESERVE. Defaults to a tenth of the remaining time, but at least 200
	// ms, at most 2 s, and at most a quarter of the remaining time.
	Reserve time.Duration

	// RecordTimeout is the longest time for one record, up to 11 h 59 min, since SQS limits
	// the visibility timeout to 12 h. If the handler still runs Grace after that, it is
	// abandoned and the next record takes its slot. SQSBATCH_RECORD_TIMEOUT. Defaults to the
	// time that remains to the cutoff of the invocation, and in a container to 15 min, the
	// longest time of a Lambda invocation. Exception: at its last attempt, a FIFO record with
	// others behind it leaves time for them.
	RecordTimeout time.Duration

	// MinRemaining is the shortest remaining time in which a record is still started.
	// SQSBATCH_MIN_REMAINING. Defaults to the median duration of the batch's latest
	// successes, and at least 50 ms.
	MinRemaining time.Duration

	// Grace is how long a handler may still run after its context has ended. A handler that
	// runs longer is abandoned. SQSBATCH_GRACE. Defaults to 1 s; at the end of an
	// invocation it is at most a quarter of the reserve.
	Grace time.Duration

	// Failures configures what happens to records that fail.
	Failures partialfailure.Config

	// Classify maps an error of the handler to a verb, so that the handler does not have to
	// import this module. It returns the error unchanged, or wrapped by [batch.Permanent],
	// [batch.RetryAfter] or [batch.Abort]. If it returns nil, the error is unchanged.
	//
	// Classify is not called for an error that already has a verb, for a panic, or for the
	// end of the record's own context. It is called from several goroutines at the same
	// time. Defaults to none. [batch.FirstOf] combines several; package classify/httpstatus
	// has one for HTTP clients.
	Classify func(error) error

	// ErrorIfAllFail makes an invocation fail if all its records failed, so that Lambda
	// counts an error. The messages are kept in both cases. SQSBATCH_ERROR_IF_ALL_FAIL.
	// Defaults to false.
	ErrorIfAllFail bool

	// NoReportBatchItemFailures is for event source mappings whose FunctionResponseTypes does
	// not have ReportBatchItemFailures: they ignore the report, and delete failed messages.
	// If some records failed, sqsbatch then deletes those that succeeded and fails the
	// invocation, so that Lambda keeps the others. Mappings with ReportBatchItemFailures do
	// not need it. SQSBATCH_DELETE_SUCCEEDED. Defaults to false.
	NoReportBatchItemFailures bool

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

	// Hooks observe batches, records and calls to SQS. Defaults to none. The log does not
	// need any.
	Hooks batch.Hooks

	// Other handles invocations of the same function that are not SQS events, such as
	// direct invocations, schedules or API Gateway. It gets the payload unchanged. Defaults
	// to none: such invocations fail. It has no effect in a container.
	Other lambda.Handler

	// SQS is the client. Defaults to a client configured by the environment, which is made at
	// the first call.
	SQS *sqs.Client

	// Poll configures long polling in a container, see [Poll].
	Poll PollConfig
}

// PollConfig is the part of the configuration that has an effect only in a container. Only
// Queues is required.
type PollConfig struct {
	// Queues are the URLs, ARNs or names of the queues to poll; a name needs the permission
	// sqs:GetQueueUrl. Each may be named only once. SQSBATCH_QUEUE_URL, separated by commas.
	Queues []string

	// Wait is how long a receive waits for messages, 1 s to 20 s. SQSBATCH_WAIT. Defaults
	// to 20 s.
	Wait time.Duration

	// Prefetch is the largest number of received records of a queue that wait to be handled;
	// -1 means none. Prefetching adapts to how fast records are handled, so that a slow worker
	// does not hoard messages that others could take: at most as many records wait as were
	// handled in the last second, up to Concurrency, or in the last 100 ms if that is more.
	// SQSBATCH_PREFETCH. Defaults to 4 x Concurrency, but at most to 320 or Concurrency,
	// whichever is more. For a FIFO queue it defaults to Concurrency. The default is at least
	// 10.
	Prefetch int

	// Visibility is the visibility timeout of a received record, to which each heartbeat
	// extends it again, in whole seconds from 3 s to 12 h. After a crash, records come back
	// within this time. SQSBATCH_VISIBILITY. Defaults to 1 min, since the queue's own
	// visibility timeout may be chosen for Lambda: six times the function's timeout.
	Visibility time.Duration

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
	// The command cmd/livez, for health checks on Amazon ECS, reads only the variable: if you
	// set this field, pass the same address to livez as its argument.
	HealthAddr string

	// Handlers are served at HealthAddr, too, by their paths, such as "/metrics"
	// (telemetry/prometheus), until the drain is over. A handler has 5 s for its answer.
	// Defaults to none.
	Handlers map[string]http.Handler
}

// engine returns the configuration of the engine for a queue.
func (c *Config) engine(q Queue) runner.Config {
	return runner.Config{
		Concurrency:   cmp.Or(q.Concurrency, c.Concurrency),
		Reserve:       c.Reserve,
		RecordTimeout: c.RecordTimeout,
		MinRemaining:  c.MinRemaining,
		Grace:         c.Grace,
		Classify:      c.Classify,
	}
}

// failures returns the configuration for failed records.
func (c *Config) failures() partialfailure.Config {
	f := c.Failures
	f.Name = cmp.Or(f.Name, os.Getenv("AWS_LAMBDA_FUNCTION_NAME"), filepath.Base(os.Args[0])) // also the dimension Service of the metrics
	return f
}

// settling returns the configuration for settling invocations.
func (c *Config) settling(set *hooks.Set) settle.Config {
	return settle.Config{Config: c.failures(), Client: c.client(), Hooks: set, DeleteIfOthersFail: c.NoReportBatchItemFailures}
}
