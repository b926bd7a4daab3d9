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
	"github.com/sqsbatch/sqsbatch/internal/words"
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

// inFields reports whether a setting's variable is the value of a field, as for all but the
// settings of the backoff, which make a function.
func inFields(s *settings.Setting) bool {
	return s != &settings.Backoff && s != &settings.BackoffBase && s != &settings.BackoffCap
}

// fromEnvironment sets zero fields from their variables. Its error names each variable with an
// invalid value, and the values that are allowed.
func (c *Config) fromEnvironment() error {
	if len(c.Poll.Queues) == 0 {
		c.Poll.Queues = nil
	}
	var errs []error
	// If code sets Outage or Backoff, all four variables have no effect.
	chosen := c.Failures.Outage != 0 || c.Failures.Backoff != nil
	backoff := map[*settings.Setting]any{} // values of variables without field
	for _, s := range settings.All {
		text, isField := os.Getenv(s.Name), inFields(s)
		if text == "" || isField && !c.field(s).IsZero() || chosen && (!isField || s == &settings.Outage) {
			continue
		}
		value, err := s.Read(text)
		switch {
		case err != nil && !c.unchecked(s):
			errs = append(errs, fmt.Errorf("%s is %q: %w", s.Name, text, err))
		case !isField:
			backoff[s] = value
		case s == &settings.Prefetch && value == 0:
			c.Poll.Prefetch = -1 // 0 means the default
		default:
			c.field(s).Set(reflect.ValueOf(value).Convert(c.field(s).Type()))
		}
	}
	return errors.Join(append(errs, c.setBackoff(backoff))...)
}

// setBackoff sets Failures.Backoff if one of its variables has a value.
func (c *Config) setBackoff(values map[*settings.Setting]any) error {
	if len(values) == 0 {
		return nil
	}
	base, _ := values[&settings.BackoffBase].(time.Duration)
	limit, _ := values[&settings.BackoffCap].(time.Duration)
	limit = cmp.Or(limit, max(15*time.Minute, base))
	base = cmp.Or(base, min(2*time.Second, limit))
	if base > limit {
		return fmt.Errorf("SQSBATCH_BACKOFF_BASE is %v: must not be above SQSBATCH_BACKOFF_CAP, which is %v", base, limit)
	}
	c.Failures.Backoff = partialfailure.Exponential(base, limit)
	return nil
}

// validate returns an error for each field whose value is out of its bounds.
func (c *Config) validate() (wrong mistakes) {
	for _, s := range settings.All {
		if !inFields(s) || c.field(s).IsZero() || c.unchecked(s) {
			continue
		}
		value := c.field(s).Interface()
		if err := s.Check(value); err != nil && !(s == &settings.Prefetch && value == -1) {
			wrong.add(fmt.Errorf("handler: %s is %v, %w (%s)", s.Field, value, err, s.Name))
		}
	}
	if c.Failures.Outage != 0 && c.Failures.Backoff != nil {
		wrong.add(fmt.Errorf("handler: Failures.Outage is %v (SQSBATCH_OUTAGE) and Failures.Backoff is set (SQSBATCH_BACKOFF): set one of them", c.Failures.Outage))
	}
	return wrong
}

// unchecked reports whether any value is valid: under `sam local` the dead-letter queue may be
// the name of a resource.
func (c *Config) unchecked(s *settings.Setting) bool {
	return s == &settings.DeadLetterQueue && c.samLocal()
}

// unknownVariables returns an error that names unknown environment variables with sqsbatch's
// prefix, such as misspelled ones, which have no effect. It returns nil if there are none.
func unknownVariables() error {
	var unknown []string
	names := settings.Names()
	for _, variable := range os.Environ() {
		name, _, _ := strings.Cut(variable, "=")
		own, ours := strings.CutPrefix(name, settings.Prefix)
		if !ours || slices.Contains(names, own) || regexp.MustCompile(serviceLink).MatchString(variable) {
			continue
		}
		text := name + " is not a variable of sqsbatch and has no effect"
		if nearest := words.Nearest(own, names); nearest != "" {
			text += ": is " + settings.Prefix + nearest + " meant?"
		}
		unknown = append(unknown, text)
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
