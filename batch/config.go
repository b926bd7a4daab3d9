package batch

import (
	"cmp"
	"errors"
	"fmt"
	"time"
)

// Config says how records are handled. The zero value is good.
type Config struct {
	// Concurrency is how many records are handled at a time, 1 to 10,000.
	// Defaults to what the handler asks for, see [Handler], and else to 10.
	Concurrency int

	// Reserve is the time kept back at the end of an invocation for settling
	// what failed and for the response, at most half of the remaining time.
	// Defaults to a tenth of the remaining time, between 200 ms and 2 s and at most a quarter.
	Reserve time.Duration

	// RecordTimeout is the longest that one record may take. A record whose
	// handler is still running [Config.Grace] after that gives its place to
	// the next. Defaults to no limit of its own: all that remains to the
	// cutoff.
	RecordTimeout time.Duration

	// Deadline is how much of the remaining time a record is given. Defaults to all
	// of it ([WholeRemaining]). A FIFO record with others behind it leaves time for them
	// at its last attempt.
	Deadline Deadline

	// MinRemaining is the least time to the cutoff with which a record is
	// still started. Defaults to the median time of the batch's latest
	// successes, and at least 50 ms.
	MinRemaining time.Duration

	// Grace is how long a handler may still run after the end of its context
	// before it is abandoned; at the cutoff at most a quarter of the reserve.
	// Defaults to 1 s.
	Grace time.Duration

	// Classify is asked about the errors that the handler returns, so that
	// what handles a record needs to know nothing of this package: it returns
	// the error as it is, or wrapped by a verb ([Permanent], [RetryAfter],
	// [Abort]). Nil counts as the error itself. It is not asked about errors
	// with a verb, panics, or the end of the record's own context. It is
	// called from several goroutines at a time. Defaults to none; see
	// [FirstOf], and package classify/httpstatus for what is ready-made.
	Classify func(error) error

	// Hooks are told what happens: any values with one or more of the hook
	// interfaces' methods, see [BatchStartedHook]. Defaults to none.
	Hooks []any
}

const (
	defaultConcurrency = 10
	maxConcurrency     = 10_000
	defaultGrace       = time.Second
	maxDuration        = 12 * time.Hour // the longest that SQS leaves a message with a receiver
)

// WithDefaultsFor returns the configuration with the default of every field that has a
// fixed one, and with the Concurrency that h asks for. It is for callers that derive more
// from it.
func (c Config) WithDefaultsFor(h Handler) Config {
	if c.Concurrency == 0 {
		asked := min(max(0, wish(h)), maxConcurrency) // what is below 0 is for its Validate
		c.Concurrency = cmp.Or(asked, defaultConcurrency)
	}
	c.Grace = cmp.Or(c.Grace, defaultGrace)
	return c
}

// Validate returns an error that names every field whose value is out of its bounds.
func (c *Config) Validate() error {
	var errs []error
	check := func(ok bool, format string, args ...any) {
		if !ok {
			errs = append(errs, fmt.Errorf("batch: "+format, args...))
		}
	}
	checkTime := func(name string, d time.Duration) {
		check(d >= 0 && d <= maxDuration, "%s is %v, must be 0 to %v", name, d, maxDuration)
	}
	check(c.Concurrency >= 1 && c.Concurrency <= maxConcurrency, "Concurrency is %d, must be 1 to %d", c.Concurrency, maxConcurrency)
	checkTime("Reserve", c.Reserve)
	checkTime("RecordTimeout", c.RecordTimeout)
	checkTime("MinRemaining", c.MinRemaining)
	checkTime("Grace", c.Grace)
	check(c.Deadline == "" || c.Deadline == WholeRemaining || c.Deadline == FairShare,
		"Deadline is %q, must be %q or %q", c.Deadline, WholeRemaining, FairShare)
	return errors.Join(errs...)
}
