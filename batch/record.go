package batch

import (
	"context"
	"strings"
	"time"

	"github.com/sqsbatch/sqsbatch/internal/ctxkey"
)

// Record is one SQS message, received on Lambda or by a long poll. It is passed by value,
// so an abandoned handler cannot change it. Its map and slices are shared and must not be
// changed.
//
// The fields are those of the Lambda event and of ReceiveMessage: see "Using Lambda with
// Amazon SQS" in the AWS Lambda Developer Guide.
type Record struct {
	// MessageID is the id that SQS gave the message. It stays the same over all deliveries,
	// and one batch may contain it twice.
	MessageID string
	// ReceiptHandle identifies this delivery of the message.
	ReceiptHandle string
	// Body is the message's text.
	Body string

	// Attempt is the number of deliveries of the message, including this one
	// (ApproximateReceiveCount): 1 at the first. It is 0 if SQS's count is missing or is
	// not a number.
	Attempt int
	// SentAt is when the message was sent (SentTimestamp). Zero when unknown.
	SentAt time.Time
	// FirstReceivedAt is when the message was first received
	// (ApproximateFirstReceiveTimestamp). Zero when unknown.
	FirstReceivedAt time.Time
	// ReceivedAt is when a long poll received this delivery. Zero on Lambda, where the
	// event does not have it.
	ReceivedAt time.Time
	// SenderID is the IAM id of the sender.
	SenderID string
	// GroupID is the MessageGroupId. FIFO queues use it for order. Standard queues may have
	// it for fair queues, where it has no effect on order.
	GroupID string
	// DeduplicationID and SequenceNumber are set only by FIFO queues.
	DeduplicationID string
	SequenceNumber  string
	// TraceHeader is the X-Ray header (AWSTraceHeader), if the sender gave one.
	TraceHeader string
	// DeadLetterQueueSourceARN is the queue from which a redriven message came.
	DeadLetterQueueSourceARN string
	// OtherAttributes has the system attributes for which there is no field here. Usually
	// nil.
	OtherAttributes map[string]string

	// MessageAttributes are the attributes that the sender set, by name.
	MessageAttributes map[string]MessageAttribute

	// MD5OfBody and MD5OfMessageAttributes are SQS's digests, in hex.
	MD5OfBody              string
	MD5OfMessageAttributes string

	// QueueARN is the queue that delivered the message.
	QueueARN string
	// Region is the queue's region.
	Region string
}

// MessageAttribute is a typed value that is sent together with the body. DataType is
// "String", "Number" or "Binary". A dot and a label of the sender may follow. Binary types
// have BinaryValue, the others StringValue.
type MessageAttribute struct {
	DataType    string
	StringValue string
	BinaryValue []byte
}

// FIFO reports whether the record came from a FIFO queue. Only the queue's name says so:
// messages of standard queues may have a GroupID as well.
func (r *Record) FIFO() bool { return strings.HasSuffix(r.QueueARN, ".fifo") }

// QueueName returns the name of a queue, which is the last part of its ARN and of its URL:
// "orders" for "arn:aws:sqs:eu-west-1:123456789012:orders". A name is returned unchanged.
func QueueName(arnOrURL string) string {
	s := strings.TrimRight(arnOrURL, "/")
	return s[strings.LastIndexAny(s, ":/")+1:]
}

// RecordFrom returns the record of ctx, for functions that get only a decoded body and need the
// id, the attempt or an attribute. It returns false if ctx is not a record's context.
func RecordFrom(ctx context.Context) (Record, bool) {
	if r, ok := ctx.Value(ctxkey.Record{}).(*Record); ok {
		return *r, true
	}
	return Record{}, false
}

// WithRecord returns a context from which [RecordFrom] returns r. The engine calls it for
// every record. Call it in middleware that passes on a changed record, and in tests of
// functions that call RecordFrom.
func WithRecord(ctx context.Context, r Record) context.Context {
	return ctxkey.With(ctx, ctxkey.Record{}, &r)
}

// Stopping returns a channel that is closed when the process begins to stop. Use it in a
// handler that passes its record to a worker which stops as well. To release the record at once,
// without a backoff, return [ErrStopped]. A handler may also continue until its context ends
// (see handler.PollConfig.DrainLimit).
//
//	select {
//	case jobs <- job:
//	case <-batch.Stopping(ctx):
//		return batch.ErrStopped
//	}
//
// The channel is nil, so it is never ready, on Lambda and if ctx is not a record's context.
// On Lambda invocations end, but the process is not stopped.
func Stopping(ctx context.Context) <-chan struct{} {
	stopping, _ := ctx.Value(ctxkey.Stopping{}).(<-chan struct{})
	return stopping
}
