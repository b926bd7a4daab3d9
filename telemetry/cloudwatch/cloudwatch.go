// Package cloudwatch sends metrics to CloudWatch with PutMetricData. It is for containers
// whose output does not reach CloudWatch Logs: on Kubernetes, with another log driver, or
// on a machine of your own.
//
//	func main() {
//		handler.RunWith(batch.JSON(shipOrder), handler.Config{
//			Hooks: cloudwatch.New(cloudwatch.Config{Service: "orders"}).Hooks(),
//		})
//	}
//
// The metrics, their names and dimensions are those of package telemetry/emf;
// docs/observability/metrics.md explains each. They are added up and sent once a minute,
// whatever the number of records, and at the stop. Distributions are sent as values and
// counts, so that percentiles work. The role needs cloudwatch:PutMetricData.
//
// No record waits for CloudWatch. Data that cannot be sent is kept and sent later, in fewer
// calls. Up to 4 MB are kept: hours of a queue, at one report a minute. Beyond that the
// oldest data is dropped, counted ([Exporter.Dropped]), and reported as a warning. A call whose
// answer is lost is repeated, and then counts twice.
//
// The package also works on Lambda, but telemetry/emf is better there. It writes a line,
// while this package makes a call at the end of each invocation, which takes time, costs
// money, and needs a permission and a network path to CloudWatch.
//
// See PutMetricData and MetricDatum in the Amazon CloudWatch API Reference.
package cloudwatch

import (
	"cmp"
	"context"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/cloudwatch"
	"github.com/sqsbatch/sqsbatch/batch"
	producer "github.com/sqsbatch/sqsbatch/sender"
	adapter "github.com/sqsbatch/sqsbatch/telemetry/internal"
	"github.com/sqsbatch/sqsbatch/telemetry/log"
	"github.com/sqsbatch/sqsbatch/telemetry/metric"
)

// Config configures [New]. The zero value is ready to use.
type Config struct {
	// Service is the dimension that identifies the program. All tasks of a service have the
	// same. Defaults to the function's name (AWS_LAMBDA_FUNCTION_NAME), or else the
	// program's name.
	Service string

	// Namespace is the metrics' namespace, up to 255 characters. Defaults to "sqsbatch".
	Namespace string

	// Dimensions are further dimensions of every metric, such as {"Environment":
	// "production"}, at most 28. Each new value creates new metrics, which are billed by
	// the month. So do not use values that change with each deployment, task or record.
	// Defaults to none.
	Dimensions map[string]string

	// Interval is the period over which metrics are added up, 1 s to 1 h. Periods begin at
	// whole multiples of it. Each period costs a call. Defaults to 1 min.
	Interval time.Duration

	// HighResolution stores the metrics by the second instead of by the minute
	// (StorageResolution 1). It is useful with an Interval below a minute. Defaults to
	// false.
	HighResolution bool

	// Client makes the calls, without retries of its own, since this package retries.
	// Defaults to a client configured by the environment (AWS_REGION,
	// AWS_ENDPOINT_URL_CLOUDWATCH, the role's credentials), which is made at the first
	// call.
	Client *cloudwatch.Client

	// Warned is called when CloudWatch refuses calls or does not answer, and when data is
	// dropped: the first time, and then each hour while the problem lasts. Defaults to lines
	// in slog.Default(), in the format of package telemetry/log.
	Warned func(ctx context.Context, w batch.Warning)
}

// Exporter sends metrics to CloudWatch, see [Exporter.Hooks]. Make one with [New]. It is safe
// for concurrent use, and for several queues.
type Exporter struct {
	reporter *metric.Reporter
	opts     Config
	err      error // of the options
	data     data
	sender   sender
}

// New returns an Exporter. Its hooks' Validate reports mistakes in the configuration; package
// handler calls it at the start.
func New(o Config) *Exporter {
	h := &Exporter{err: o.validate()}
	o.setDefaults()
	h.opts = o
	h.data.init(&h.opts)
	h.sender.init(&h.opts, h.warn)
	h.reporter = metric.NewReporter(o.Interval, h.report)
	return h
}

func (o *Config) setDefaults() {
	o.Service = adapter.Service(o.Service)
	o.Namespace = cmp.Or(o.Namespace, adapter.Namespace)
	if o.Interval < time.Second {
		o.Interval = adapter.Interval
	}
	if o.Warned == nil {
		o.Warned = log.New(nil, log.Config{}).Warned
	}
}

// Dropped returns the number of dropped data (one metric in one period each): because there
// were too many, or because CloudWatch refused them for good.
func (h *Exporter) Dropped() int {
	h.sender.mu.Lock()
	defer h.sender.mu.Unlock()
	return h.sender.dropped
}

// warn counts a warning and passes it to Config.Warned. It recovers from a panic, since no
// caller does.
func (h *Exporter) warn(w batch.Warning) {
	defer func() { _ = recover() }()
	ctx := context.Background()
	h.reporter.Hooks().Warned(ctx, w)
	h.opts.Warned(ctx, w)
}

// SenderCalled is for sender.Config.OnCall. It measures a call of package sender.
func (h *Exporter) SenderCalled(c producer.Call) { h.reporter.SenderCalled(c) }

// Hooks returns hooks for handler.Config.Hooks. Their Flush sends all metrics so far. On
// Lambda, after failures, Flush waits for at most one more call, or for none if the next try is
// not due.
func (h *Exporter) Hooks() batch.Hooks {
	all := h.reporter.Hooks()
	flush := all.Flush
	all.Flush = func(ctx context.Context) {
		flush(ctx)
		h.sender.flush(ctx)
	}
	all.Validate = func() error { return h.err }
	return all
}

func (h *Exporter) report(ctx context.Context, a *metric.Aggregate) {
	h.sender.add(h.data.of(h.reporter.Period(ctx), a))
}

const maxName = 255 // of a dimension

// validate returns an error that names every option whose value is out of its bounds, see
// Dimension and PutMetricData in the CloudWatch API reference.
func (o *Config) validate() error {
	names := adapter.Names{Service: o.Service, Namespace: o.Namespace, Dimensions: o.Dimensions, Interval: o.Interval}
	return names.Validate("cloudwatch", maxName, func(name string) bool { return name == "Service" || name == "Queue" })
}
