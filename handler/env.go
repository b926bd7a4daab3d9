package handler

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/sqsbatch/sqsbatch/internal/settings"
	"github.com/sqsbatch/sqsbatch/internal/spelling"
	"github.com/sqsbatch/sqsbatch/partialfailure"
)

// field is a setting, and a pointer to its field of a Config.
type field struct {
	*settings.Setting
	value any
}

// orNone is a number for which -1 means none, since 0 means the default.
type orNone int

// fields returns the fields that have an environment variable.
func (c *Config) fields() []field {
	return []field{
		{&settings.Concurrency, &c.Concurrency},
		{&settings.Reserve, &c.Reserve},
		{&settings.RecordTimeout, &c.RecordTimeout},
		{&settings.MinRemaining, &c.MinRemaining},
		{&settings.Grace, &c.Grace},
		{&settings.Outage, &c.Failures.Outage},
		{&settings.DeadLetterQueue, &c.Failures.DeadLetterQueue},
		{&settings.MaxReceiveCount, &c.Failures.MaxReceiveCount},
		{&settings.OnPermanent, (*string)(&c.Failures.OnPermanent)},
		{&settings.ErrorIfAllFail, &c.ErrorIfAllFail},
		{&settings.DeleteSucceeded, &c.NoReportBatchItemFailures},
		{&settings.LogSucceeded, &c.LogSucceeded},
		{&settings.LogBodyBytes, &c.LogBodyBytes},
		{&settings.QueueURL, &c.Poll.Queues},
		{&settings.Wait, &c.Poll.Wait},
		{&settings.Prefetch, (*orNone)(&c.Poll.Prefetch)},
		{&settings.Visibility, &c.Poll.Visibility},
		{&settings.UntilEmpty, &c.Poll.UntilEmpty},
		{&settings.DrainLimit, &c.Poll.DrainLimit},
		{&settings.MaxAbandoned, &c.Poll.MaxAbandoned},
		{&settings.HealthAddr, &c.Poll.HealthAddr},
	}
}

// read sets the field from its variable, unless code has set the field already. Its error
// names the variable, its value, and the values that are allowed.
func (f field) read() (err error) {
	text := os.Getenv(f.Name)
	if text == "" || !reflect.ValueOf(f.value).Elem().IsZero() {
		return nil
	}
	switch to := f.value.(type) {
	case *int:
		*to, err = settings.Read[int](f.Setting, text)
	case *orNone:
		var n int
		if n, err = settings.Read[int](f.Setting, text); err == nil {
			*to = orNone(cmp.Or(n, -1))
		}
	case *time.Duration:
		*to, err = settings.Read[time.Duration](f.Setting, text)
	case *bool:
		*to, err = settings.Read[bool](f.Setting, text)
	case *string:
		*to, err = settings.Read[string](f.Setting, text)
	case *[]string:
		*to, err = settings.Read[[]string](f.Setting, text)
	}
	if err != nil {
		return fmt.Errorf("%s is %q: %w", f.Name, text, err)
	}
	return nil
}

// check returns an error if the field, which is not zero, is out of its bounds.
func (f field) check() error {
	value := reflect.ValueOf(f.value).Elem()
	if value.IsZero() {
		return nil
	}
	v := value.Interface()
	if n, ok := v.(orNone); ok {
		v = max(int(n), 0)
		if n < -1 {
			v = int(n)
		}
	}
	if err := f.Check(v); err != nil {
		return fmt.Errorf("handler: %s is %v, %w (%s)", f.Field, v, err, f.Name)
	}
	return nil
}

// validate returns an error that names each field whose value is out of its bounds.
func (c *Config) validate() (wrong mistakes) {
	for _, f := range c.fields() {
		if f.Setting != &settings.DeadLetterQueue || !c.samLocal() { // there it may be the name of a resource
			wrong.add(f.check())
		}
	}
	if c.Failures.Outage != 0 && c.Failures.Backoff != nil {
		wrong.add(fmt.Errorf("handler: Failures.Outage is %v (SQSBATCH_OUTAGE) and Failures.Backoff is set (SQSBATCH_BACKOFF): set one of them", c.Failures.Outage))
	}
	return wrong
}

