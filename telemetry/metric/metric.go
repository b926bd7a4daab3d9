package metric

// Kind is how a metric is made of its observations.
type Kind uint8

const (
	// Counter is a sum of what was added.
	Counter Kind = iota
	// Distribution keeps its values, so that percentiles can be told.
	Distribution
	// Gauge is the latest value.
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
)

// Metric is one of those in [All]. Its only dimensions are the service and the
// queue; what has too many values for a dimension is in logs and traces.
type Metric struct {
	// Name is the metric's name where metrics have no labels (CloudWatch).
	Name string
	Kind Kind
	Unit Unit
	// Help says what is observed, and what to do about it.
	Help string

	// Family, Label and Value are for where metrics have labels: those of a family
	// are one metric, "Records" with outcome="retry". Without a Label, Family is
	// the Name.
	Family, Label, Value string

	// Poll says that it is observed in containers only.
	Poll bool

	index int
}

// Index is the metric's place in [All].
func (m *Metric) Index() int { return m.index }

// All are the metrics, in the order in which to show them.
var All []*Metric

func metric(m Metric) *Metric {
	if m.Family == "" {
		m.Family = m.Name
	}
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
