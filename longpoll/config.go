package longpoll

import (
	"cmp"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/sqs"
	"github.com/sqsbatch/sqsbatch/batch"
	"github.com/sqsbatch/sqsbatch/internal/endpoint"
	"github.com/sqsbatch/sqsbatch/internal/runner"
	"github.com/sqsbatch/sqsbatch/partialfailure"
)

// Config says how a [Poller] polls. Queue and SQS are needed, the rest may be zero.
type Config struct {
	// Queue is the queue's URL, its ARN, or its name (which takes
	// sqs:GetQueueUrl). An ARN must be of SQS's region.
	Queue string

	// SQS is the client. Its HTTP client must allow requests that take Wait.
	SQS *sqs.Client

	// Engine says how records are handled. Its Concurrency is the number of
	// slots: records handled at a time, of standard queues, or FIFO groups. Its
	// RecordTimeout defaults to 15 min, the longest that Lambda gives a batch,
	// and is at most 11 h 59 min: SQS leaves a message with a receiver for 12 h.
	Engine batch.Config

	// Slots are shared with other pollers, in which this one counts for Weight. Package
	// handler sets both, see its Queue.Weight. Defaults to none: Engine.Concurrency alone counts.
	Slots  *runner.Slots
	Weight int

	// Failures says what becomes of records that fail.
	Failures partialfailure.Config

	// Wait is how long a receive waits for messages, in whole seconds, 1 s to
	// 20 s (ReceiveMessage's WaitTimeSeconds). Defaults to 20 s.
	Wait time.Duration

	// Prefetch bounds the records that wait for a slot. Fewer are received ahead
	// of slow handlers, so that they take nothing from other consumers: as many
	// as were handled in the last second, up to Concurrency, or in the last
	// 100 ms, if that is more. -1 means none. Defaults to 4 x Concurrency, but
	// at most to 320 or Concurrency, whichever is more; for a FIFO queue to
	// Concurrency. It is 10 at least.
	Prefetch int

	// Visibility is for how long a record is hidden from other consumers, at a
	// time, in whole seconds from 3 s to 12 h: extended while it is held, it is
	// what a crash costs. Defaults to 1 min, since the queue's own visibility timeout
	// may be made for Lambda, six times the function's timeout. Without heartbeats it
	// defaults to the queue's own.
	Visibility time.Duration

	// UntilEmpty ends Run once the queue is empty, as in a job that a schedule
	// starts: when a receive has waited for Wait without a message, while no record is
	// held here. Records that come back later, such as those that failed a moment ago,
	// are left to the next run. Defaults to false.
	UntilEmpty bool

	// NoHeartbeat extends nothing: a record must be done within Visibility,
	// less a margin of a tenth of it (at most 5 s). Defaults to false.
	NoHeartbeat bool

	// DrainLimit is how long a stop waits for what runs, before it ends the
	// handlers' contexts. Ending them takes up to Engine.Grace more (1 s), and
	// settling 4 s, whatever SQS, handlers and hooks do.
	// Defaults to 25 s less Engine.Grace, and at least 1 s: Amazon ECS and
	// Kubernetes kill after 30 s.
	DrainLimit time.Duration

	// MaxAbandoned is how many handlers may be running that were given up,
	// because they ignored the end of their context, before Run ends with
	// [ErrAbandoned], so that the platform starts a new process. Defaults to
	// Concurrency.
	MaxAbandoned int
}

const (
	defaultWait          = 20 * time.Second
	defaultVisibility    = time.Minute
	minVisibility        = 3 * time.Second
	defaultRecordTimeout = 15 * time.Minute
	maxRecordTimeout     = 12*time.Hour - time.Minute
	drainAndGrace        = 25 * time.Second // what fits into the 30 s of platforms, beside settling
	minDrainLimit        = time.Second
	maxConcurrency       = 10_000
	maxReceive           = 10 // messages in one ReceiveMessage
)

