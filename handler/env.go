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

// field returns the field of a setting.
func (c *Config) field(s *settings.Setting) reflect.Value {
	v := reflect.ValueOf(c).Elem()
	for name := range strings.SplitSeq(s.Field, ".") {
		v = v.FieldByName(name)
	}
	return v
}

// inFields are the settings whose variable is the value of a field: all but those of the
// backoff, which make a function.
func inFields(s *settings.Setting) bool {
	return s != &settings.Backoff && s != &settings.BackoffBase && s != &settings.BackoffCap
}

// fromEnvironment sets the fields that are zero from their variables. Its error names each
// variable whose value cannot be used, and the values that are allowed.
func (c *Config) fromEnvironment() error {
	if len(c.Poll.Queues) == 0 {
		c.Poll.Queues = nil
	}
	var errs []error
	// If code sets Outage or Backoff, all four variables have no effect.
	chosen := c.Failures.Outage != 0 || c.Failures.Backoff != nil
	for _, s := range settings.All {
		text := os.Getenv(s.Name)
		if text == "" || !inFields(s) || !c.field(s).IsZero() || s == &settings.Outage && chosen {
			continue
		}
		value, err := parsed(s, text, c.unchecked(s))
		if err != nil {
			errs = append(errs, err)
			continue
		}
		if s == &settings.Prefetch && value == 0 {
			value = -1 // 0 means the default
		}
		c.field(s).Set(reflect.ValueOf(value).Convert(c.field(s).Type()))
	}
	if !chosen {
		errs = append(errs, c.readBackoff())
	}
	return errors.Join(errs...)
}

// parsed returns the value of a variable. Its error names the variable and its value.
func parsed(s *settings.Setting, text string, unchecked bool) (value any, err error) {
	value, err = s.Parse(text)
	if err == nil && !unchecked {
		err = s.Check(value)
	}
	if err != nil {
		return nil, fmt.Errorf("%s is %q: %w", s.Name, text, err)
	}
	return value, nil
}

// validate returns an error that names each field whose value is out of its bounds.
func (c *Config) validate() (wrong mistakes) {
	for _, s := range settings.All {
		if !inFields(s) || c.field(s).IsZero() || c.unchecked(s) {
			continue
		}
		value := c.field(s).Interface()
		switch {
		case s == &settings.OnPermanent:
			value = string(c.Failures.OnPermanent)
		case s == &settings.Prefetch && value == -1:
			continue
		}
		if err := s.Check(value); err != nil {
			wrong.add(fmt.Errorf("handler: %s is %v, %w (%s)", s.Field, value, err, s.Name))
		}
	}
	if c.Failures.Outage != 0 && c.Failures.Backoff != nil {
		wrong.add(fmt.Errorf("handler: Failures.Outage is %v (SQSBATCH_OUTAGE) and Failures.Backoff is set (SQSBATCH_BACKOFF): set one of them", c.Failures.Outage))
	}
	return wrong
}

// unchecked reports whether any value will do: under `sam local` a dead-letter queue may be
// the name of a resource.
func (c *Config) unchecked(s *settings.Setting) bool {
	return s == &settings.DeadLetterQueue && c.samLocal()
}

// readBackoff sets Failures.Backoff if one of its variables is set.
func (c *Config) readBackoff() error {
	var errs []error
	read := func(s *settings.Setting) (value any) {
		text := os.Getenv(s.Name)
		if text == "" {
			return nil
		}
		value, err := parsed(s, text, false)
		if err != nil {
			errs = append(errs, err)
		}
		return value
	}
	kind := read(&settings.Backoff)
	base, _ := read(&settings.BackoffBase).(time.Duration)
	limit, _ := read(&settings.BackoffCap).(time.Duration)
	if len(errs) > 0 || kind == nil && base == 0 && limit == 0 {
		return errors.Join(errs...)
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
