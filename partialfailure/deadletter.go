package partialfailure

import (
	"context"
	"slices"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/sqs"
	"github.com/aws/aws-sdk-go-v2/service/sqs/types"
	"github.com/sqsbatch/sqsbatch/batch"
)

// deadLetter sends records to the dead-letter queue. Only those that SQS confirms
// are out of their own queue, and out of the way of those skipped because of them.
func (st *Settlement) deadLetter(arn string, entries []*entry) {
	failures := make([]*batch.Result, len(entries))
	for k, e := range entries {
		failures[k] = e.Result
	}
	url, errs := st.send(arn, failures)
	st.mu.Lock()
	defer st.mu.Unlock()
	for k, e := range entries {
		if errs[k] != nil {
			st.comeBack(e.group, true)
			continue
		}
		// Nothing is in the way of those behind it any more: they come back at once.
		e.group.outcome, e.group.queue = batch.DeadLettered, url
		st.enqueue(opVisibility, e.group.entries[1:]...)
	}
	if !st.closed {
		st.flush(false)
	}
}

// send makes the call. It returns the dead-letter queue's URL, and each failure's
// error, nil where SQS confirmed it.
func (st *Settlement) send(arn string, failures []*batch.Result) (url string, errs []error) {
	target := st.deadLetterQueue(arn)
	if target == "" {
		return "", slices.Repeat([]error{errNoDeadLetterQueue}, len(failures))
	}
	errs = st.call(opSend, arn, target, len(failures), func(ctx context.Context, q queue, left []int) ([]*string, []types.BatchResultErrorEntry, error) {
		url = q.url
		in := &sqs.SendMessageBatchInput{QueueUrl: &q.url}
		for _, k := range left {
			in.Entries = append(in.Entries, st.entry(k, failures[k], strings.HasSuffix(q.url, ".fifo")))
		}
		out, err := q.client.SendMessageBatch(ctx, in, q.options...)
		if err != nil {
			return nil, nil, err
		}
		return idsOf(out.Successful, func(e types.SendMessageBatchResultEntry) *string { return e.Id }), out.Failed, nil
	})
	return url, errs
}

// deadLetterQueue returns the URL or ARN of the dead-letter queue of a queue,
// or "" if it has none, or none that is known.
func (st *Settlement) deadLetterQueue(arn string) string {
	target := st.cfg.DeadLetterQueue
	if target == "" {
		policy, err := st.attributesOf(arn)
		if err != nil {
			return ""
		}
		target = policy.deadLetterARN
	}
	if target == "" {
		st.refuse(opSend, arn, errNoDeadLetterQueue)
		return ""
	}
	if sameQueue(target, arn) {
		// Each copy would be a new message at its first attempt, without end.
		st.refuse(opSend, target, errOwnQueue)
		return ""
	}
	return target
}

// entry is the record as it was sent, byte for byte, and an [Origin].
func (s *Settler) entry(k int, r *batch.Result, fifo bool) types.SendMessageBatchRequestEntry {
	record := r.Record
	e := types.SendMessageBatchRequestEntry{Id: idOf(k), MessageBody: &record.Body}
	attributes := make(map[string]types.MessageAttributeValue, len(record.MessageAttributes)+1)
	for name, a := range record.MessageAttributes {
		v := types.MessageAttributeValue{DataType: aws.String(a.DataType)}
		if strings.HasPrefix(a.DataType, "Binary") {
			v.BinaryValue = a.BinaryValue
		} else {
			v.StringValue = aws.String(a.StringValue)
		}
		attributes[name] = v
	}
	// An earlier one goes even if there is no room for another: it would be wrong.
	delete(attributes, OriginAttribute)
	if origin, err := s.origin(r); err == nil {
		attributes[OriginAttribute] = origin
	}
	if len(attributes) > 0 {
		e.MessageAttributes = attributes
	}
	if record.TraceHeader != "" {
		e.MessageSystemAttributes = map[string]types.MessageSystemAttributeValue{
			"AWSTraceHeader": {DataType: aws.String("String"), StringValue: &record.TraceHeader},
		}
	}
	if record.GroupID != "" {
		e.MessageGroupId = &record.GroupID
	}
	if fifo {
		// Not the record's own deduplication id: another message may have it
		// too (sent five minutes apart, or in another group), and the second
		// of them would be swallowed. With the message's id, sending the same
		// message again is still sending it once.
		e.MessageDeduplicationId = &record.MessageID
		if record.GroupID == "" {
			e.MessageGroupId = &record.MessageID
		}
	}
	return e
}

