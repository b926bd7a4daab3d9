package emf

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/sqsbatch/sqsbatch/telemetry/metric"
)

const (
	maxDimensions = 30 // in a set, Service and Queue included
	maxName       = 250
	maxValue      = 1024
	maxNamespace  = 255
	maxConstant   = 10_000 // bytes, as JSON, of what is in every line
)

// Validate returns an error that names every option whose value is out of its
// bounds, see Dimension and PutMetricData in the CloudWatch API reference.
func (h *Hook) Validate() error { return h.err }

func (o *Options) validate() error {
	var errs []error
	check := func(ok bool, format string, args ...any) {
		if !ok {
			errs = append(errs, fmt.Errorf("emf: "+format, args...))
		}
	}
	check(o.Service == "" || sound(o.Service, maxValue), "Service is %q, must be up to %d printable ASCII characters that do not begin with a colon", o.Service, maxValue)
	check(o.Namespace == "" || sound(o.Namespace, maxNamespace) && !strings.HasPrefix(o.Namespace, "AWS/"),
		"Namespace is %q, must be up to %d printable ASCII characters that do not begin with a colon or AWS/", o.Namespace, maxNamespace)
	check(o.Interval == 0 || o.Interval >= time.Second && o.Interval <= time.Hour, "Interval is %v, must be 1s to 1h", o.Interval)
	check(len(o.Dimensions) <= maxDimensions-2, "Dimensions has %d entries, must be at most %d", len(o.Dimensions), maxDimensions-2)
	for name, value := range o.Dimensions {
		check(sound(name, maxName) && sound(value, maxValue),
			"Dimensions has %q: %q, must be printable ASCII characters that do not begin with a colon, up to %d and %d", name, value, maxName, maxValue)
		check(!taken(name), "Dimensions has %q, which has a meaning already", name)
	}
	for name := range o.Properties {
		_, twice := o.Dimensions[name]
		check(name != "" && !twice && !taken(name), "Properties has %q, which is empty or has a meaning already", name)
	}
	size := 0
	for _, members := range []map[string]string{o.Dimensions, o.Properties} {
		for name, value := range members {
			size += len(member(nil, name, value))
		}
	}
	check(size <= maxConstant, "Dimensions and Properties have %d bytes, must be at most %d, since they are in every line", size, maxConstant)
	return errors.Join(errs...)
}

// sound reports whether CloudWatch takes a text as a dimension or namespace.
func sound(s string, most int) bool {
	printable := strings.IndexFunc(s, func(r rune) bool { return r < ' ' || r > '~' }) < 0
	return printable && strings.TrimSpace(s) != "" && len(s) <= most && s[0] != ':'
}

// taken reports whether a line has a member of a name in any case.
func taken(name string) bool {
	own := []string{"_aws", "Service", "Queue", "functionName", "functionVersion", "requestId", "coldStart", "hostname", "droppedLines", "timestamp", "level"}
	return slices.Contains(own, name) || metric.ByName(name) != nil
}
