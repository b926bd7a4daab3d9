package longpoll

import (
	"cmp"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/sqs"
	"github.com/sqsbatch/sqsbatch/batch"
	"github.com/sqsbatch/sqsbatch/internal/runner"
	"github.com/sqsbatch/sqsbatch/partialfailure"
)

// Config configures a [Poller]. Queue and SQS are required. handler.Config and its PollConfig
// describe the other fields.
type Config struct {
	// Queue is the queue's URL, its ARN or its name.
	Queue string
	// SQS is the client. The timeout of its HTTP client must be longer than Wait.
	SQS *sqs.Client
	// Engine configures how records are handled. Its Concurrency is the number of slots: of
	// records of a standard queue, or groups of a FIFO queue, that are handled at a time.
	Engine runner.Config
	// Slots are shared with other pollers, among which this one has a Priority. Nil if only
	// Engine.Concurrency limits the slots.
	Slots    *runner.Slots
	Priority int
	Hooks    batch.Hooks // validated
	Failures partialfailure.Config

	Wait         time.Duration
	Prefetch     int // -1 means none
	Visibility   time.Duration
	UntilEmpty   bool
	DrainLimit   time.Duration
	MaxAbandoned int
}

const (
	defaultWait          = 20 * time.Second
	defaultVisibility    = time.Minute
	defaultRecordTimeout = 15 * time.Minute
	drainAndGrace        = 25 * time.Second // fits into the 30 s of platforms, together with settling
	minDrainLimit        = time.Second
	maxReceive           = 10 // messages that one ReceiveMessage may return
)

// WithDefaults returns the configuration that a Poller of h has.
func (c Config) WithDefaults(h batch.Handler) Config {
	c.Engine = c.Engine.WithDefaults(h)
	slots := c.Engine.Concurrency
	c.Engine.RecordTimeout = cmp.Or(c.Engine.RecordTimeout, defaultRecordTimeout)
	c.Visibility = cmp.Or(c.Visibility, defaultVisibility)
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
	return c
}

// StopTakes returns what [Poller.StopTakes] does of a configuration with its defaults.
func (c Config) StopTakes() time.Duration { return c.DrainLimit + c.Engine.Grace + flushTimeout }
