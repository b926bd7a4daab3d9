package queue

import (
	"context"
	"encoding/json"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/aws/middleware"
	"github.com/aws/aws-sdk-go-v2/service/sqs"
	"github.com/aws/aws-sdk-go-v2/service/sqs/types"

	"github.com/sqsbatch/sqsbatch/batch"
	"github.com/sqsbatch/sqsbatch/cmd/sqsbatch/internal/dlq/letter"
	"github.com/sqsbatch/sqsbatch/cmd/sqsbatch/internal/message"
	"github.com/sqsbatch/sqsbatch/internal/attribute"
	"github.com/sqsbatch/sqsbatch/internal/sqserror"
)

// Quotas of SQS ("Amazon SQS message quotas").
const (
	MaxInFlight = 120_000
	maxPayload  = 1 << 20 // bytes of a message, and of the messages of a call
)

// A Queue is one that was found.
type Queue struct {
	client *sqs.Client
	URL    string
	ARN    string
	// Visible, InFlight and Delayed are how many messages it has, about.
	Visible, InFlight, Delayed int
	// Retention is how long it keeps messages.
	Retention time.Duration
	// Attributes are all of them, as they were when it was found.
	Attributes map[string]string
	// DeadLetterQueue is the ARN of its own dead-letter queue, "" without one.
	DeadLetterQueue string
	// Asked is SQS's time when it answered, to the second; this machine's if SQS did not
	// say.
	Asked time.Time

	mu          sync.Mutex
	hiddenUntil time.Time // see HiddenUntil
	hiddenBy    string
}

// Name is the queue's name.
func (q *Queue) Name() string { return batch.QueueName(q.ARN) }

// FIFO reports whether it is a FIFO queue.
func (q *Queue) FIFO() bool { return strings.HasSuffix(q.ARN, ".fifo") }

// Refresh reads the queue's attributes again.
func (q *Queue) Refresh(ctx context.Context) error { return q.refresh(ctx, Patience) }

func (q *Queue) refresh(ctx context.Context, patience time.Duration) error {
	out, err := Call(ctx, patience, q.client.GetQueueAttributes, &sqs.GetQueueAttributesInput{
		QueueUrl: &q.URL, AttributeNames: []types.QueueAttributeName{types.QueueAttributeNameAll},
	})
	if err != nil {
		return Advise(err, "GetQueueAttributes", q.URL)
	}
	number := func(name types.QueueAttributeName) int {
		n, _ := strconv.Atoi(out.Attributes[string(name)]) // 0 if a server does not say
		return n
	}
	if q.ARN == "" { // other goroutines read it while a scan asks again
		q.ARN, q.Attributes = out.Attributes["QueueArn"], out.Attributes
	}
	q.Visible = number(types.QueueAttributeNameApproximateNumberOfMessages)
	q.InFlight = number(types.QueueAttributeNameApproximateNumberOfMessagesNotVisible)
	q.Delayed = number(types.QueueAttributeNameApproximateNumberOfMessagesDelayed)
	q.Retention = time.Duration(number(types.QueueAttributeNameMessageRetentionPeriod)) * time.Second
	var policy struct{ DeadLetterTargetArn string }
	_ = json.Unmarshal([]byte(out.Attributes["RedrivePolicy"]), &policy) // "" is no policy
	q.DeadLetterQueue = policy.DeadLetterTargetArn
	var said bool
	if q.Asked, said = middleware.GetServerTime(out.ResultMetadata); !said {
		q.Asked = time.Now()
	}
	return nil
}

// Sources are the ARNs or URLs of the queues whose dead-letter queue this one is.
func (q *Queue) Sources(ctx context.Context, patience time.Duration) (urls []string, err error) {
	in := &sqs.ListDeadLetterSourceQueuesInput{QueueUrl: &q.URL, MaxResults: aws.Int32(1000)}
	for {
		page, err := Call(ctx, patience, q.client.ListDeadLetterSourceQueues, in)
		if err != nil {
			return nil, Advise(err, "ListDeadLetterSourceQueues", q.Name())
		}
		urls = append(urls, page.QueueUrls...)
		if in.NextToken = page.NextToken; aws.ToString(in.NextToken) == "" {
			return urls, nil
		}
	}
}

// receiveWait is how long a receive waits for a message. SQS asks all its servers only if
// a receive waits ("Amazon SQS short and long polling"), so an empty answer means that
// there is none.
const receiveWait = 1 * time.Second

// Receive receives up to n messages, at most ten, and hides them for a time.
func (q *Queue) Receive(ctx context.Context, n int, hide time.Duration) ([]letter.Letter, error) {
	receive := func(ctx context.Context, in *sqs.ReceiveMessageInput, options ...func(*sqs.Options)) (*sqs.ReceiveMessageOutput, error) {
		out, err := q.client.ReceiveMessage(ctx, in, options...)
		if sqserror.Unsure(err) {
			q.Hidden(hide, lostReceive)
		}
		return out, err
	}
	out, err := Call(ctx, Patience, receive, &sqs.ReceiveMessageInput{
		QueueUrl: &q.URL, MaxNumberOfMessages: int32(n),
		VisibilityTimeout: int32(hide / time.Second), WaitTimeSeconds: int32(receiveWait / time.Second),
		MessageAttributeNames:       []string{"All"},
		MessageSystemAttributeNames: []types.MessageSystemAttributeName{types.MessageSystemAttributeNameAll},
	})
	if err != nil {
		return nil, Advise(err, "ReceiveMessage", q.Name())
	}
	letters := make([]letter.Letter, len(out.Messages))
	for i := range out.Messages {
		letters[i] = letter.FromSQS(&out.Messages[i])
		letters[i].Queue = q.ARN
	}
	return letters, nil
}

