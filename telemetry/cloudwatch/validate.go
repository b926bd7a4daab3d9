package cloudwatch

import "github.com/sqsbatch/sqsbatch/telemetry/internal/cwoptions"

const maxName = 255 // of a dimension

// Validate returns an error that names every option whose value is out of its
// bounds, see Dimension and PutMetricData in the CloudWatch API reference.
func (h *Hook) Validate() error { return h.err }

func (o *Options) validate() error {
	check := cwoptions.Check{Package: "cloudwatch"}
	check.Names(cwoptions.Names{Service: o.Service, Namespace: o.Namespace, Dimensions: o.Dimensions, Interval: o.Interval}, maxName,
		func(name string) bool { return name == "Service" || name == "Queue" })
	return check.Err()
}
