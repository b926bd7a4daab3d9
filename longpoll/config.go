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

// Config configures a [Poller]. Queue and SQS are required. Other fields may be zero.
type Config struct {
	// Queue is the queue's URL, its ARN, or its name. A name needs the permission
	// sqs:GetQueueUrl. An ARN must be of the region of SQS.
	Queue string

	// SQS is the client. The timeout of its HTTP client must be longer than Wait.
	SQS *sqs.Client

	// Engine configures how records are handled. Its Concurrency is the number of slots:
	// the records of a standard queue, or the groups of a FIFO queue, that are handled at
	// the same time. Its RecordTimeout defaults to 15 min, the longest that Lambda gives a
	// batch, and is at most 11 h 59 min, since SQS leaves a message with a receiver for 12
	// h.
	Engine batch.Config

	// Slots are shared with other pollers; Weight is this poller's share of them. Package
	// handler sets both, see its Queue.Weight. Defaults to none: only Engine.Concurrency
	// limits the slots.
	Slots  *runner.Slots
	Weight int

	// Failures configures what happens to records that fail.
	Failures partialfailure.Config

	// Wait is how long a receive waits for messages, in whole seconds from 1 s to 20 s
	// (ReceiveMessage's WaitTimeSeconds). Defaults to 20 s.
	Wait time.Duration

	// Prefetch is the largest number of received records that wait for a slot; -1 means
	// none. Prefetching adapts to how fast records are handled, so that a slow worker does
	// not hoard messages that others could take. At most as many records wait as were
	// handled in the last second, up to Concurrency, or in the last 100 ms if that is more.
	//
	// Defaults to 4 x Concurrency, but at most to 320 or Concurrency, whichever is more.
	// For a FIFO queue it defaults to Concurrency. The default is at least 10.
	Prefetch int

	// Visibility is the visibility timeout that a held record gets, and gets again with
	// each heartbeat, in whole seconds from 3 s to 12 h. After a crash its records come
	// back within this time. Defaults to 1 min, since the queue's own visibility timeout
	// may be chosen for Lambda: six times the function's timeout. Without heartbeats it
	// defaults to the queue's own visibility timeout.
	Visibility time.Duration

	// UntilEmpty ends Run when the queue is empty, for a job that a schedule starts: when a
	// receive has waited for Wait without a message, and no record is held. Records that
	// come back later, such as those that failed a moment ago, are left to the next run.
	// Defaults to false.
	UntilEmpty bool

	// NoHeartbeat turns off the extension of visibility. A record must then be done within
	// Visibility, less a margin of a tenth of it (at most 5 s). Defaults to false.
	NoHeartbeat bool

	// DrainLimit is how long a stop waits for running handlers before it ends their
	// contexts. After that, handlers have Engine.Grace (1 s) to return, and settling takes
	// up to 4 s. Defaults to 25 s less Engine.Grace, and at least 1 s: Amazon ECS and
	// Kubernetes kill a container after 30 s.
	DrainLimit time.Duration

	// MaxAbandoned is the number of abandoned handlers that may still be running. If there
	// are more, Run ends with [ErrAbandoned], so that the platform starts a new process.
	// Defaults to Concurrency.
	MaxAbandoned int
}

const (
	defaultWait          = 20 * time.Second
	defaultVisibility    = time.Minute
	minVisibility        = 3 * time.Second
	defaultRecordTimeout = 15 * time.Minute
	maxRecordTimeout     = 12*time.Hour - time.Minute
	drainAndGrace        = 25 * time.Second // fits into the 30 s of platforms, together with settling
	minDrainLimit        = time.Second
	maxConcurrency       = 10_000
	maxReceive           = 10 // messages that one ReceiveMessage may return
)

func (c *Config) setDefaults(h batch.Handler) {
	c.Engine = c.Engine.WithDefaultsFor(h)
	c.Weight = cmp.Or(c.Weight, 1)
	slots := max(1, min(c.Engine.Concurrency, maxConcurrency)) // otherwise the error would also name fields derived from it
	if !c.NoHeartbeat {
		c.Engine.RecordTimeout = cmp.Or(c.Engine.RecordTimeout, defaultRecordTimeout)
		c.Visibility = cmp.Or(c.Visibility, defaultVisibility)
	}
	c.Wait = cmp.Or(c.Wait, defaultWait)
	switch {
	case c.Prefetch == 0 && isFIFO(c.Queue):
		c.Prefetch = max(slots, maxReceive) // all messages that a receive returns may be for one slot
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
	if c.Visibility >= minVisibility { // otherwise Run checks it, once it knows the queue's own
		err := c.checkVisibility(c.Visibility)
		check(err == nil, "%w", err)
	}
	check(c.DrainLimit > 0 && c.DrainLimit <= 12*time.Hour, "DrainLimit is %v, must be above 0 and up to 12h", c.DrainLimit)
	check(c.MaxAbandoned >= 1 && c.MaxAbandoned <= 10_000, "MaxAbandoned is %d, must be 1 to 10000", c.MaxAbandoned)
	return errors.Join(errs...)
}

// checkVisibility checks that records can be handled within a visibility timeout:
// Visibility, or the queue's own once that is known.
func (c *Config) checkVisibility(visibility time.Duration) error {
	most := visibility - noHeartbeatMargin(visibility)
	switch {
	case visibility < minVisibility:
		return fmt.Errorf("the queue's visibility timeout is %v: without heartbeats that is too short to handle a record. Set it, or Visibility (with package handler: SQSBATCH_VISIBILITY), to at least %v",
			visibility, minVisibility)
	case c.NoHeartbeat && c.Engine.RecordTimeout > visibility:
		return fmt.Errorf("Engine.RecordTimeout is %v, must be at most the visibility timeout, which is %v: with NoHeartbeat nothing extends it (with package handler: SQSBATCH_RECORD_TIMEOUT, SQSBATCH_VISIBILITY, SQSBATCH_HEARTBEAT)",
			c.Engine.RecordTimeout, visibility)
	case c.NoHeartbeat && c.Engine.MinRemaining >= most:
		return fmt.Errorf("Engine.MinRemaining is %v (with package handler: SQSBATCH_MIN_REMAINING): with NoHeartbeat no record would ever be started, since a record must be done in %v, the visibility timeout less a margin",
			c.Engine.MinRemaining, most)
	}
	return nil
}