// fitting is how many entries fit into one call to the dead-letter queue.
func fitting(entries []*entry) (n int) {
	size := 0
	for _, e := range entries {
		if size += messageSize(e.Record) + maxOrigin; n > 0 && size > maxPayload {
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

// inPlacePatience is how long a FIFO group waits for Bury, whose calls are then made
// again beside it. It is more than a settlement of a long poll has.
const inPlacePatience = 12 * time.Second

// DeadLetter dead-letters a record of a FIFO group in place: it sends the record to the
// dead-letter queue, or drops it, if it failed for good or for the last time before
// SQS would move it there, so that the records behind it are handled in the same
// delivery: see package runner. They were delivered as often as it was, and SQS
// would move them with the next delivery, although no handler has seen them.
//
// It returns true only if SQS has confirmed it, and sends nothing after the end of
// ctx. With OnPermanent Retry it returns false.
func (st *Settlement) DeadLetter(ctx context.Context, r *batch.Result) bool {
	policy := st.onPermanent(batch.VerdictOf(r.Err))
	if policy == Drop {
		r.Outcome = batch.Dropped
		return true
	}
	_, known := st.maxReceiveCount(r.Record.QueueARN)
	if ctx.Err() != nil || policy == Retry && (st.cfg.OnPermanent == Retry || known && !st.Settler.LastAttempt(r.Record)) {
		return false
	}
	failed := *r // r is the engine's again when it has given up on this
	sent := make(chan string, 1)
	st.mu.Lock()
	if st.closed {
		st.mu.Unlock()
		return false
	}
	st.inPlace[failed.Record] = ""
	st.background(func() { sent <- st.sendInPlace(&failed, policy) })
	st.mu.Unlock()
	// Not until the end of ctx: a send that is under way may still be confirmed. The
	// engine gives up on it by itself, see route, and the send ends with the
	// settlement's calls.
	url := ""
	select {
	case url = <-sent:
	case <-time.After(inPlacePatience): // the other records of the batch need the worker
	}
	if url == "" {
		return false
	}
	r.Outcome, r.DeadLetterQueue = batch.DeadLettered, url
	return true
}

// sendInPlace returns the URL of the dead-letter queue once that has the record, or "".
func (st *Settlement) sendInPlace(failed *batch.Result, policy OnPermanent) (url string) {
	if policy == DeadLetter || st.isLast(failed.Record) {
		if to, errs := st.send(failed.Record.QueueARN, []*batch.Result{failed}); errs[0] == nil {
			url = to
		}
	}
	st.mu.Lock()
	defer st.mu.Unlock()
	if st.inPlace[failed.Record] = url; url == "" {
		delete(st.inPlace, failed.Record)
	}
	return url
}

// LastAttempt reports whether SQS will move a record to the dead-letter queue instead
// of delivering it again; see package runner. It asks the queue for its
// RedrivePolicy if need be, and waits for the answer for 1 s at most. No first attempt
// asks, since it may well succeed.
func (st *Settlement) LastAttempt(r *batch.Record) bool {
	if r.Attempt <= 1 {
		return st.Settler.LastAttempt(r)
	}
	return st.isLast(r)
}

func (st *Settlement) isLast(r *batch.Record) bool {
	st.mu.Lock()
	if !st.closed {
		st.askPolicy(r.QueueARN)
	}
	st.mu.Unlock()
	st.awaitPolicy(r.QueueARN)
	return st.Settler.LastAttempt(r)
}

// LastAttempt is [Settlement.LastAttempt] by what is known of the queue already. Where
// no last failure is dead-lettered here (OnPermanent is Retry), it is false.
func (s *Settler) LastAttempt(r *batch.Record) bool {
	most, _ := s.maxReceiveCount(r.QueueARN)
	return most > 0 && r.Attempt >= most && s.cfg.OnPermanent != Retry
}
