package lambda

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	awssqs "github.com/aws/aws-sdk-go-v2/service/sqs"
	"github.com/aws/aws-sdk-go-v2/service/sqs/types"
)

// Limits of an event source mapping, from "CreateEventSourceMapping" and "Using Lambda with
// Amazon SQS".
const (
	defaultBatchSize   = 10
	maxBatchSize       = 10_000
	maxBatchSizeFIFO   = 10
	maxWindow          = 300 * time.Second
	minMaxConcurrency  = 2
	maxMaxConcurrency  = 1000
	maxPollers         = 1000
	maxReceive         = 10 // messages of a ReceiveMessage
	longPoll           = 20 * time.Second
	batchWithoutWindow = 10 // larger batches need a window
)

// Mapping is an event source mapping: it feeds a function from an SQS queue, by the rules
// of the real service. Call Run in its own goroutine.
type Mapping struct {
	// Function is the function to invoke. Required.
	Function *Deployment

	// SQS is the client of the queue, such as the SDK's client of any server that speaks
	// SQS. Its HTTP client must allow requests that take longer than 20 s. Required.
	SQS SQS

	// QueueURL is the queue's URL. Required.
	QueueURL string

	// QueueARN is each record's eventSourceARN, and contains the awsRegion. Defaults to the
	// ARN in the queue's attributes.
	QueueARN string

	// BatchSize is the largest number of records of an invocation: 1 to 10,000, or 10 on a
	// FIFO queue. Defaults to 10.
	BatchSize int

	// Window is MaximumBatchingWindowInSeconds: how long a batch that is not full waits for
	// more messages, counted from its first one. Whole seconds up to 300. It is required
	// above a BatchSize of 10, and not allowed on FIFO queues. Defaults to zero: invoke
	// with the messages of the first receive.
	Window time.Duration

	// ReportBatchItemFailures is the function response type of that name. With it, the
	// response names the records that failed. Without it, any error fails the batch, and
	// any answer deletes it. Defaults to false.
	ReportBatchItemFailures bool

	// Filters are the patterns of FilterCriteria, see [ParseFilter]: at most 5, or 10 with
	// a raised quota, of up to 4,096 characters. A message that matches no pattern is
	// deleted from the queue without an invocation. Defaults to none: every message passes.
	Filters []string

	// MaximumConcurrency limits the mapping's invocations, 2 to 1,000. Defaults to zero:
	// only the function's Concurrency limits them.
	MaximumConcurrency int

	// Pollers is the number of receives that are open at the same time, 1 to 1,000, or 1 on
	// a FIFO queue. Each one gathers its own batches, so several make more and smaller
	// batches. Lambda starts with five on a standard queue. Defaults to 1: batches then
	// depend only on the queue and these settings.
	Pollers int

	// Started, Ended, Filtered and Errored observe the mapping. Each may be nil. Only one
	// of them is called at a time. Polling waits for Started and Errored. They must not
	// wait for Run to end.
	Started  func(Invocation)
	Ended    func(Ended)
	Filtered func(Filtered)
	Errored  func(*PollError)
}

// Validate returns an error that names the invalid field, its value and its bounds. Run also
// validates, and compares the function's timeout with the queue's visibility timeout.
func (m Mapping) Validate() error {
	m.BatchSize = cmp.Or(m.BatchSize, defaultBatchSize)
	fifo := m.fifo()
	switch {
	case m.Function == nil:
		return errors.New("lambda: Mapping.Function is nil: need a Deployment from Start")
	case m.SQS == nil:
		return errors.New("lambda: Mapping.SQS is nil: need a client of the queue")
	case m.QueueURL == "":
		return errors.New("lambda: Mapping.QueueURL is empty")
	case m.QueueARN != "" && region(m.QueueARN) == "":
		return fmt.Errorf("lambda: Mapping.QueueARN %q is not the ARN of an SQS queue", m.QueueARN)
	case m.BatchSize < 1 || m.BatchSize > maxBatchSize:
		return fmt.Errorf("lambda: BatchSize %d: need 1 to %d", m.BatchSize, maxBatchSize)
	case fifo && m.BatchSize > maxBatchSizeFIFO:
		return fmt.Errorf("lambda: BatchSize %d: a FIFO queue takes at most %d", m.BatchSize, maxBatchSizeFIFO)
	case fifo && m.Window != 0:
		return fmt.Errorf("lambda: MaximumBatchingWindowInSeconds %v: a FIFO queue takes none", m.Window.Seconds())
	case m.Window < 0 || m.Window > maxWindow:
		return fmt.Errorf("lambda: MaximumBatchingWindowInSeconds %v: need 0 to %v", m.Window.Seconds(), maxWindow.Seconds())
	case m.Window%time.Second != 0:
		return fmt.Errorf("lambda: MaximumBatchingWindowInSeconds %v: need whole seconds", m.Window.Seconds())
	case m.BatchSize > batchWithoutWindow && m.Window < time.Second:
		return fmt.Errorf("lambda: BatchSize %d needs MaximumBatchingWindowInSeconds of at least 1", m.BatchSize)
	case m.MaximumConcurrency != 0 && (m.MaximumConcurrency < minMaxConcurrency || m.MaximumConcurrency > maxMaxConcurrency):
		return fmt.Errorf("lambda: MaximumConcurrency %d: need %d to %d, or 0 for none", m.MaximumConcurrency, minMaxConcurrency, maxMaxConcurrency)
	case m.Pollers < 0 || m.Pollers > maxPollers:
		return fmt.Errorf("lambda: Pollers %d: need 1 to %d", m.Pollers, maxPollers)
	case fifo && m.Pollers > 1:
		return fmt.Errorf("lambda: Pollers %d: a FIFO queue takes one, which keeps its groups in order", m.Pollers)
	}
	_, err := parseFilters(m.Filters)
	return err
}

