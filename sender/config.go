package sender

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/url"
	"regexp"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/sqs"

	"github.com/sqsbatch/sqsbatch/batch"
	"github.com/sqsbatch/sqsbatch/internal/attribute"
	"github.com/sqsbatch/sqsbatch/internal/endpoint"
)

// Config configures a [Sender]. Queue is required. Other fields may be zero.
type Config struct {
	// Queue is the URL, ARN or name of the queue. A name needs the permission
	// sqs:GetQueueUrl, and is looked up before the first message is sent.
	Queue string

	// Linger is how long the first message of a batch waits for others, up to 1 min. A full
	// batch does not wait. The first message after a pause longer than Linger does not wait
	// either, if no call is in flight. Defaults to 5 ms.
	Linger time.Duration

	// Concurrency is the largest number of calls in flight, 1 to 1,000. The sender makes
	// fewer while SQS throttles or does not answer. Defaults to 16.
	Concurrency int

	// MaxBuffered is the largest number of messages in the buffer, 1 to 10,000,000. A
	// message stays in the buffer until it has a result and the done function of Enqueue has
	// returned. Send and Enqueue wait while the buffer is full. Defaults to 10,000.
	MaxBuffered int

	// MaxBufferedBytes is the largest total size of the messages in the buffer, bodies and
	// attributes, 1 MiB to 1 TiB. Defaults to 64 MiB.
	MaxBufferedBytes int64

	// CallTimeout is the timeout of a call, 100 ms to 1 min. A call that takes longer is
	// made again. On a standard queue this may send its messages twice. Defaults to 10 s.
	CallTimeout time.Duration

	// ContentBasedDeduplication sends messages without DeduplicationID as they are, for a
	// FIFO queue that has the attribute of this name: SQS derives the id from the body. With
	// Prepare, the sender derives the id from the body before Prepare. Defaults to false:
	// such messages get a random id.
	ContentBasedDeduplication bool

	// Prepare changes each message before packing, for example compresses the body. The
	// limits of SQS apply to the changed message. Prepare may add to Attributes, which is a
	// copy; changes of Group and DeduplicationID are ignored. Up to Concurrency messages are
	// prepared at the same time, and a FIFO group keeps its order. An error fails the message
	// without another try. ctx has the values of the context of Send or Enqueue, and ends when
	// the message is given up.
	//
	// With Prepare, a message that breaks a rule of SQS fails later: its Result has an [*Error]
	// that wraps the [MessageError]. payload/encoded and payload/s3payload have functions for
	// Prepare. Defaults to none.
	Prepare func(ctx context.Context, m *Message) error

	// CorrelationAttribute is the name of a message attribute, such as "correlation_id", that
	// is added to messages sent with the context of a record. The value is the record's
	// attribute of the same name, or else the record's message id. A message that has the
	// attribute, or has no room for it, is sent unchanged. Defaults to none, since SQS allows
	// only ten attributes.
	CorrelationAttribute string

	// Trace is called for each message before it is sent, with the context of Send or
	// Enqueue and with Queue. It may set TraceHeader, and add attributes to a copy of the
	// map: attributes for which there is no room are left out. The returned function, which may
	// be nil, is called once with the message's result. It must not block, nor call the
	// sender. telemetry/otel has a function for Trace. Defaults to none.
	Trace func(ctx context.Context, queue string, m *Message) func(Result)

	// OnCall is called after each SendMessageBatch, on the goroutine of the call. It must
	// not block: the results of the call wait for OnCall. Defaults to none.
	OnCall func(Call)
}

const (
	defaultLinger           = 5 * time.Millisecond
	defaultConcurrency      = 16
	defaultMaxBuffered      = 10_000
	defaultMaxBufferedBytes = 64 << 20
	defaultCallTimeout      = 10 * time.Second

	maxLinger        = time.Minute
	maxConcurrency   = 1000
	maxMaxBuffered   = 10_000_000
	maxBufferedBytes = 1 << 40
	minCallTimeout   = 100 * time.Millisecond
	maxCallTimeout   = time.Minute
)

