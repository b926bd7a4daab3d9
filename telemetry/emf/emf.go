// Package emf writes metrics in CloudWatch's Embedded Metric Format: lines of
// JSON on standard output, of which CloudWatch Logs makes metrics. It takes no
// call, no permission and no agent on Lambda, nor in a container whose output
// goes to CloudWatch Logs (ECS's awslogs driver).
//
//	func main() {
//		handler.RunWith(batch.JSON(shipOrder), handler.Config{
//			Hooks: []any{emf.New(emf.Options{Service: "orders"})},
//		})
//	}
//
// On Lambda there is a line for each invocation, written before the response,
// however long the invocation takes.
// In a container there is one for each queue and interval, whatever the number
// of records, and a last one at the stop; their metrics are of the time when the
// interval began. The metrics are those of package telemetry/metric;
// docs/observability/metrics.md says what each means. Their dimensions are Service and
// Queue; what has many values, such as the request id, is a property of the
// line, to be searched in Logs Insights.
//
// Nothing waits for the output, but for an invocation's last line, for 2 s at
// most. While the output is blocked, metrics are summed up for a later line; a
// line that cannot be written is dropped, and counted in the next one.
//
// Lambda does not drop the lines when it filters the log by level: above INFO
// (AWS_LAMBDA_LOG_LEVEL, with AWS_LAMBDA_LOG_FORMAT=JSON) they have that level.
//
// See "Specification: Embedded metric format" in the Amazon CloudWatch User
// Guide, and "Log-level filtering" in the AWS Lambda Developer Guide.
package emf

import (
	"cmp"
	"context"
	"io"
	"os"
	"sync"
	"time"

	"github.com/aws/aws-lambda-go/lambdacontext"
	"github.com/sqsbatch/sqsbatch/batch"
	"github.com/sqsbatch/sqsbatch/telemetry/internal/cwoptions"
	"github.com/sqsbatch/sqsbatch/telemetry/metric"
)

// Options change what is written. The zero value is good.
type Options struct {
	// Service is the dimension that tells functions apart. Defaults to the
	// function's name (AWS_LAMBDA_FUNCTION_NAME), or else the program's.
	Service string

	// Namespace has up to 255 characters. Defaults to "sqsbatch".
	Namespace string

	// Dimensions are further dimensions, the same for every metric, such as
	// {"Environment": "production"}: at most 28. Each value makes metrics of its
	// own, which cost by the month: nothing that changes with each deployment,
	// process or record. Defaults to none.
	Dimensions map[string]string

	// Properties are written with every line, and are no dimensions: such as
	// {"version": "1.2.3"}. Defaults to none beside what the platform tells:
	// functionName, functionVersion, requestId and coldStart on Lambda, hostname
	// elsewhere. There is no requestId where an environment has several
	// invocations at once (AWS_LAMBDA_MAX_CONCURRENCY). They and Dimensions have
	// 10,000 bytes, as JSON, at most.
	Properties map[string]string

	// Interval is the time between lines in a container, 1 s to 1 h. On Lambda each
	// invocation writes its own. Defaults to 1 min.
	Interval time.Duration

	// HighResolution stores the metrics by the second instead of by the minute
	// (StorageResolution 1), which pays with an Interval below a minute.
	// Defaults to false.
	HighResolution bool

	// Writer gets each line by one call of Write. Defaults to standard output.
	Writer io.Writer
}

// Hook is a hook of package batch that writes metrics. Make it with [New]. It
// is safe for concurrent use, and for several queues.
type Hook struct {
	*metric.Reporter
	opts   Options
	err    error // of the options
	doc    document
	lambda bool // not in a container
	alone  bool // with one invocation at a time
	torn   bool // a line was written in part

	mu          sync.Mutex
	dropped     int // documents, in all
	invocations int // since the last report
	requestID   string
	warm        bool // a batch was settled before
	cold        bool // the first batch was since the last report
}

// New returns a Hook. What is wrong with its options is told by
// [Hook.Validate], which package handler asks before anything is handled.
func New(o Options) *Hook {
	h := &Hook{err: o.validate()}
	o.setDefaults()
	h.opts = o
	h.doc.init(&h.opts)
	h.lambda = os.Getenv("AWS_LAMBDA_RUNTIME_API") != ""
	most := os.Getenv("AWS_LAMBDA_MAX_CONCURRENCY")
	h.alone = most == "" || most == "1"
	interval := o.Interval
	if h.lambda { // handler flushes at the end of each invocation
		interval = 0
	}
	h.Reporter = metric.NewReporter(interval, h.report)
	return h
}

func (o *Options) setDefaults() {
	o.Service = cwoptions.Service(o.Service)
	o.Namespace = cmp.Or(o.Namespace, cwoptions.Namespace)
	if o.Interval <= 0 {
		o.Interval = cwoptions.Interval
	}
	if o.Writer == nil {
		o.Writer = os.Stdout
	}
}

// BatchSettled implements [batch.BatchSettledHook].
func (h *Hook) BatchSettled(ctx context.Context, b batch.BatchInfo, results []batch.Result) {
	h.mu.Lock()
	h.invocations++
	h.cold = h.cold || !h.warm
	h.warm = true
	if lambda, ok := lambdacontext.FromContext(ctx); ok {
		h.requestID = lambda.AwsRequestID
	}
	h.mu.Unlock()
	h.Reporter.BatchSettled(ctx, b, results)
}

// Dropped counts the lines that could not be written.
func (h *Hook) Dropped() int {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.dropped
}

// report writes a line or more for each queue. Of invocations side by side it may
// have the calls of one and the batch of another.
func (h *Hook) report(ctx context.Context, a *metric.Aggregate) {
	h.mu.Lock()
	about := about{now: time.Now(), at: h.Period(ctx), dropped: h.dropped, cold: h.cold && h.lambda}
	if h.alone && h.invocations == 1 {
		about.requestID = h.requestID
	}
	h.invocations, h.requestID, h.cold = 0, "", false
	h.mu.Unlock()
	a.Take(func(queue string, s *metric.Summary) {
		h.doc.write(about, queue, s, h.line)
	})
}

// line writes a document. After a part of one, the next begins on its own line.
func (h *Hook) line(line []byte) {
	if h.torn {
		line = append([]byte{'\n'}, line...)
	}
	written := false
	defer func() { // also when Write panics
		if !written {
			h.mu.Lock()
			defer h.mu.Unlock()
			h.dropped++
		}
	}()
	torn := h.torn
	h.torn = true // as far as is known, should Write panic
	n, err := h.opts.Writer.Write(line)
	h.torn = n > 0 && n < len(line) || torn && n == 0
	written = err == nil && n == len(line)
}
