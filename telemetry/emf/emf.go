// Package emf writes metrics in CloudWatch's Embedded Metric Format: lines of JSON on
// standard output, from which CloudWatch Logs makes metrics. It needs no call, no
// permission and no agent. It works on Lambda, and in a container whose output goes to
// CloudWatch Logs (the awslogs driver of Amazon ECS).
//
//	func main() {
//		handler.RunWith(batch.JSON(shipOrder), handler.Config{
//			Hooks: emf.New(emf.Config{Service: "orders"}).Hooks(),
//		})
//	}
//
// On Lambda there is one line for each invocation, written before the response. In a
// container there is one line for each queue and interval, whatever the number of records,
// and a last one at the stop. The time of its metrics is the beginning of the interval.
//
// The metrics are those of package telemetry/metric; docs/observability/metrics.md explains
// each. Their dimensions are Service and Queue. Data with many values, such as the request
// id, is a property of the line, which Logs Insights can search.
//
// No record waits for the output. Only the end of an invocation waits for its last line,
// for 2 s at most. While the output is blocked, metrics are added up for a later line. A
// line that cannot be written is dropped, and the next line counts it.
//
// Lambda's log filter does not drop these lines. If the level is above INFO
// (AWS_LAMBDA_LOG_LEVEL, with AWS_LAMBDA_LOG_FORMAT=JSON), the lines have that level.
//
// See "Specification: Embedded metric format" in the Amazon CloudWatch User Guide, and
// "Log-level filtering" in the AWS Lambda Developer Guide.
package emf

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"slices"
	"sync"
	"time"

	"github.com/aws/aws-lambda-go/lambdacontext"
	"github.com/sqsbatch/sqsbatch/batch"
	"github.com/sqsbatch/sqsbatch/sender"
	adapter "github.com/sqsbatch/sqsbatch/telemetry/internal"
	"github.com/sqsbatch/sqsbatch/telemetry/metric"
)

// Config configures [New]. The zero value is ready to use.
type Config struct {
	// Service is the dimension that identifies the function. Defaults to the function's
	// name (AWS_LAMBDA_FUNCTION_NAME), or else the program's name.
	Service string

	// Namespace is the metrics' namespace, up to 255 characters. Defaults to "sqsbatch".
	Namespace string

	// Dimensions are further dimensions of every metric, such as {"Environment":
	// "production"}, at most 28. Each new value creates new metrics, which are billed by
	// the month. So do not use values that change with each deployment, process or record.
	// Defaults to none.
	Dimensions map[string]string

	// Properties are members of every line that are not dimensions, such as {"version":
	// "1.2.3"}. Defaults to none.
	//
	// Some properties are always written: functionName, functionVersion, requestId and
	// coldStart on Lambda, hostname elsewhere. requestId is left out if an environment runs
	// several invocations at once (AWS_LAMBDA_MAX_CONCURRENCY). All properties and
	// Dimensions together have at most 10,000 bytes as JSON.
	Properties map[string]string

	// Interval is the time between lines in a container, 1 s to 1 h. On Lambda each
	// invocation writes its own line. Defaults to 1 min.
	Interval time.Duration

	// HighResolution stores the metrics by the second instead of by the minute
	// (StorageResolution 1). It is useful with an Interval below a minute. Defaults to
	// false.
	HighResolution bool

	// Writer gets each line in one call of Write. Defaults to standard output.
	Writer io.Writer
}

// Exporter writes metrics, see [Exporter.Hooks]. Make one with [New]. It is safe for concurrent
// use, and for several queues.
type Exporter struct {
	reporter *metric.Reporter
	opts     Config
	err      error // of the options
	docs     *documents
	lambda   bool // on Lambda rather than in a container
	alone    bool // one invocation at a time
	torn     bool // only a part of a line was written

	mu          sync.Mutex
	dropped     int // documents, in total
	invocations int // since the last report
	requestID   string
	warm        bool // a batch was settled before
	cold        bool // the first batch was settled since the last report
}