func (c Config) withDefaults() Config {
	c.Linger = cmp.Or(c.Linger, defaultLinger)
	c.Concurrency = cmp.Or(c.Concurrency, defaultConcurrency)
	c.MaxBuffered = cmp.Or(c.MaxBuffered, defaultMaxBuffered)
	c.MaxBufferedBytes = cmp.Or(c.MaxBufferedBytes, defaultMaxBufferedBytes)
	c.CallTimeout = cmp.Or(c.CallTimeout, defaultCallTimeout)
	return c
}

func (c *Config) validate(client *sqs.Client) error {
	var errs []error
	check := func(good bool, format string, args ...any) {
		if !good {
			errs = append(errs, fmt.Errorf("sender: "+format, args...))
		}
	}
	check(client != nil, "the client is nil")
	if err := checkQueue(c.Queue); err != nil {
		errs = append(errs, err)
	}
	check(c.Linger >= 0 && c.Linger <= maxLinger, "Linger is %v, must be 0 (for the default) to %v", c.Linger, maxLinger)
	check(c.Concurrency >= 1 && c.Concurrency <= maxConcurrency, "Concurrency is %d, must be 1 to %d", c.Concurrency, maxConcurrency)
	check(c.MaxBuffered >= 1 && c.MaxBuffered <= maxMaxBuffered, "MaxBuffered is %d, must be 1 to %d", c.MaxBuffered, maxMaxBuffered)
	check(c.MaxBufferedBytes >= maxBytes && c.MaxBufferedBytes <= maxBufferedBytes,
		"MaxBufferedBytes is %d, must be %d, since a message can be that large, to %d", c.MaxBufferedBytes, maxBytes, maxBufferedBytes)
	check(c.CallTimeout >= minCallTimeout && c.CallTimeout <= maxCallTimeout, "CallTimeout is %v, must be %v to %v", c.CallTimeout, minCallTimeout, maxCallTimeout)
	check(!c.ContentBasedDeduplication || c.fifo(), "ContentBasedDeduplication is set, but %s is not a FIFO queue", c.Queue)
	if name := c.CorrelationAttribute; name != "" {
		reason := attribute.Fault(name, batch.MessageAttribute{DataType: "String", StringValue: "-"})
		check(reason == "", "CorrelationAttribute is %q, which %s", name, reason)
	}
	return errors.Join(errs...)
}

// fifo reports whether the queue is a FIFO queue: their names end in .fifo.
func (c *Config) fifo() bool { return strings.HasSuffix(strings.TrimSuffix(c.Queue, "/"), ".fifo") }

// queueName is the rule of CreateQueue in the API reference.
var queueName = regexp.MustCompile(`^[A-Za-z0-9_-]+(\.fifo)?$`)

func checkQueue(queue string) error {
	name := queue
	switch {
	case queue == "":
		return errors.New("sender: Queue is empty, must be the URL, the ARN or the name of a queue")
	case strings.HasPrefix(queue, "arn:"):
		arn, err := endpoint.ParseARN(queue)
		if err != nil {
			return fmt.Errorf("sender: Queue: %w", err)
		}
		name = arn.Name
	case strings.Contains(queue, "://"):
		u, err := url.Parse(queue)
		if err != nil {
			return fmt.Errorf("sender: Queue: %w", err)
		}
		part := strings.Split(strings.Trim(u.Path, "/"), "/")
		if u.Host == "" || len(part) < 2 {
			return fmt.Errorf("sender: Queue is %q, which is not a queue's URL (https://HOST/ACCOUNT/NAME)", queue)
		}
		name = part[len(part)-1]
	}
	if len(name) > 80 || !queueName.MatchString(name) {
		return fmt.Errorf("sender: Queue is %q, whose name must have 1 to 80 letters, digits, hyphens and underscores, and may end in .fifo", queue)
	}
	return nil
}