func (c *Config) setDefaults(h batch.Handler) {
	c.Engine = c.Engine.WithDefaultsFor(h)
	c.Weight = cmp.Or(c.Weight, 1)
	slots := max(1, min(c.Engine.Concurrency, maxConcurrency)) // or what is derived would be blamed
	if !c.NoHeartbeat {
		c.Engine.RecordTimeout = cmp.Or(c.Engine.RecordTimeout, defaultRecordTimeout)
		c.Visibility = cmp.Or(c.Visibility, defaultVisibility)
	}
	c.Wait = cmp.Or(c.Wait, defaultWait)
	switch {
	case c.Prefetch == 0 && isFIFO(c.Queue):
		c.Prefetch = max(slots, maxReceive) // what comes may all be for one slot
	case c.Prefetch == 0:
		c.Prefetch = max(slots, maxReceive, min(4*slots, maxReceives*maxReceive))
	case c.Prefetch == -1:
		c.Prefetch = 0
	}
	c.DrainLimit = cmp.Or(c.DrainLimit, max(minDrainLimit, drainAndGrace-c.Engine.Grace))
	c.MaxAbandoned = cmp.Or(c.MaxAbandoned, slots)
}

func (c *Config) validate() error {
	var errs []error
	check := func(ok bool, format string, args ...any) {
		if !ok {
			errs = append(errs, fmt.Errorf("longpoll: "+format, args...))
		}
	}
	check(c.Queue != "", "Queue is empty, must be the queue's URL, ARN or name")
	if strings.HasPrefix(c.Queue, "arn:") {
		arn, err := endpoint.ParseARN(c.Queue)
		check(err == nil, "Queue (with package handler: SQSBATCH_QUEUE_URL) is wrong: %w", err)
		check(err != nil || c.SQS == nil || c.SQS.Options().BaseEndpoint != nil || c.SQS.Options().Region == arn.Region,
			"Queue (with package handler: SQSBATCH_QUEUE_URL) is %s, must be of the region of SQS's client", c.Queue)
	}
	check(c.SQS != nil, "SQS is nil")
	check(c.Wait >= time.Second && c.Wait <= 20*time.Second && c.Wait%time.Second == 0,
		"Wait is %v, must be whole seconds from 1s to 20s", c.Wait)
	check(c.Prefetch >= 0 && c.Prefetch <= 10_000, "Prefetch is %d, must be 0 to 10000", c.Prefetch)
	check(c.Visibility == 0 || c.Visibility >= minVisibility && c.Visibility <= 12*time.Hour && c.Visibility%time.Second == 0,
		"Visibility is %v, must be whole seconds from %v to 12h", c.Visibility, minVisibility)
	check(c.Engine.RecordTimeout <= maxRecordTimeout,
		"Engine.RecordTimeout is %v, must be at most %v", c.Engine.RecordTimeout, maxRecordTimeout)
	if c.Visibility >= minVisibility { // else Run does, once it knows the queue's
		err := c.checkVisibility(c.Visibility)
		check(err == nil, "%w", err)
	}
	check(c.DrainLimit > 0 && c.DrainLimit <= 12*time.Hour, "DrainLimit is %v, must be above 0 and up to 12h", c.DrainLimit)
	check(c.MaxAbandoned >= 1 && c.MaxAbandoned <= 10_000, "MaxAbandoned is %d, must be 1 to 10000", c.MaxAbandoned)
	return errors.Join(errs...)
}

// checkVisibility checks what a visibility timeout leaves time for: Visibility's, or the
// queue's own once that is known.
func (c *Config) checkVisibility(visibility time.Duration) error {
	most := visibility - noHeartbeatMargin(visibility)
	switch {
	case visibility < minVisibility:
		return fmt.Errorf("the queue's visibility timeout is %v: without heartbeats nothing can be handled in that; set it, or Visibility (with package handler: SQSBATCH_VISIBILITY), to at least %v",
			visibility, minVisibility)
	case c.NoHeartbeat && c.Engine.RecordTimeout > visibility:
		return fmt.Errorf("Engine.RecordTimeout is %v, must be at most the visibility timeout, which is %v: with NoHeartbeat nothing extends it (with package handler: SQSBATCH_RECORD_TIMEOUT, SQSBATCH_VISIBILITY, SQSBATCH_HEARTBEAT)",
			c.Engine.RecordTimeout, visibility)
	case c.NoHeartbeat && c.Engine.MinRemaining >= most:
		return fmt.Errorf("Engine.MinRemaining is %v (with package handler: SQSBATCH_MIN_REMAINING): with NoHeartbeat nothing would ever be started, since a record must be done in %v, the visibility timeout less a margin",
			c.Engine.MinRemaining, most)
	}
	return nil
}
