package cloudwatch

import (
	"maps"
	"slices"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/cloudwatch/types"
	"github.com/sqsbatch/sqsbatch/telemetry/metric"
)

// Limits of a call, see PutMetricData in the CloudWatch API reference.
const (
	maxValues = 150 // values of a datum
	maxData   = 1000
	// maxBytes is 1 MB before compression, less the call's own members.
	maxBytes = 1_000_000 - 1000
)

// datum is a metric's value in a period. size is the most bytes that it takes in a call.
type datum struct {
	types.MetricDatum
	size int
}

// data makes data of observations.
type data struct {
	dimensions []types.Dimension // all except Queue
	resolution *int32
	values     []metric.Value
}

func (d *data) init(o *Options) {
	d.dimensions = []types.Dimension{{Name: aws.String("Service"), Value: &o.Service}}
	for _, name := range slices.Sorted(maps.Keys(o.Dimensions)) {
		d.dimensions = append(d.dimensions, types.Dimension{Name: &name, Value: aws.String(o.Dimensions[name])})
	}
	if o.HighResolution {
		d.resolution = aws.Int32(1)
	}
}

// of takes what was observed in the period that begins at a time.
func (d *data) of(begin time.Time, a *metric.Aggregate) []datum {
	var all []datum
	a.Take(func(queue string, s *metric.Summary) {
		dimensions := d.dimensions
		if queue != "" {
			dimensions = append(dimensions[:len(dimensions):len(dimensions)], types.Dimension{Name: aws.String("Queue"), Value: &queue})
		}
		add := func(m *metric.Metric, x types.MetricDatum) {
			x.MetricName, x.Unit = &m.Name, types.StandardUnit(m.Unit)
			x.Dimensions, x.Timestamp, x.StorageResolution = dimensions, &begin, d.resolution
			all = append(all, datum{x, encodedSize(&x)})
		}
		s.Counts(func(m *metric.Metric, value float64) { add(m, types.MetricDatum{Value: &value}) })
		s.Distributions(func(m *metric.Metric, v *metric.Values) {
			d.values = v.Append(d.values[:0])
			for some := range slices.Chunk(d.values, maxValues) {
				x := types.MetricDatum{Values: make([]float64, len(some)), Counts: make([]float64, len(some))}
				for i, v := range some {
					x.Values[i], x.Counts[i] = v.Value, float64(v.Count)
				}
				add(m, x)
			}
		})
	})
	return all
}

// Sizes in CBOR (RFC 8949), the format of the client (Smithy RPC v2). The client compresses
// calls above RequestMinCompressSizeBytes.
const number = 1 + 8 // a double

// head returns the size of the head of a text of n bytes.
func head(n int) int {
	switch {
	case n < 24:
		return 1
	case n < 1<<8:
		return 2
	}
	return 3
}

// around returns the most bytes around n members or elements: a head with their number, or
// a head without it and an end marker.
func around(n int) int { return max(head(n), 2) }

// encodedSize returns the most bytes that a datum takes.
func encodedSize(d *types.MetricDatum) int {
	text := func(s string) int { return head(len(s)) + len(s) }
	size := around(8)
	size += text("MetricName") + text(*d.MetricName) + text("Unit") + text(string(d.Unit))
	size += text("Timestamp") + 1 + number // a tag
	if d.StorageResolution != nil {
		size += text("StorageResolution") + 1
	}
	size += text("Dimensions") + around(len(d.Dimensions))
	for _, dim := range d.Dimensions {
		size += around(2) + text("Name") + text(*dim.Name) + text("Value") + text(*dim.Value)
	}
	if d.Value != nil {
		size += text("Value") + number
	}
	if n := len(d.Values); n > 0 {
		size += text("Values") + text("Counts") + 2*(around(n)+number*n)
	}
	return size
}
