package track

import (
	"encoding/json"
	"strings"

	"github.com/sqsbatch/sqsbatch/telemetry/metric"
)

// EMF has the metrics that the function wrote in CloudWatch's Embedded Metric Format.
type EMF struct {
	Lines int `json:"lines"`
	// Metrics has the metrics by namespace and name, over all dimensions.
	Metrics map[string]map[string]EMFMetric `json:"metrics"`
}

// EMFMetric has the values of a metric. For a counter, read Sum.
type EMFMetric struct {
	Unit string `json:"unit"`
	Distribution
}

type emf struct {
	lines   int
	metrics map[[2]string]*values // by namespace and name
}

type values struct {
	unit string
	metric.Values
}

// maxCount limits the count of a value in a line.
const maxCount = 1_000_000

// line adds the metrics of a line of the function's output, and reports whether it has any.
func (e *emf) line(text string) bool {
	if !strings.HasPrefix(text, "{") || !strings.Contains(text, `"_aws"`) {
		return false
	}
	var head struct {
		AWS *struct {
			CloudWatchMetrics []struct {
				Namespace string
				Metrics   []struct{ Name, Unit string }
			}
		} `json:"_aws"`
	}
	members := map[string]json.RawMessage{}
	if json.Unmarshal([]byte(text), &head) != nil || head.AWS == nil || len(head.AWS.CloudWatchMetrics) == 0 || json.Unmarshal([]byte(text), &members) != nil {
		return false
	}
	e.lines++
	seen := map[[2]string]bool{} // a value counts once, for several dimensions
	for _, directive := range head.AWS.CloudWatchMetrics {
		for _, m := range directive.Metrics {
			key := [2]string{directive.Namespace, m.Name}
			if !seen[key] {
				seen[key] = true
				e.observe(key, m.Unit, members[m.Name])
			}
		}
	}
	return true
}

// observe adds the values of a metric's member: a number, a list of numbers, or values and
// counts.
func (e *emf) observe(key [2]string, unit string, member json.RawMessage) {
	var one float64
	var list []float64
	var counted struct{ Values, Counts []float64 }
	switch {
	case member == nil:
		return
	case json.Unmarshal(member, &one) == nil:
		list = []float64{one}
	case json.Unmarshal(member, &list) == nil:
	case json.Unmarshal(member, &counted) != nil:
		return // CloudWatch ignores it, too
	}
	if e.metrics == nil {
		e.metrics = map[[2]string]*values{}
	}
	v := e.metrics[key]
	if v == nil {
		v = &values{unit: unit}
		e.metrics[key] = v
	}
	for _, x := range list {
		v.Observe(x)
	}
	for i, x := range counted.Values {
		n := 1.0
		if i < len(counted.Counts) {
			n = counted.Counts[i]
		}
		for range int(min(max(n, 0), maxCount)) {
			v.Observe(x)
		}
	}
}

func (e *emf) report() *EMF {
	if e.lines == 0 {
		return nil
	}
	r := &EMF{Lines: e.lines, Metrics: map[string]map[string]EMFMetric{}}
	for key, v := range e.metrics {
		d := distribution(&v.Values)
		if d == nil {
			continue
		}
		if r.Metrics[key[0]] == nil {
			r.Metrics[key[0]] = map[string]EMFMetric{}
		}
		r.Metrics[key[0]][key[1]] = EMFMetric{v.unit, *d}
	}
	return r
}
