package settle

import (
	"cmp"
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/sqs/types"
	"github.com/sqsbatch/sqsbatch/batch"
	"github.com/sqsbatch/sqsbatch/internal/attribute"
	"github.com/sqsbatch/sqsbatch/internal/runner"
	"github.com/sqsbatch/sqsbatch/partialfailure"
)

// send sends a record to the dead-letter queue when that queue is known. If its queue gives no
// new answer soon, the previous answer is used. Without any answer a poller does not wait for
// long: the record comes back, and the question is asked again then. A batch waits for as long
// as it can.
func (s *Settler) send(d *runner.Delivery) {
	arn := d.Result.Record.QueueARN
	if s.cfg.DeadLetterQueue != "" {
		s.enqueue(opSend, d)
		return
	}
	s.whenKnown(arn, func() {
		_, known := s.queues.known(arn)
		answered, _ := s.queues.latest(arn)
		until := sooner(d.Settling.Until, s.lastTry)
		over := s.asks.Err() != nil || !until.IsZero() && !time.Now().Before(until)
		if known || answered || over || s.failureFor > 0 {
			s.enqueue(opSend, d)
		} else {
			s.send(d)
		}
	})
}

// deadLetterQueue returns the URL or ARN of a queue's dead-letter queue, or an error if
// there is none or it is not known.
func (p *Policy) deadLetterQueue(arn string) (target string, err error) {
	a, known := p.queues.known(arn)
	target = cmp.Or(p.cfg.DeadLetterQueue, a.deadLetterARN)
	switch {
	case target == "" && !known:
		err = errUnknown
	case target == "":
		err = errNoDeadLetterQueue
	case sameQueue(target, arn):
		err = fmt.Errorf("%w: %s", errOwnQueue, target) // each copy would be a new message at its first attempt, without end
	}
	return target, err
}

// deadLetter is the record at a position as it was sent, byte for byte, and a
// [partialfailure.Origin].
func (c *call) deadLetter(k int, fifo bool) types.SendMessageBatchRequestEntry {
	j := &c.jobs[k]
	record := j.result.Record
	attributes := attribute.SDK(record.MessageAttributes)
	if attributes == nil {
		attributes = map[string]types.MessageAttributeValue{}
	}
	// An earlier one is removed even if there is no room for another: it would be wrong.
	delete(attributes, partialfailure.OriginAttribute)
	var origin types.MessageAttributeValue
	if origin, j.noOrigin = c.origin(&j.result); j.noOrigin == nil {
		attributes[partialfailure.OriginAttribute] = origin
	}
	e := types.SendMessageBatchRequestEntry{
		Id: idOf(k), MessageBody: &record.Body, MessageAttributes: attributes, MessageSystemAttributes: attribute.Trace(record.TraceHeader),
	}
	group := record.GroupID
	if fifo {
		// Do not use the record's own deduplication id: another message may have the same
		// (sent five minutes apart, or in another group), and SQS would drop the second
		// one. With the message's id, sending the same message again has no further effect.
		e.MessageDeduplicationId = &record.MessageID
		group = cmp.Or(group, record.MessageID)
	}
	if group != "" {
		e.MessageGroupId = &group
	}
	return e
}

// fitting is how many records fit into one call to the dead-letter queue.
func fitting(list []*runner.Delivery) (n int) {
	size := 0
	for _, d := range list {
		if size += messageSize(d.Result.Record) + maxOrigin; n > 0 && size > maxPayload {
			break
		}
		n++
	}
	return n
}

// messageSize is what SQS counts: the body and every attribute's name, type and value.
func messageSize(r *batch.Record) int {
	size := len(r.Body)
	for name, a := range r.MessageAttributes {
		size += attributeSize(name, a)
	}
	return size
}

func attributeSize(name string, a batch.MessageAttribute) int {
	return len(name) + len(a.DataType) + len(a.StringValue) + len(a.BinaryValue)
}

const (
	maxPayload    = 1 << 20 // bytes over all messages of a call, and of each
	maxAttributes = 10
	// maxOrigin is the most that an Origin adds to a message: name, type and value.
	maxOrigin  = 1024
	originType = "String"
)

var errNoRoom = errors.New("the message has ten attributes, or would exceed 1 MiB")

// origin returns the attribute for a failure, or why the message cannot have it.
func (p *Policy) origin(r *batch.Result) (none types.MessageAttributeValue, err error) {
	record := r.Record
	attributes, size := len(record.MessageAttributes), messageSize(record)
	if a, redriven := record.MessageAttributes[partialfailure.OriginAttribute]; redriven {
		attributes, size = attributes-1, size-attributeSize(partialfailure.OriginAttribute, a)
	}
	o := partialfailure.Origin{
		MessageID: record.MessageID, Attempts: record.Attempt, FirstReceived: record.FirstReceivedAt.UTC(), Queue: record.QueueARN, By: p.cfg.Name,
	}
	if r.Err != nil {
		o.Reason = fmt.Sprint(r.Err) // which contains a panic of the user's method
	}
	if !r.Started.IsZero() {
		o.FailedAt = r.Started.Add(r.Duration).UTC().Truncate(time.Millisecond)
	}
	value, ok := o.Value(min(maxOrigin, maxPayload-size) - len(partialfailure.OriginAttribute) - len(originType))
	if !ok || attributes >= maxAttributes {
		return none, errNoRoom
	}
	return types.MessageAttributeValue{DataType: aws.String(originType), StringValue: &value}, nil
}

// idOf is the id of the entry at a position.
func idOf(k int) *string { return aws.String(strconv.Itoa(k)) }