// lostReceive hides messages: SQS may have carried out the call.
const lostReceive = "a receive without an answer"

// Hidden notes that something, such as a process that was killed, may have hidden messages
// for a time from now without anyone holding them.
func (q *Queue) Hidden(d time.Duration, by string) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if until := time.Now().Add(d); !q.hiddenUntil.After(until) {
		q.hiddenUntil, q.hiddenBy = until, by
	}
}

// HiddenUntil is when such messages are visible again, and what has hidden them. The time is
// zero if there are none.
func (q *Queue) HiddenUntil() (until time.Time, by string) {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.hiddenUntil, q.hiddenBy
}

// Hide hides messages for a time from now; 0 makes them visible. errs are by position.
func (q *Queue) Hide(ctx context.Context, handles []string, d time.Duration) (errs []error) {
	errs, _ = batchOf(ctx, len(handles), inTens, func(ctx context.Context, positions []int) (confirmed []*string, failed []types.BatchResultErrorEntry, err error) {
		in := &sqs.ChangeMessageVisibilityBatchInput{QueueUrl: &q.URL}
		for _, i := range positions {
			in.Entries = append(in.Entries, types.ChangeMessageVisibilityBatchRequestEntry{
				Id: entryID(i), ReceiptHandle: &handles[i], VisibilityTimeout: int32(d / time.Second),
			})
		}
		out, err := q.client.ChangeMessageVisibilityBatch(ctx, in)
		if err != nil {
			return nil, nil, err
		}
		for _, ok := range out.Successful {
			confirmed = append(confirmed, ok.Id)
		}
		return confirmed, out.Failed, nil
	})
	if _, by := q.HiddenUntil(); d > 0 && by == lostReceive {
		// With the handle of an earlier receive this may have hidden a message that nobody
		// holds, because the answer to its latest receive was lost.
		q.Hidden(d, lostReceive)
	}
	return q.advise(errs, "ChangeMessageVisibility")
}

// Delete deletes messages. errs are by position. SQS confirms a deletion with a handle
// that is not the message's latest, without deleting it (API reference, DeleteMessage).
func (q *Queue) Delete(ctx context.Context, handles []string) (errs []error) {
	errs, _ = batchOf(ctx, len(handles), inTens, func(ctx context.Context, positions []int) (confirmed []*string, failed []types.BatchResultErrorEntry, err error) {
		in := &sqs.DeleteMessageBatchInput{QueueUrl: &q.URL}
		for _, i := range positions {
			in.Entries = append(in.Entries, types.DeleteMessageBatchRequestEntry{Id: entryID(i), ReceiptHandle: &handles[i]})
		}
		out, err := q.client.DeleteMessageBatch(ctx, in)
		if err != nil {
			return nil, nil, err
		}
		for _, ok := range out.Successful {
			confirmed = append(confirmed, ok.Id)
		}
		return confirmed, out.Failed, nil
	})
	return q.advise(errs, "DeleteMessage")
}

// Send sends messages. errs are by position. unsure says that a try failed and may have sent
// the message. If errs has no error for it, it may have been sent twice to a standard queue.
// A FIFO queue drops the second one, by the deduplication id, if it comes within five
// minutes.
func (q *Queue) Send(ctx context.Context, messages []message.Message) (errs []error, unsure []bool) {
	bySize := func(positions []int) [][]int { return fitting(messages, positions) }
	errs, unsure = batchOf(ctx, len(messages), bySize, func(ctx context.Context, positions []int) (confirmed []*string, failed []types.BatchResultErrorEntry, err error) {
		in := &sqs.SendMessageBatchInput{QueueUrl: &q.URL}
		for _, i := range positions {
			in.Entries = append(in.Entries, q.entry(i, &messages[i]))
		}
		out, err := q.client.SendMessageBatch(ctx, in)
		if err != nil {
			return nil, nil, err
		}
		for _, ok := range out.Successful {
			confirmed = append(confirmed, ok.Id)
		}
		return confirmed, out.Failed, nil
	})
	return q.advise(errs, "SendMessage"), unsure
}

// entry is a message as it is sent. A standard queue takes no deduplication id.
func (q *Queue) entry(position int, m *message.Message) types.SendMessageBatchRequestEntry {
	e := types.SendMessageBatchRequestEntry{
		Id: entryID(position), MessageBody: &m.Body, MessageAttributes: attribute.SDK(m.Attributes), MessageSystemAttributes: attribute.Trace(m.TraceHeader),
	}
	if m.GroupID != "" {
		e.MessageGroupId = &m.GroupID
	}
	if m.DeduplicationID != "" && q.FIFO() {
		e.MessageDeduplicationId = &m.DeduplicationID
	}
	return e
}

// fitting divides positions into chunks that fit into a call: ten messages, and 1 MiB.
func fitting(messages []message.Message, positions []int) (chunks [][]int) {
	begin, bytes := 0, 0
	for k, i := range positions {
		size := messages[i].Size()
		if k > begin && (k-begin == 10 || bytes+size > maxPayload) {
			chunks = append(chunks, positions[begin:k:k])
			begin, bytes = k, 0
		}
		bytes += size
	}
	return append(chunks, positions[begin:])
}

func (q *Queue) advise(errs []error, operation string) []error {
	for i, err := range errs {
		errs[i] = Advise(err, operation, q.Name())
	}
	return errs
}
