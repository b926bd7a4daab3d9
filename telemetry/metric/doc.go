// Package metric has the list of all metrics, and turns the calls of batch's hooks into
// observations. It is for authors of adapters. To get metrics, use an adapter, such as
// telemetry/emf.
//
// A [Recorder] passes what its hooks observe to a [Sink]:
//
//	type sink struct{ … }
//
//	func (s *sink) Series(queue string) metric.Series { … }
//
//	recorder := metric.NewRecorder(&sink{})
//	handler.RunWith(h, handler.Config{Hooks: recorder.Hooks()})
//
// An adapter that adds up by itself, as Prometheus does, is a Sink. An adapter that sends
// reports has a [Reporter]: a Recorder with an [Aggregate] as its Sink. It calls a function
// after each interval, if it has one, and at a flush.
//
//	func Hooks() batch.Hooks {
//		return metric.NewReporter(time.Minute, func(ctx context.Context, a *metric.Aggregate) {
//			a.Take(func(queue string, s *metric.Summary) {
//				s.Counts(func(m *metric.Metric, value float64) { … })
//				s.Distributions(func(m *metric.Metric, v *metric.Values) { … })
//			})
//		}).Hooks()
//	}
//
// The dimensions are the service, which the adapter adds, and the queue's name: nothing
// with many values. Other systems use labels for the outcome or the operation. Here they
// are part of a metric's name (RecordsRetried), so that an invocation is one EMF document.
// Family, Label and Value of a [Metric] are for systems with labels.
//
// Read the files in this order: list.go (the metrics), recorder.go (where they come from),
// distribution.go (values and counts), aggregate.go, reporter.go.
package metric
