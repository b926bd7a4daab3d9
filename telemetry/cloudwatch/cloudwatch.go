// Package cloudwatch puts metrics into CloudWatch by PutMetricData, for
// containers whose output does not reach CloudWatch Logs: Kubernetes, a log
// driver that is not AWS's, a machine of your own.
//
//	func main() {
//		handler.RunWith(batch.JSON(shipOrder), handler.Config{
//			Hooks: []any{cloudwatch.New(cloudwatch.Options{Service: "orders"})},
//		})
//	}
//
// The metrics, their names and dimensions are those of package telemetry/emf:
// docs/observability/metrics.md says what each means. They are summed up and put once a
// minute, whatever the number of records, and a last time at the stop.
// Distributions are put as values and counts, so that percentiles work. The role
// needs cloudwatch:PutMetricData.
//
// No record waits for CloudWatch. What cannot be put is kept, up to 4 MB of it
// (at a minute, hours of a queue), and put later, by fewer calls; of more, the
// oldest is dropped, counted ([Hook.Dropped]) and warned of. A call whose answer
// is lost is made again, and then counts twice.
//
// On Lambda it works as well, but telemetry/emf is better there: it writes a
// line, where this package makes a call at the end of each invocation, which
// takes time and money, and needs a permission and a way to CloudWatch.
//
// See PutMetricData and MetricDatum in the Amazon CloudWatch API Reference.
package cloudwatch

import (
	"cmp"
	"context"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/cloudwatch"
	"github.com/sqsbatch/sqsbatch/batch"
	"github.com/sqsbatch/sqsbatch/telemetry/internal/cwoptions"
	"github.com/sqsbatch/sqsbatch/telemetry/log"
	"github.com/sqsbatch/sqsbatch/telemetry/metric"
)

// Options change what is put, and how. The zero value is good.
type Options struct {
	// Service is the dimension that tells programs apart. All tasks of a service
	// have the same. Defaults to the function's name
	// (AWS_LAMBDA_FUNCTION_NAME), or else the program's.
	Service string

	// Namespace has up to 255 characters. Defaults to "sqsbatch".
	Namespace string

	// Dimensions are further dimensions, the same for every metric, such as
	// {"Environment": "production"}: at most 28. Each value makes metrics of its
	// own, which cost by the month: nothing that changes with each deployment,
	// task or record. Defaults to none.
	Dimensions map[string]string

	// Interval is what is summed up, 1 s to 1 h: periods that begin at whole
	// multiples of it. Each costs a call. Defaults to 1 min.
	Interval time.Duration

	// HighResolution stores the metrics by the second instead of by the minute
	// (StorageResolution 1), which pays with an Interval below a minute.
	// Defaults to false.
	HighResolution bool

	// Client makes the calls. Defaults to one by the environment, which is made
	// at the first call: AWS_REGION, AWS_ENDPOINT_URL_CLOUDWATCH, the role's
	// credentials. Package cloudwatch tries again by itself: the client's own
	// retries are off.
	Client *cloudwatch.Client

	// Warnings is told when CloudWatch refuses or does not answer, and when data
	// is dropped, once and then each hour that it lasts. Defaults to lines in
	// slog.Default(), as package telemetry/log writes them.
	Warnings batch.WarningHook
}

// Hook is a hook of package batch that puts metrics. Make it with [New]. It is
// safe for concurrent use, and for several queues.
type Hook struct {
	*metric.Reporter
	opts   Options
	err    error // of the options
	data   data
	sender sender
}

// New returns a Hook. What is wrong with its options is told by
// [Hook.Validate], which package handler asks before anything is handled.
func New(o Options) *Hook {
	h := &Hook{err: o.validate()}
	o.setDefaults()
	h.opts = o
	h.data.init(&h.opts)
	h.sender.init(&h.opts, h.warn)
	h.Reporter = metric.NewReporter(o.Interval, h.report)
	return h
}

func (o *Options) setDefaults() {
	o.Service = cwoptions.Service(o.Service)
	o.Namespace = cmp.Or(o.Namespace, cwoptions.Namespace)
	if o.Interval < time.Second {
		o.Interval = cwoptions.Interval
	}
	if o.Warnings == nil {
		o.Warnings = log.New(nil, log.Options{})
	}
}

// Dropped counts the data, each a metric's in a period, that were given up:
// because too much came together, or because CloudWatch refused them for good.
func (h *Hook) Dropped() int {
	h.sender.mu.Lock()
	defer h.sender.mu.Unlock()
	return h.sender.dropped
}

// warn tells of a warning, and counts it as any other. It is called beside the
// records, where nobody else contains a panic.
func (h *Hook) warn(w batch.Warning) {
	defer func() { _ = recover() }()
	ctx := context.Background()
	h.Warned(ctx, w)
	h.opts.Warnings.Warned(ctx, w)
}

// Flush puts what has come together, see [batch.FlushHook]. On Lambda, after
// failures, it waits for one more call at most, or for none before its time.
func (h *Hook) Flush(ctx context.Context) {
	h.Reporter.Flush(ctx)
	h.sender.flush(ctx)
}

// report hands on what was observed in a period.
func (h *Hook) report(ctx context.Context, a *metric.Aggregate) {
	h.sender.add(h.data.of(h.Period(ctx), a))
}
