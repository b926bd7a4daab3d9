package partialfailure

import (
	"context"
	"strconv"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/sqs"
	"github.com/aws/aws-sdk-go-v2/service/sqs/types"
	"github.com/sqsbatch/sqsbatch/batch"
)

// flushDead starts a call for the first records that wait for the dead-letter
// queue: ten, or as many as fit into a call.
func (st *Settlement) flushDead(p *pending) {
	n, size := 0, 0
	for n < min(len(p.dead), maxEntries) {
		size += messageSize(p.dead[n].results[0].Record) + maxOrigin
		if n > 0 && size > maxPayload {
			break
		}
		n++
	}
	units := p.dead[:n:n]
	p.dead = p.dead[n:]
	if st.cfg.DryRun {
		for _, u := range units {
			if u.wouldGoTo = st.cfg.DeadLetterQueue; u.wouldGoTo != "" {
				st.release(u)
			} else {
				st.retryLater(u)
			}
		}
		return
	}
	st.background(func() { st.deadLetter(p.arn, units) })
}

// deadLetter sends records to the dead-letter queue. Only those that SQS
// confirms are out of their own queue.
func (st *Settlement) deadLetter(arn string, units []*unit) {
	failures := make([]*batch.Result, len(units))
	for k, u := range units {
		failures[k] = u.results[0]
	}
	url, errs := st.send(arn, failures)
	st.mu.Lock()
	defer st.mu.Unlock()
	for k, u := range units {
		st.deadLettered(u, url, errs[k])
	}
	if !st.closed {
		st.flushFull()
		st.lingerOn()
	}
}

// send makes the call. It returns the dead-letter queue's URL, or "" if there is
// none, and each failure's error, nil where SQS confirmed it.
func (st *Settlement) send(arn string, failures []*batch.Result) (url string, errs []error) {
	target := st.deadLetterQueue(arn)
	if target == "" {
		return "", make([]error, len(failures))
	}
	errs = st.call(opSend, arn, target, len(failures), func(ctx context.Context, q queue, left []int) (answer, error) {
		url = q.url
		in := &sqs.SendMessageBatchInput{QueueUrl: &q.url}
		for _, k := range left {
			in.Entries = append(in.Entries, st.entry(k, failures[k], strings.HasSuffix(q.url, ".fifo")))
		}
		out, err := q.client.SendMessageBatch(ctx, in, q.options...)
		if err != nil {
			return answer{}, err
		}
		return answerOf(out.Successful, func(e types.SendMessageBatchResultEntry) *string { return e.Id }, out.Failed), nil
	})
	return url, errs
}

// deadLettered goes on with a unit whose first record was to be dead-lettered:
// url is empty when there is no dead-letter queue.
func (st *Settlement) deadLettered(u *unit, url string, err error) {
	if url == "" || err != nil {
		st.retryLater(u)
		return
	}
	u.outcome, u.queue = batch.DeadLettered, url
	st.release(u)
}

// deadLetterQueue returns the URL or ARN of the dead-letter queue of a queue,
// or "" if it has none, or none that is known.
func (st *Settlement) deadLetterQueue(arn string) string {
	target := st.cfg.DeadLetterQueue
	if target == "" {
		policy, err := st.redriveOf(arn)
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
		// Each copy would be a new message at its first attempt, for ever.
		st.refuse(opSend, target, errOwnQueue)
		return ""
	}
	return target
}

// entry is the record as it was sent, byte for byte, and an [Origin].
func (s *Settler) entry(k int, r *batch.Result, fifo bool) types.SendMessageBatchRequestEntry {
	record := r.Record
	e := types.SendMessageBatchRequestEntry{
		Id:          aws.String(strconv.Itoa(k)),
		MessageBody: &record.Body,
	}
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
