package partialfailure

import (
	"cmp"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/sqsbatch/sqsbatch/internal/endpoint"
)

// OnPermanent says what becomes of a record that failed for good.
type OnPermanent string

const (
	// DeadLetter sends it to the dead-letter queue at once; without one, it is
	// an ordinary failure. This is the default.
	DeadLetter OnPermanent = "dead-letter"
	// Retry treats it as an ordinary failure.
	Retry OnPermanent = "retry"
	// Drop deletes it. The record is gone; the logs have its id and error.
	Drop OnPermanent = "drop"
)

func (o OnPermanent) valid() bool { return o == DeadLetter || o == Retry || o == Drop }

// Config says what becomes of records that fail. All of it may be zero.
type Config struct {
	// Outage is the longest outage of a dependency that records outlive, 1 s to 7 h:
	// the waits between the attempts of a record that fails every time add up to it at
	// least, before SQS moves the record to the dead-letter queue. How they are spaced
	// follows from the queue's maxReceiveCount: 2, 15, 107 and 777 s for 15 min and 5
	// attempts. Each wait is lengthened by chance, by up to a half, and by up to 3 s at
	// least. Defaults to 15 min. It excludes Backoff.
	Outage time.Duration

	// Backoff decides when a failed record comes back, in place of Outage. Defaults
	// to none.
	Backoff Backoff

	// DeadLetterQueue is the URL or ARN of the queue for records that failed
	// for good. Defaults to the one in the source queue's RedrivePolicy, asked
	// for once it is needed (sqs:GetQueueAttributes).
	DeadLetterQueue string

	// MaxReceiveCount is the source queue's. It is used to warn before SQS gives up on a
	// record, and to tell which failure of a FIFO record is its last, so that it is
	// dead-lettered while its group waits; if DeadLetterQueue is set, also where the queue
	// has no RedrivePolicy. Defaults to the one in the RedrivePolicy.
	MaxReceiveCount int

	// OnPermanent defaults to DeadLetter.
	OnPermanent OnPermanent

	// OnMalformed is OnPermanent for records that could not be decoded
	// ([batch.MalformedError]). Defaults to OnPermanent.
	OnMalformed OnPermanent

	// Name is the function or service whose failures these are, for the dead
	// letters, see [Origin]. Defaults to none: they leave it out.
	Name string
}

// WithDefaults returns c with its defaults.
func (c Config) WithDefaults() Config {
	if c.Outage == 0 && c.Backoff == nil {
		c.Outage = defaultOutage
	}
	c.OnPermanent = cmp.Or(c.OnPermanent, DeadLetter)
	c.OnMalformed = cmp.Or(c.OnMalformed, c.OnPermanent)
	return c
}

// Validate returns an error that names every field whose value is out of its bounds.
func (c Config) Validate() error {
	var errs []error
	check := func(ok bool, format string, args ...any) {
		if !ok {
			errs = append(errs, fmt.Errorf("partialfailure: "+format, args...))
		}
	}
	check(c.Outage == 0 || c.Backoff == nil, "Outage is %v (SQSBATCH_OUTAGE) and Backoff is set (SQSBATCH_BACKOFF): set one of them", c.Outage)
	c = c.WithDefaults()
	check(c.Backoff != nil || c.Outage >= minOutage && c.Outage <= maxOutage, "Outage is %v, must be %v to %v (SQSBATCH_OUTAGE)", c.Outage, minOutage, maxOutage)
	check(c.OnPermanent.valid(), "OnPermanent is %q, must be %q, %q or %q (with package handler: SQSBATCH_ON_PERMANENT)", c.OnPermanent, DeadLetter, Retry, Drop)
	check(c.OnMalformed.valid() || c.OnMalformed == c.OnPermanent,
		"OnMalformed is %q, must be %q, %q or %q (with package handler: SQSBATCH_ON_MALFORMED)", c.OnMalformed, DeadLetter, Retry, Drop)
	if q := c.DeadLetterQueue; q != "" && !strings.HasPrefix(q, "http://") && !strings.HasPrefix(q, "https://") {
		_, err := endpoint.ParseARN(q)
		check(err == nil, "DeadLetterQueue is %q, must be the queue's URL (https://…) or its ARN (with package handler: SQSBATCH_DEAD_LETTER_QUEUE): %w", q, err)
	}
	check(c.MaxReceiveCount >= 0 && c.MaxReceiveCount <= 1000,
		"MaxReceiveCount is %d, must be 1 to 1000, or 0 to ask the queue", c.MaxReceiveCount)
	return errors.Join(errs...)
}

const (
	defaultOutage = 15 * time.Minute
	minOutage     = time.Second
	maxOutage     = 7 * time.Hour // jitter lengthens it by half, and SQS hides a message for 12 h at most
)
