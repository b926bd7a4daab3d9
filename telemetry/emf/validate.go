package emf

import (
	"slices"

	"github.com/sqsbatch/sqsbatch/telemetry/internal/cwoptions"
	"github.com/sqsbatch/sqsbatch/telemetry/metric"
)

const (
	maxName     = 250    // of a dimension
	maxConstant = 10_000 // bytes, as JSON, of the members of every line
)

// Validate returns an error that names every option whose value is out of its
// bounds, see Dimension and PutMetricData in the CloudWatch API reference.
func (h *Hook) Validate() error { return h.err }

func (o *Options) validate() error {
	check := cwoptions.Check{Package: "emf"}
	check.Names(cwoptions.Names{Service: o.Service, Namespace: o.Namespace, Dimensions: o.Dimensions, Interval: o.Interval}, maxName, taken)
	for name := range o.Properties {
		_, twice := o.Dimensions[name]
		check.That(name != "" && !twice && !taken(name), "Properties has %q, which is empty or has a meaning already", name)
	}
	size := 0
	for _, members := range []map[string]string{o.Dimensions, o.Properties} {
		for name, value := range members {
			size += len(member(nil, name, value))
		}
	}
	check.That(size <= maxConstant, "Dimensions and Properties have %d bytes, must be at most %d, since they are in every line", size, maxConstant)
	return check.Err()
}

// taken reports whether a line already has a member with a name, in upper or lower case.
func taken(name string) bool {
	own := []string{"_aws", "Service", "Queue", "functionName", "functionVersion", "requestId", "coldStart", "hostname", "droppedLines", "timestamp", "level"}
	return slices.Contains(own, name) || metric.ByName(name) != nil
}
