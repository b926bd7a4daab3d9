package partialfailure

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/sqs"
	"github.com/sqsbatch/sqsbatch/batch"
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

// Delete says which records a [Settler] deletes. A record that cannot be
// deleted is delivered again; the DeleteErr of its [batch.Result] says why.
type Delete int

const (
	// DeleteNever leaves it to Lambda, which deletes what is not reported.
	DeleteNever Delete = iota
	// DeleteIfOthersFail deletes the records that are done with when others of
	// their batch are not. It is for event source mappings without
	// ReportBatchItemFailures, where the function must fail to keep what
	// failed, and thereby keeps what succeeded as well.
	DeleteIfOthersFail
	// DeleteAlways deletes every record that is done with: nobody else does.
	DeleteAlways
)

// Config says how a [Settler] settles. Client is needed, the rest may be zero.
type Config struct {
	// Client returns the SQS client. It is called when the first call to SQS
	// is needed, and should then return the same client again.
	Client func(context.Context) (*sqs.Client, error)

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

	// MaxReceiveCount is the source queue's. It is used to warn before SQS gives
	// up on a record, and to tell which failure of a FIFO record is its last, so
	// that it is dead-lettered while its group waits (see [Settlement.DeadLetter]); if
	// DeadLetterQueue is set, also where the queue has no RedrivePolicy.
	// Defaults to the one in the RedrivePolicy.
	MaxReceiveCount int

	// OnPermanent defaults to DeadLetter.
	OnPermanent OnPermanent

	// OnMalformed is OnPermanent for records that could not be decoded
	// ([batch.MalformedError]). Defaults to OnPermanent.
	OnMalformed OnPermanent

	// Delete says whether records that are done with are deleted here. Defaults
	// to DeleteNever: Lambda does it.
	Delete Delete

	// HiddenUntil says when SQS shows a record again by itself, zero if that is not
	// known. No abandoned record is shown sooner, since its handler may still be at
	// work. Defaults to the queue's visibility timeout after the batch began.
	HiddenUntil func(*batch.Record) time.Time

	// Name is the function or service whose failures these are, for the dead
	// letters, see [Origin]. Defaults to none: they leave it out.
	Name string

	// QueueURL is the URL of the queue that the records come from. Defaults to
	// what follows from the records' ARN and the client's endpoint.
	QueueURL string

	// Hooks are warned of what SQS refused. Defaults to none.
	Hooks *batch.Hooks
}

// Settler settles the failures of batches. It is safe for concurrent use.
type Settler struct {
	cfg      Config
	queues   queueCache
	schedule schedule
}

// New returns a Settler. It returns an error that names every field of cfg whose
// value is out of its bounds.
func New(cfg Config) (*Settler, error) {
	var errs []error
	check := func(ok bool, format string, args ...any) {
		if !ok {
			errs = append(errs, fmt.Errorf("partialfailure: "+format, args...))
		}
	}
	check(cfg.Outage == 0 || cfg.Backoff == nil, "Outage is %v (SQSBATCH_OUTAGE) and Backoff is set (SQSBATCH_BACKOFF): set one of them", cfg.Outage)
	if cfg.Outage == 0 {
		cfg.Outage = DefaultOutage
	}
	check(cfg.Outage >= minOutage && cfg.Outage <= maxOutage, "Outage is %v, must be %v to %v (SQSBATCH_OUTAGE)", cfg.Outage, minOutage, maxOutage)
	if cfg.OnPermanent == "" {
		cfg.OnPermanent = DeadLetter
	}
	if cfg.OnMalformed == "" {
		cfg.OnMalformed = cfg.OnPermanent
	}
	check(cfg.Client != nil, "Client is nil")
	check(cfg.OnPermanent.valid(), "OnPermanent is %q, must be %q, %q or %q (with package handler: SQSBATCH_ON_PERMANENT)", cfg.OnPermanent, DeadLetter, Retry, Drop)
	check(cfg.OnMalformed.valid() || cfg.OnMalformed == cfg.OnPermanent,
		"OnMalformed is %q, must be %q, %q or %q (with package handler: SQSBATCH_ON_MALFORMED)", cfg.OnMalformed, DeadLetter, Retry, Drop)
	if q := cfg.DeadLetterQueue; q != "" && !strings.HasPrefix(q, "http://") && !strings.HasPrefix(q, "https://") {
		_, err := endpoint.ParseARN(q)
		check(err == nil, "DeadLetterQueue is %q, must be the queue's URL (https://…) or its ARN (with package handler: SQSBATCH_DEAD_LETTER_QUEUE): %w", q, err)
	}
	check(cfg.MaxReceiveCount >= 0 && cfg.MaxReceiveCount <= 1000,
		"MaxReceiveCount is %d, must be 1 to 1000, or 0 to ask the queue", cfg.MaxReceiveCount)
	if len(errs) > 0 {
		return nil, errors.Join(errs...)
	}
	return &Settler{cfg: cfg, schedule: schedule{outage: cfg.Outage}}, nil
}