// New returns an Exporter. Its hooks' Validate reports mistakes in the configuration; package
// handler calls it at the start.
func New(o Config) *Exporter {
	h := &Exporter{err: o.validate()}
	o.setDefaults()
	h.opts, h.docs = o, newDocuments(&o)
	h.lambda = os.Getenv("AWS_LAMBDA_RUNTIME_API") != ""
	most := os.Getenv("AWS_LAMBDA_MAX_CONCURRENCY")
	h.alone = most == "" || most == "1"
	interval := o.Interval
	if h.lambda { // package handler flushes at the end of each invocation
		interval = 0
	}
	h.reporter = metric.NewReporter(interval, h.report)
	return h
}

func (o *Config) setDefaults() {
	o.Service = adapter.Service(o.Service)
	o.Namespace = cmp.Or(o.Namespace, adapter.Namespace)
	if o.Interval <= 0 {
		o.Interval = adapter.Interval
	}
	if o.Writer == nil {
		o.Writer = os.Stdout
	}
}

// SenderCalled is for sender.Config.OnCall. It measures a call of package sender.
func (h *Exporter) SenderCalled(c sender.Call) { h.reporter.SenderCalled(c) }

// Hooks returns hooks for handler.Config.Hooks.
func (h *Exporter) Hooks() batch.Hooks {
	all := h.reporter.Hooks()
	settled := all.BatchSettled
	all.BatchSettled = func(ctx context.Context, b batch.BatchInfo, results []batch.Result) {
		h.mu.Lock()
		h.invocations++
		h.cold = h.cold || !h.warm
		h.warm = true
		if lambda, ok := lambdacontext.FromContext(ctx); ok {
			h.requestID = lambda.AwsRequestID
		}
		h.mu.Unlock()
		settled(ctx, b, results)
	}
	all.Validate = func() error { return h.err }
	return all
}

// Dropped returns the number of lines that could not be written.
func (h *Exporter) Dropped() int {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.dropped
}

// report writes one or more lines for each queue. If invocations run at the same time, a
// report may have the calls of one and the batch of another.
func (h *Exporter) report(ctx context.Context, a *metric.Aggregate) {
	h.mu.Lock()
	about := about{now: time.Now(), at: h.reporter.Period(ctx), dropped: h.dropped, cold: h.cold && h.lambda}
	if h.alone && h.invocations == 1 {
		about.requestID = h.requestID
	}
	h.invocations, h.requestID, h.cold = 0, "", false
	h.mu.Unlock()
	a.Take(func(queue string, s *metric.Summary) {
		h.docs.write(about, queue, s, h.line)
	})
}

// line writes a document. If only a part of a line was written, the next one begins on a
// new line.
func (h *Exporter) line(line []byte) {
	if h.torn {
		line = append([]byte{'\n'}, line...)
	}
	written := false
	defer func() { // even if Write panics
		if !written {
			h.mu.Lock()
			defer h.mu.Unlock()
			h.dropped++
		}
	}()
	torn := h.torn
	h.torn = true // until Write returns: it may panic
	n, err := h.opts.Writer.Write(line)
	h.torn = n > 0 && n < len(line) || torn && n == 0
	written = err == nil && n == len(line)
}

const (
	maxName     = 250    // of a dimension
	maxConstant = 10_000 // bytes, as JSON, of the members of every line
)

// validate returns an error that names every option whose value is out of its bounds, see
// Dimension and PutMetricData in the CloudWatch API reference.
func (o *Config) validate() error {
	names := adapter.Names{Service: o.Service, Namespace: o.Namespace, Dimensions: o.Dimensions, Interval: o.Interval}
	errs := []error{names.Validate("emf", maxName, taken)}
	for name := range o.Properties {
		if _, twice := o.Dimensions[name]; name == "" || twice || taken(name) {
			errs = append(errs, fmt.Errorf("emf: Properties has %q, which is empty or has a meaning already", name))
		}
	}
	members := map[string]string{}
	maps.Copy(members, o.Dimensions)
	maps.Copy(members, o.Properties)
	if size := len(appendMembers(nil, members)) - len(","); size > maxConstant {
		errs = append(errs, fmt.Errorf("emf: Dimensions and Properties have %d bytes, must be at most %d, since they are in every line", size, maxConstant))
	}
	return errors.Join(errs...)
}

// taken reports whether a line already has a member with a name, in upper or lower case.
func taken(name string) bool {
	own := []string{"_aws", "Service", "Queue", "functionName", "functionVersion", "requestId", "coldStart", "hostname", "droppedLines", "timestamp", "level"}
	return slices.Contains(own, name) || metric.ByName(name) != nil
}