// fifo reports whether the queue is a FIFO queue, by the name: messages of fair queues also have
// a MessageGroupId.
func (m Mapping) fifo() bool {
	return strings.HasSuffix(m.QueueARN, ".fifo") || strings.HasSuffix(m.QueueURL, ".fifo")
}

// Run polls until ctx ends, and then returns nil. At the end it abandons open receives,
// releases messages that were not invoked (visibility 0), and waits for running invocations
// and settles them. This is like disabling an event source mapping. To enable it again,
// call Run again. Run returns an error at once if a field is wrong or the queue does not
// answer, and ErrClosed if the function is closed.
//
// While the function is throttled or MaximumConcurrency is reached, no receive is open. As
// on Lambda, a throttled batch waits for a free environment until its visibility timeout
// ends, and then returns to the queue.
func (m Mapping) Run(ctx context.Context) error {
	if err := m.Validate(); err != nil {
		return err
	}
	w, err := m.newWork(ctx)
	if ctx.Err() != nil {
		return nil
	}
	if err != nil {
		return err
	}
	polling, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	defer context.AfterFunc(m.Function.ctx, func() { stop(m.Function.error(ErrClosed)) })()
	w.poll(polling)
	if ctx.Err() != nil {
		return nil
	}
	return context.Cause(polling)
}

// newWork returns the mapping with its defaults and the queue's attributes.
func (m Mapping) newWork(ctx context.Context) (*work, error) {
	out, err := m.SQS.GetQueueAttributes(ctx, &awssqs.GetQueueAttributesInput{
		QueueUrl: &m.QueueURL,
		AttributeNames: []types.QueueAttributeName{
			types.QueueAttributeNameQueueArn, types.QueueAttributeNameVisibilityTimeout, types.QueueAttributeNameReceiveMessageWaitTimeSeconds,
		},
	})
	if err != nil {
		return nil, fmt.Errorf("lambda: queue %s: %w", m.QueueURL, err)
	}
	if m.QueueARN == "" {
		m.QueueARN = out.Attributes[string(types.QueueAttributeNameQueueArn)]
		if region(m.QueueARN) == "" {
			return nil, fmt.Errorf("lambda: queue %s has the QueueArn %q, which is not the ARN of an SQS queue: set Mapping.QueueARN", m.QueueURL, m.QueueARN)
		}
	}
	text := out.Attributes[string(types.QueueAttributeNameVisibilityTimeout)]
	seconds, err := strconv.Atoi(text)
	if err != nil {
		return nil, fmt.Errorf("lambda: queue %s: VisibilityTimeout %q is not a number", m.QueueURL, text)
	}
	visibility := time.Duration(seconds) * time.Second
	if timeout := m.Function.fn.Timeout; visibility < timeout {
		return nil, fmt.Errorf("lambda: queue %s: Queue visibility timeout: %d seconds is less than Function timeout: %v seconds",
			m.QueueURL, seconds, timeout.Seconds())
	}
	m.BatchSize = cmp.Or(m.BatchSize, defaultBatchSize)
	filters, _ := parseFilters(m.Filters) // Validate found no error
	wait := out.Attributes[string(types.QueueAttributeNameReceiveMessageWaitTimeSeconds)]
	return &work{
		filters:    filters,
		Mapping:    m,
		isFIFO:     m.fifo(),
		region:     region(m.QueueARN),
		visibility: visibility,
		shortPolls: wait == "" || wait == "0",
		slots:      make(chan struct{}, cmp.Or(m.MaximumConcurrency, maxConcurrency)),
		deletions:  make(chan struct{}, deleteCalls),
	}, nil
}

// region returns the region of a queue's ARN, "" for any other string.
func region(arn string) string {
	parts := strings.Split(arn, ":")
	if len(parts) != 6 || parts[0] != "arn" || parts[2] != "sqs" || parts[5] == "" {
		return ""
	}
	return parts[3]
}

// SQS has the operations that a mapping needs. The SDK's *sqs.Client implements it.
type SQS interface {
	GetQueueAttributes(context.Context, *awssqs.GetQueueAttributesInput, ...func(*awssqs.Options)) (*awssqs.GetQueueAttributesOutput, error)
	ReceiveMessage(context.Context, *awssqs.ReceiveMessageInput, ...func(*awssqs.Options)) (*awssqs.ReceiveMessageOutput, error)
	DeleteMessageBatch(context.Context, *awssqs.DeleteMessageBatchInput, ...func(*awssqs.Options)) (*awssqs.DeleteMessageBatchOutput, error)
	ChangeMessageVisibilityBatch(context.Context, *awssqs.ChangeMessageVisibilityBatchInput, ...func(*awssqs.Options)) (*awssqs.ChangeMessageVisibilityBatchOutput, error)
}
