package partialfailure

import (
	"cmp"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/sqsbatch/sqsbatch/internal/endpoint"
)

// OnPermanent chooses what happens to a record that failed for good.
type OnPermanent string

const (
	// DeadLetter sends the record to the dead-letter queue at once. Without a dead-letter
	// queue the record is an ordinary failure. This is the default.
	DeadLetter OnPermanent = "dead-letter"
	// Retry treats the record as an ordinary failure.
	Retry OnPermanent = "retry"
	// Drop deletes the record. Its body is lost; the log has its id and error.
	Drop OnPermanent = "drop"
)

func (o OnPermanent) valid() bool { return o == DeadLetter || o == Retry || o == Drop }

// Config configures what happens to records that fail. The zero value is ready to use.
type Config struct {
	// Outage is the longest outage of a dependency that records survive, 1 s to 7 h. If a
	// record fails every time, the waits between its attempts add up to at least Outage
	// before SQS moves it to the dead-letter queue. The waits follow from the queue's
	// maxReceiveCount: 2, 15, 107 and 777 s for 15 min and 5 attempts. Jitter lengthens
	// each wait by up to a half, or by up to 3 s if that is more. Defaults to 15 min. It
	// excludes Backoff.
	Outage time.Duration

	// Backoff decides when a failed record comes back, in place of Outage. Defaults to
	// none.
	Backoff Backoff

	// DeadLetterQueue is the URL or ARN of the queue for records that failed for good.
	// Defaults to the one in the source queue's RedrivePolicy, which is read when it is
	// first needed (sqs:GetQueueAttributes).
	DeadLetterQueue string

	// MaxReceiveCount is the maxReceiveCount of the source queue, 1 to 1,000. It has two
	// uses: to warn before SQS gives up on a record, and to dead-letter a FIFO record at
	// its last failure, so that its group can go on. If DeadLetterQueue is set, it has an
	// effect also if the queue has no RedrivePolicy. Defaults to the one in the
	// RedrivePolicy.
	MaxReceiveCount int

	// OnPermanent is for records that failed for good. Defaults to DeadLetter.
	OnPermanent OnPermanent

	// OnMalformed is for records that could not be decoded ([batch.MalformedError]).
	// Defaults to OnPermanent.
	OnMalformed OnPermanent

	// Name is the name of the function or service, for [Origin].By in dead letters.
	// Defaults to none: dead letters then leave it out.
	Name string
}

// WithDefaults returns c with its defaults filled in.
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
