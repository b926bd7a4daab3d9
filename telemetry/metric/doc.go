// Package metric has the one list of metrics that every adapter, dashboard and
// document is made of, and turns what batch's hooks are told into observations.
// It is what adapters are built on; to have metrics, use one of them, such as
// telemetry/emf.
//
// A [Recorder] is a hook that passes observations to a [Sink]:
//
//	type sink struct{ … }
//
//	func (s *sink) Series(queue string) metric.Series { … }
//
//	hook := metric.NewRecorder(&sink{})
//	handler.RunWith(h, handler.Config{Hooks: []any{hook}})
//
// An adapter that keeps sums by itself, as Prometheus does, is a Sink. One that
// sends what has come together embeds a [Reporter]: a Recorder whose Sink is an
// [Aggregate], and which calls a function each interval, if it has one, and at a
// flush.
//
//	type Hook struct{ *metric.Reporter }
//
//	func New() *Hook {
//		return &Hook{metric.NewReporter(time.Minute, func(ctx context.Context, a *metric.Aggregate) {
//			a.Take(func(queue string, s *metric.Summary) {
//				s.Counts(func(m *metric.Metric, value float64) { … })
//				s.Distributions(func(m *metric.Metric, v *metric.Values) { … })
//			})
//		})}
//	}
//
// The dimensions are the service, which is the adapter's, and the queue's name:
// nothing that has many values. What others do by labels (the outcome, the operation)
// is in a metric's name (RecordsRetried), so that an invocation is one document of
// EMF; Family, Label and Value of a [Metric] give the labels back.
//
// Read in this order: list.go (the metrics), recorder.go (where they come
// from), distribution.go (values and counts), aggregate.go, reporter.go.
package metric
