package metric

import "cmp"

// Kind is how a metric combines its observations.
type Kind uint8

const (
	// Counter adds them up.
	Counter Kind = iota
	// Distribution keeps them as values, for percentiles.
	Distribution
	// Gauge keeps the latest one.
	Gauge
)

func (k Kind) String() string { return [...]string{"counter", "distribution", "gauge"}[k] }

// Unit is a CloudWatch unit, see MetricDatum in the API reference.
type Unit string

const (
	Count        Unit = "Count"
	Milliseconds Unit = "Milliseconds"
	Seconds      Unit = "Seconds"
	Percent      Unit = "Percent"
	Bytes        Unit = "Bytes"
)

// Metric is one of the metrics in [All]. Its only dimensions are the service and the queue.
// Data with too many values for a dimension is in logs and traces.
type Metric struct {
	// Name is the metric's name in systems without labels (CloudWatch).
	Name string
	Kind Kind
	Unit Unit
	// Help says what is observed, and what to do about it.
	Help string

	// Family, Label and Value are for systems with labels. The metrics of a family are one
	// metric there: "Records" with outcome="retry". Without a Label, Family is the Name.
	Family, Label, Value string

	// Poll is true if the metric is observed only in containers.
	Poll bool
	// Send is true if the metric is about calls of package sender, see
	// [Recorder.SenderCalled].
	Send bool

	index int
}

// Index returns the metric's position in [All].
func (m *Metric) Index() int { return m.index }

// All are the metrics, in the order in which to show them.
var All []*Metric

func metric(m Metric) *Metric {
	m.Family = cmp.Or(m.Family, m.Name)
	m.index = len(All)
	All = append(All, &m)
	return &m
}

// ByName returns the metric with a name, or nil.
func ByName(name string) *Metric {
	for _, m := range All {
		if m.Name == name {
			return m
		}
	}
	return nil
}
