package batch

import (
	"context"
	"strings"
	"time"

	"github.com/sqsbatch/sqsbatch/internal/ctxkey"
	"github.com/sqsbatch/sqsbatch/internal/valuectx"
)

// Record is one SQS message as it was received, on Lambda or by a long poll.
// It is passed by value, so that a handler that was abandoned can do it no harm; its
// map and slices are shared and must not be changed.
//
// The fields are those of the Lambda event and of ReceiveMessage: see "Using
// Lambda with Amazon SQS" in the AWS Lambda Developer Guide.
type Record struct {
	// MessageID is SQS's id of the message. The same message keeps it over all
	// its deliveries, and one batch may hold it twice.
	MessageID string
	// ReceiptHandle names this delivery of the message.
	ReceiptHandle string
	// Body is the message's text.
	Body string

	// Attempt counts the deliveries of the message, this one included
	// (ApproximateReceiveCount): 1 at the first. It is 0 when SQS's count is
	// missing or is no number.
	Attempt int
	// SentAt is when the message was sent (SentTimestamp). Zero when unknown.
	SentAt time.Time
	// FirstReceivedAt is when the message was first received
	// (ApproximateFirstReceiveTimestamp). Zero when unknown.
	FirstReceivedAt time.Time
	// ReceivedAt is when this delivery was received by a long poll. Zero on
	// Lambda, which does not tell.
	ReceivedAt time.Time
	// SenderID is the IAM id of who sent the message.
	SenderID string
	// GroupID is the MessageGroupId. FIFO queues order by it; standard queues
	// may carry it too (fair queues), where it means nothing for order.
	GroupID string
	// DeduplicationID and SequenceNumber are set by FIFO queues only.
	DeduplicationID string
	SequenceNumber  string
	// TraceHeader is the X-Ray header (AWSTraceHeader), if the sender gave one.
	TraceHeader string
	// DeadLetterQueueSourceARN is the queue that a redriven message came from.
	DeadLetterQueueSourceARN string
	// OtherAttributes holds system attributes that have no field here. Usually nil.
	OtherAttributes map[string]string

	// MessageAttributes are the attributes that the sender gave, by name.
	MessageAttributes map[string]MessageAttribute

	// MD5OfBody and MD5OfMessageAttributes are SQS's digests, in hex.
	MD5OfBody              string
	MD5OfMessageAttributes string

	// QueueARN is the queue that delivered the message.
	QueueARN string
	// Region is the queue's region.
	Region string
}

// MessageAttribute is a typed value beside the body. DataType is "String",
// "Number" or "Binary", optionally followed by a dot and a label of the
// sender's; binary types carry BinaryValue, the others StringValue.
type MessageAttribute struct {
	DataType    string
	StringValue string
	BinaryValue []byte
}

// FIFO reports whether the record came from a FIFO queue. Only the queue's
// name tells: standard queues may carry a GroupID as well.
func (r *Record) FIFO() bool { return strings.HasSuffix(r.QueueARN, ".fifo") }

// QueueName returns a queue's name, which ends its ARN and its URL:
// "orders" of "arn:aws:sqs:eu-west-1:123456789012:orders". A name is its own.
func QueueName(arnOrURL string) string {
	s := strings.TrimRight(arnOrURL, "/")
	return s[strings.LastIndexAny(s, ":/")+1:]
}

// RecordFrom returns the record that ctx belongs to, so that a function which
// is given only a decoded body can ask for the id, the attempt or an
// attribute. It reports false outside a record's context.
func RecordFrom(ctx context.Context) (Record, bool) {
	if r, ok := ctx.Value(ctxkey.Record{}).(*Record); ok {
		return *r, true
	}
	return Record{}, false
}

// WithRecord returns a context from which [RecordFrom] gets r. The engine does
// this by itself: it is for middleware that hands on another record than it was
// given, and for tests of functions that ask for their record.
func WithRecord(ctx context.Context, r Record) context.Context {
	return valuectx.With(ctx, ctxkey.Record{}, &r)
}

// Stopping returns a channel that is closed when the process begins to stop, for a handler
// that waits for something which stops as well: a worker that it hands its record to. The
// handler may also go on until its context ends (longpoll.Config.DrainLimit). To give
// the record back at once, without a backoff, it returns [ErrStopped].
//
//	select {
//	case jobs <- job:
//	case <-batch.Stopping(ctx):
//		return batch.ErrStopped
//	}
//
// On Lambda, where invocations end and processes are not stopped, and outside a record's
// context it is nil, which is never ready.
func Stopping(ctx context.Context) <-chan struct{} {
	stopping, _ := ctx.Value(ctxkey.Stopping{}).(<-chan struct{})
	return stopping
}
