package adapter

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"
)

// Defaults of the options that telemetry/emf and telemetry/cloudwatch share, so that the same
// alarms and dashboards work for both.
const (
	Namespace = "sqsbatch"
	Interval  = time.Minute
)

// Service returns the given name, or else the name of the Lambda function or of the program.
func Service(given string) string {
	return cmp.Or(given, os.Getenv("AWS_LAMBDA_FUNCTION_NAME"), filepath.Base(os.Args[0]))
}

// Limits of CloudWatch.
const (
	maxDimensions = 30   // Service and Queue included
	maxValue      = 1024 // bytes
	maxNamespace  = 255  // bytes
)

// Names are the options as configured: zero for their defaults.
type Names struct {
	Service, Namespace string
	Dimensions         map[string]string
	Interval           time.Duration
}

// Validate returns an error for every name that CloudWatch would refuse (Dimension and
// PutMetricData in the API reference), or that taken reports as used. Its text begins with pkg.
func (n Names) Validate(pkg string, maxName int, taken func(name string) bool) error {
	var errs []error
	check := func(ok bool, format string, args ...any) {
		if !ok {
			errs = append(errs, fmt.Errorf(pkg+": "+format, args...))
		}
	}
	check(n.Service == "" || sound(n.Service, maxValue), "Service is %q, must be up to %d printable ASCII characters that do not begin with a colon", n.Service, maxValue)
	check(n.Namespace == "" || sound(n.Namespace, maxNamespace) && !strings.HasPrefix(n.Namespace, "AWS/"),
		"Namespace is %q, must be up to %d printable ASCII characters that do not begin with a colon or AWS/", n.Namespace, maxNamespace)
	check(n.Interval == 0 || n.Interval >= time.Second && n.Interval <= time.Hour, "Interval is %v, must be 1s to 1h", n.Interval)
	check(len(n.Dimensions) <= maxDimensions-2, "Dimensions has %d entries, must be at most %d", len(n.Dimensions), maxDimensions-2)
	for name, value := range n.Dimensions {
		check(sound(name, maxName) && sound(value, maxValue),
			"Dimensions has %q: %q, must be printable ASCII characters that do not begin with a colon, up to %d and %d", name, value, maxName, maxValue)
		check(!taken(name), "Dimensions has %q, which has a meaning already", name)
	}
	return errors.Join(errs...)
}

// sound reports whether CloudWatch accepts a text as a dimension or namespace.
func sound(s string, most int) bool {
	printable := strings.IndexFunc(s, func(r rune) bool { return r < ' ' || r > '~' }) < 0
	return printable && strings.TrimSpace(s) != "" && len(s) <= most && s[0] != ':'
}
