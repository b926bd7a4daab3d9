package handler

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/sqsbatch/sqsbatch/batch"
	"github.com/sqsbatch/sqsbatch/partialfailure"
)

// fromEnvironment sets the fields that are zero from their variables. It
// returns an error that names every variable with a value that cannot be used.
func (c *Config) fromEnvironment() error { return c.read(os.Getenv) }

// read is fromEnvironment with an environment of any kind: every variable is
// asked for.
func (c *Config) read(getenv func(string) string) error {
	var errs []error
	set := func(name string, unset bool, parse parser) {
		value := getenv(name)
		if value == "" || !unset {
			return
		}
		if err := parse(value); err != nil {
			errs = append(errs, fmt.Errorf("%s is %q: %w", name, value, err))
		}
	}
	set("SQSBATCH_CONCURRENCY", c.Concurrency == 0, number(&c.Concurrency, 1, 10_000))
	set("SQSBATCH_RESERVE", c.Reserve == 0, duration(&c.Reserve, longest))
	set("SQSBATCH_RECORD_TIMEOUT", c.RecordTimeout == 0, duration(&c.RecordTimeout, longest-time.Minute))
	set("SQSBATCH_DEADLINE_POLICY", c.Deadline == "", oneOf(&c.Deadline, batch.WholeRemaining, batch.FairShare))
	set("SQSBATCH_MIN_REMAINING", c.MinRemaining == 0, duration(&c.MinRemaining, longest))
	set("SQSBATCH_GRACE", c.Grace == 0, duration(&c.Grace, longest))
	set("SQSBATCH_DEAD_LETTER_QUEUE", c.DeadLetterQueue == "", text(&c.DeadLetterQueue))
	set("SQSBATCH_MAX_RECEIVE_COUNT", c.MaxReceiveCount == 0, number(&c.MaxReceiveCount, 1, 1000))
	set("SQSBATCH_ON_PERMANENT", c.OnPermanent == "", text(&c.OnPermanent))
	set("SQSBATCH_ON_MALFORMED", c.OnMalformed == "", text(&c.OnMalformed))
	set("SQSBATCH_ERROR_IF_ALL_FAIL", !c.ErrorIfAllFail, boolean(&c.ErrorIfAllFail))
	set("SQSBATCH_DELETE_SUCCEEDED", !c.DeleteSucceeded, boolean(&c.DeleteSucceeded))
	set("SQSBATCH_LOG_SUCCEEDED", !c.LogSucceeded, boolean(&c.LogSucceeded))
	set("SQSBATCH_LOG_BODY_BYTES", c.LogBodyBytes == 0, number(&c.LogBodyBytes, 0, maxLogBody))
	c.Poll.fromEnvironment(set)

	var kind string
	var base, limit time.Duration
	unset := c.Outage == 0 && c.Backoff == nil // either field comes before all of these
	set("SQSBATCH_OUTAGE", unset, seconds(&c.Outage, time.Second, 7*time.Hour))
	set("SQSBATCH_BACKOFF", unset, text(&kind))
	set("SQSBATCH_BACKOFF_BASE", unset, duration(&base, longest))
	set("SQSBATCH_BACKOFF_CAP", unset, duration(&limit, longest))
	if kind != "" || base > 0 || limit > 0 {
		if err := c.setBackoff(cmp.Or(kind, "exponential"), base, limit); err != nil {
			errs = append(errs, err)
		}
	}
	return errors.Join(errs...)
}

func (c *Config) setBackoff(kind string, base, limit time.Duration) error {
	const usualBase, usualLimit = 2 * time.Second, 15 * time.Minute
	switch {
	case base == 0 && limit == 0:
		base, limit = usualBase, usualLimit
	case base == 0:
		base = min(usualBase, limit)
	case limit == 0:
		limit = max(usualLimit, base)
	}
	if base > limit {
		return fmt.Errorf("SQSBATCH_BACKOFF_BASE is %v: must not be above SQSBATCH_BACKOFF_CAP, which is %v", base, limit)
	}
	switch kind {
	case "exponential":
		c.Backoff = partialfailure.Exponential(base, limit)
	case "linear":
		c.Backoff = partialfailure.Linear(base, limit)
	case "constant":
		c.Backoff = partialfailure.Constant(base)
	default:
		return fmt.Errorf(`SQSBATCH_BACKOFF is %q: must be "exponential", "linear" or "constant"`, kind)
	}
	return nil
}
