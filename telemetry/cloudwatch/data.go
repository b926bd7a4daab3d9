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

type data struct {
	dimensions []types.Dimension // all except Queue
	resolution *int32
}

func (d *data) init(o *Config) {
	d.dimensions = []types.Dimension{{Name: aws.String("Service"), Value: &o.Service}}
	for _, name := range slices.Sorted(maps.Keys(o.Dimensions)) {
		d.dimensions = append(d.dimensions, types.Dimension{Name: &name, Value: aws.String(o.Dimensions[name])})
	}
	if o.HighResolution {
		d.resolution = aws.Int32(1)
	}
}

// of takes the observations of the period that starts at begin.
func (d *data) of(begin time.Time, a *metric.Aggregate) []types.MetricDatum {
	var all []types.MetricDatum
	a.Take(func(queue string, s *metric.Summary) {
		dimensions := d.dimensions
		if queue != "" {
			dimensions = append(slices.Clip(dimensions), types.Dimension{Name: aws.String("Queue"), Value: &queue})
		}
		add := func(m *metric.Metric, x types.MetricDatum) {
			x.MetricName, x.Unit = &m.Name, types.StandardUnit(m.Unit)
			x.Dimensions, x.Timestamp, x.StorageResolution = dimensions, &begin, d.resolution
			all = append(all, x)
		}
		s.Counts(func(m *metric.Metric, value float64) { add(m, types.MetricDatum{Value: &value}) })
		s.Distributions(func(m *metric.Metric, v *metric.Values) {
			for some := range slices.Chunk(v.Append(nil), maxValues) {
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

// The most bytes in CBOR (RFC 8949), the format of the client (Smithy RPC v2). The client
// compresses calls above RequestMinCompressSizeBytes.
const (
	number = 1 + 8 // a double
	around = 2     // the head and end of a list or an object of less than 256
)

// encodedSize returns the largest size of data in a call, in bytes.
func encodedSize(data ...types.MetricDatum) (size int) {
	text := func(s string) int {
		switch n := len(s); {
		case n < 24:
			return 1 + n
		case n < 1<<8:
			return 2 + n
		default:
			return 3 + n
		}
	}
	for _, d := range data {
		size += around + text("MetricName") + text(*d.MetricName) + text("Unit") + text(string(d.Unit))
		size += text("Timestamp") + 1 + number // a tag
		if d.StorageResolution != nil {
			size += text("StorageResolution") + 1
		}
		size += text("Dimensions") + around
		for _, dim := range d.Dimensions {
			size += around + text("Name") + text(*dim.Name) + text("Value") + text(*dim.Value)
		}
		if d.Value != nil {
			size += text("Value") + number
		}
		if n := len(d.Values); n > 0 {
			size += text("Values") + text("Counts") + 2*(around+number*n)
		}
	}
	return size
}
