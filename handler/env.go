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

// variable is a setting, and a pointer to the field that it sets.
type variable struct {
	*settings.Setting
	field any
}

// Types of fields whose values differ from those of their variables.
type (
	orNone int  // -1 means none, since 0 means the default
	not    bool // the opposite of the variable
)

// read sets the field from the variable, unless code has set the field already. Its error
// names the variable, its value, and the values that are allowed.
func (v variable) read() (err error) {
	value := os.Getenv(v.Name)
	if value == "" || !reflect.ValueOf(v.field).Elem().IsZero() {
		return nil
	}
	switch field := v.field.(type) {
	case *int:
		*field, err = v.Int(value)
	case *time.Duration:
		*field, err = v.Time(value)
	case *bool:
		*field, err = v.Bool(value)
	case *orNone:
		n, wrong := v.Int(value)
		*field, err = orNone(cmp.Or(n, -1)), wrong
	case *not:
		yes, wrong := v.Bool(value)
		*field, err = not(!yes), wrong
	case *[]string:
		*field, err = v.List(value)
	case *string:
		*field, err = v.Text(value)
	}
	if err != nil {
		reflect.ValueOf(v.field).Elem().SetZero() // the packages that use it would report it again
		return fmt.Errorf("%s is %q: %w", v.Name, value, err)
	}
	return nil
}

// fromEnvironment sets the fields that are zero from their variables. Its error names each
// variable whose value cannot be used.
func (c *Config) fromEnvironment() error {
	list := []variable{
		{&settings.Concurrency, &c.Concurrency},
		{&settings.Reserve, &c.Reserve},
		{&settings.RecordTimeout, &c.RecordTimeout},
		{&settings.DeadlinePolicy, (*string)(&c.Deadline)},
		{&settings.MinRemaining, &c.MinRemaining},
		{&settings.Grace, &c.Grace},
		{&settings.DeadLetterQueue, &c.DeadLetterQueue},
		{&settings.MaxReceiveCount, &c.MaxReceiveCount},
		{&settings.OnPermanent, (*string)(&c.OnPermanent)},
		{&settings.OnMalformed, (*string)(&c.OnMalformed)},
		{&settings.ErrorIfAllFail, &c.ErrorIfAllFail},
		{&settings.DeleteSucceeded, &c.DeleteSucceeded},
		{&settings.LogSucceeded, &c.LogSucceeded},
		{&settings.LogBodyBytes, &c.LogBodyBytes},
		{&settings.MaxHandlers, &c.MaxHandlers},
		{&settings.Wait, &c.Poll.Wait},
		{&settings.Prefetch, (*orNone)(&c.Poll.Prefetch)},
		{&settings.Visibility, &c.Poll.Visibility},
		{&settings.Heartbeat, (*not)(&c.Poll.NoHeartbeat)},
		{&settings.UntilEmpty, &c.Poll.UntilEmpty},
		{&settings.DrainLimit, &c.Poll.DrainLimit},
		{&settings.MaxAbandoned, &c.Poll.MaxAbandoned},
		{&settings.HealthAddr, &c.Poll.HealthAddr},
	}
	c.Poll.Queues = append([]string(nil), c.Poll.Queues...) // nil if empty
	list = append(list, variable{&settings.QueueURL, &c.Poll.Queues})
	// If code sets Outage or Backoff, all four variables have no effect.
	var b backoff
	if c.Outage == 0 && c.Backoff == nil {
		list = append(list, variable{&settings.Outage, &c.Outage},
			variable{&settings.Backoff, &b.kind}, variable{&settings.BackoffBase, &b.base}, variable{&settings.BackoffCap, &b.limit})
	}
	var errs []error
	for _, v := range list {
		errs = append(errs, v.read())
	}
	if b != (backoff{}) {
		backoff, err := b.function()
		c.Backoff, errs = backoff, append(errs, err)
	}
	return errors.Join(errs...)
}

// backoff holds the variables that make up Config.Backoff.
type backoff struct {
	kind        string
	base, limit time.Duration
}

func (b backoff) function() (partialfailure.Backoff, error) {
	limit := cmp.Or(b.limit, max(15*time.Minute, b.base))
	base := cmp.Or(b.base, min(2*time.Second, limit))
	if base > limit {
		return nil, fmt.Errorf("SQSBATCH_BACKOFF_BASE is %v: must not be above SQSBATCH_BACKOFF_CAP, which is %v", base, limit)
	}
	switch b.kind {
	case "linear":
		return partialfailure.Linear(base, limit), nil
	case "constant":
		return partialfailure.Constant(base), nil
	default:
		return partialfailure.Exponential(base, limit), nil
	}
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
