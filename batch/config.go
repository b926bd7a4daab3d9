package batch

import (
	"cmp"
	"errors"
	"fmt"
	"time"

	"github.com/sqsbatch/sqsbatch/internal/wrapped"
)

// Config configures how records are handled. The zero value is ready to use.
type Config struct {
	// Concurrency is the number of records handled at the same time, 1 to 10,000. Defaults
	// to the number that the handler asks for (see [Handler]), or else to 10.
	Concurrency int

	// Reserve is the time kept back at the end of an invocation, in which failed records
	// are settled and the response is sent. It is never more than half of the remaining
	// time. Defaults to a tenth of the remaining time, but at least 200 ms, at most 2 s,
	// and at most a quarter of the remaining time.
	Reserve time.Duration

	// RecordTimeout is the longest time that one record may take. If the handler still runs
	// [Config.Grace] after that, it is abandoned and the next record takes its slot.
	// Defaults to no limit: a record may use all the time that remains to the cutoff.
	RecordTimeout time.Duration

	// Deadline chooses how much of the remaining time each record gets. Defaults to all of
	// it ([WholeRemaining]). Exception: at its last attempt, a FIFO record with others
	// behind it leaves time for them.
	Deadline Deadline

	// MinRemaining is the least time to the cutoff with which a record is still started.
	// Defaults to the median duration of the batch's latest successes, and at least 50 ms.
	MinRemaining time.Duration

	// Grace is how long a handler may still run after its context has ended. A handler that
	// runs longer is abandoned. At the cutoff, Grace is at most a quarter of the reserve.
	// Defaults to 1 s.
	Grace time.Duration

	// Classify maps an error of the handler to a verb, so that the handler does not have to
	// import this package. It returns the error as it is, or wrapped by [Permanent],
	// [RetryAfter] or [Abort]. Nil means the error as it is.
	//
	// Classify is not called for an error that already has a verb, for a panic, or for the
	// end of the record's own context. It is called from several goroutines at the same
	// time. Defaults to none. [FirstOf] combines several; package classify/httpstatus has
	// one for HTTP clients.
	Classify func(error) error

	// Hooks observe batches, records and calls to SQS. A hook is any value that implements
	// one or more of the hook interfaces, such as [BatchStartedHook]. Defaults to none.
	Hooks []any
}

const (
	defaultConcurrency = 10
	maxConcurrency     = 10_000
	defaultGrace       = time.Second
	maxDuration        = 12 * time.Hour // the longest time that SQS leaves a message with a receiver
)

// WithDefaultsFor returns the configuration with every fixed default filled in, and with
// the Concurrency that h asks for. Callers that derive other values from it use it.
func (c Config) WithDefaultsFor(h Handler) Config {
	if c.Concurrency == 0 {
		asked := min(max(0, wrapped.Concurrency(h)), maxConcurrency) // Validate refuses values below 0
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