// fromEnvironment sets the fields that are zero from their variables. Its error names each
// variable whose value cannot be used.
func (c *Config) fromEnvironment() error {
	c.Poll.Queues = append([]string(nil), c.Poll.Queues...) // nil if empty
	// If code sets Outage or Backoff, all four variables have no effect.
	chosen := c.Failures.Outage != 0 || c.Failures.Backoff != nil
	var errs []error
	for _, f := range c.fields() {
		switch {
		case f.Setting == &settings.Outage && chosen:
		case f.Setting == &settings.DeadLetterQueue && c.samLocal(): // the name of a resource
			c.Failures.DeadLetterQueue = cmp.Or(c.Failures.DeadLetterQueue, os.Getenv(f.Name))
		default:
			errs = append(errs, f.read())
		}
	}
	if !chosen {
		errs = append(errs, c.readBackoff())
	}
	return errors.Join(errs...)
}

// readBackoff sets Failures.Backoff if one of its variables is set.
func (c *Config) readBackoff() error {
	var kind string
	var base, limit time.Duration
	err := errors.Join(field{&settings.Backoff, &kind}.read(), field{&settings.BackoffBase, &base}.read(), field{&settings.BackoffCap, &limit}.read())
	if err != nil || kind == "" && base == 0 && limit == 0 {
		return err
	}
	limit = cmp.Or(limit, max(15*time.Minute, base))
	base = cmp.Or(base, min(2*time.Second, limit))
	if base > limit {
		return fmt.Errorf("SQSBATCH_BACKOFF_BASE is %v: must not be above SQSBATCH_BACKOFF_CAP, which is %v", base, limit)
	}
	c.Failures.Backoff = partialfailure.Exponential(base, limit)
	return nil
}

// unknownVariables returns an error that names the environment variables that begin with
// sqsbatch's prefix but are not known. A misspelled variable has no effect. It returns nil
// if there are none.
func unknownVariables() error {
	var unknown []string
	for _, variable := range os.Environ() {
		name, _, _ := strings.Cut(variable, "=")
		if strings.HasPrefix(name, settings.Prefix) && !settings.Known(name) && !regexp.MustCompile(serviceLink).MatchString(variable) {
			unknown = append(unknown, name+" is not a variable of sqsbatch and has no effect"+suggest(name))
		}
	}
	if len(unknown) == 0 {
		return nil
	}
	slices.Sort(unknown)
	return errors.New(strings.Join(unknown, "; "))
}

// serviceLink matches the variables that Kubernetes sets in pods for a service whose name
// begins with sqsbatch-, see "Discovering services" in its documentation. Kubernetes sets
// SQSBATCH_X_PORT=tcp://10.0.0.1:80. A person who sets SQSBATCH_X_PORT=80 expects a
// variable of sqsbatch, so that does not match. The expression is compiled only if there is
// an unknown variable, to keep cold starts fast.
const serviceLink = `^[^=]*_((SERVICE_HOST|SERVICE_PORT(_\w+)?|PORT_\d+_(TCP|UDP|SCTP)(_(PROTO|PORT|ADDR))?)=|PORT=.*://)`

// suggest returns ": did you mean …?" with the setting whose name is nearest, or "".
func suggest(name string) string {
	names := make([]string, len(settings.All))
	for i, s := range settings.All {
		names[i] = strings.TrimPrefix(s.Name, settings.Prefix)
	}
	if nearest := spelling.Nearest(strings.TrimPrefix(name, settings.Prefix), names); nearest != "" {
		return ": is " + settings.Prefix + nearest + " meant?"
	}
	return ""
}
