package settle

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/sqs"
	"github.com/aws/aws-sdk-go-v2/service/sqs/types"
	"github.com/sqsbatch/sqsbatch/batch"
	"github.com/sqsbatch/sqsbatch/internal/runner"
	"github.com/sqsbatch/sqsbatch/internal/sqserror"
)

// callTimeout ends a call to an endpoint that does not answer.
const callTimeout = 3 * time.Second

// operation is what a call does, as its IAM action names it.
type operation string

const (
	opVisibility operation = "ChangeMessageVisibility"
	opSend       operation = "SendMessage"
	opDelete     operation = "DeleteMessage"
	opAttributes operation = "GetQueueAttributes"
)

// call is one call for up to ten deliveries. It works on copies of them, since it runs on a
// goroutine of its own.
type call struct {
	*Policy
	ctx     context.Context
	called  func(batch.Call)
	op      operation
	arn     string
	target  string // the queue that is called: URL or ARN
	queue   queue
	began   time.Time
	list    []*runner.Delivery // the owner's
	jobs    []job              // their copies
	errs    []error            // by position, nil where SQS confirmed it
	worked  bool               // SQS has answered
	givenUp bool               // it is not made, and its deliveries are finished
}

// job is an entry of a call.
type job struct {
	result    batch.Result
	latest    *batch.Record
	failedAt  time.Time     // or released
	visibleIn time.Duration // counted from failedAt
	received  time.Time     // when it may have been received at the earliest
	unsure    bool          // an earlier try may have had its effect
	err       error         // of the latest try
	noOrigin  error         // why its dead letter has no origin
}

// make makes the call; where SQS refuses it as a whole, for its halves.
func (c *call) make() {
	left := make([]int, 0, len(c.jobs))
	for k := range c.jobs {
		c.errs[k] = errNoAnswer // until there is one
		if j := &c.jobs[k]; j.unsure && j.visibleIn > 0 && !time.Now().Before(j.failedAt.Add(j.visibleIn)) {
			// A try may have made it visible, so others may have it.
			c.errs[k] = fmt.Errorf("%w: %w", errTooLate, j.err)
		} else {
			left = append(left, k)
		}
	}
	err := error(nil)
	if c.op == opSend {
		c.target, err = c.deadLetterQueue(c.arn)
	}
	if err == nil {
		c.queue, err = c.queueAt(c.ctx, c.target)
	}
	if err != nil {
		for _, k := range left {
			c.errs[k] = err
		}
		return
	}
	for ten := range slices.Chunk(left, MaxEntries) {
		sqserror.Divide(ten, c.try)
	}
}

// try makes the call once for the entries at some positions. The positions are also their
// ids, since message ids repeat. It returns the positions that its error is about.
func (c *call) try(list []int) (left []int, err error) {
	ctx, cancel := context.WithTimeout(c.ctx, callTimeout)
	defer cancel()
	began := time.Now()
	var confirmed []*string
	var failed []types.BatchResultErrorEntry
	switch c.op {
	case opVisibility:
		confirmed, failed, err = c.changeVisibility(ctx, list, began)
	case opSend:
		confirmed, failed, err = c.send(ctx, list)
	case opDelete:
		confirmed, failed, err = c.delete(ctx, list)
	}
	for _, k := range list {
		c.errs[k] = cmp.Or(err, errNoAnswer) // unless the answer says otherwise
	}
	throttled := sqserror.ReadAnswer(c.errs, confirmed, failed)
	c.worked = c.worked || !sqserror.Passing(err)
	c.called(batch.Call{
		Operation: string(c.op) + "Batch", QueueARN: c.arn, URL: c.queue.url, Started: began, Duration: time.Since(began), Err: err,
		Entries: len(list), Failed: len(list) - len(confirmed), Throttled: throttled,
	})
	return list, err
}

func (c *call) delete(ctx context.Context, list []int) ([]*string, []types.BatchResultErrorEntry, error) {
	in := &sqs.DeleteMessageBatchInput{QueueUrl: &c.queue.url}
	for _, k := range list {
		in.Entries = append(in.Entries, types.DeleteMessageBatchRequestEntry{Id: idOf(k), ReceiptHandle: &c.jobs[k].latest.ReceiptHandle})
	}
	out, err := c.queue.client.DeleteMessageBatch(ctx, in, c.queue.options)
	if err != nil {
		return nil, nil, err
	}
	return idsOf(out.Successful, func(e types.DeleteMessageBatchResultEntry) *string { return e.Id }), out.Failed, nil
}

func (c *call) changeVisibility(ctx context.Context, list []int, now time.Time) ([]*string, []types.BatchResultErrorEntry, error) {
	in := &sqs.ChangeMessageVisibilityBatchInput{QueueUrl: &c.queue.url}
	for _, k := range list {
		in.Entries = append(in.Entries, types.ChangeMessageVisibilityBatchRequestEntry{
			Id: idOf(k), ReceiptHandle: &c.jobs[k].latest.ReceiptHandle, VisibilityTimeout: int32(c.jobs[k].timeout(now) / time.Second),
		})
	}
	out, err := c.queue.client.ChangeMessageVisibilityBatch(ctx, in, c.queue.options)
	if err != nil {
		return nil, nil, err
	}
	return idsOf(out.Successful, func(e types.ChangeMessageVisibilityBatchResultEntry) *string { return e.Id }), out.Failed, nil
}

func (c *call) send(ctx context.Context, list []int) ([]*string, []types.BatchResultErrorEntry, error) {
	in := &sqs.SendMessageBatchInput{QueueUrl: &c.queue.url}
	for _, k := range list {
		in.Entries = append(in.Entries, c.deadLetter(k, strings.HasSuffix(c.queue.url, ".fifo")))
	}
	out, err := c.queue.client.SendMessageBatch(ctx, in, c.queue.options)
	if err != nil {
		return nil, nil, err
	}
	return idsOf(out.Successful, func(e types.SendMessageBatchResultEntry) *string { return e.Id }), out.Failed, nil
}

// SetVisibility sets visibility timeouts of records, which count from now, by one call for ten, or by several if SQS
// refuses it as a whole. It returns an error for each record, nil if SQS confirmed it.
func (p *Policy) SetVisibility(ctx context.Context, arn string, records []*batch.Record, timeouts []time.Duration, called func(batch.Call)) []error {
	c := &call{
		Policy: p, ctx: ctx, called: called, op: opVisibility, arn: arn, target: arn,
		jobs: make([]job, len(records)), errs: make([]error, len(records)),
	}
	now := time.Now()
	for k, r := range records {
		c.jobs[k] = job{latest: r, failedAt: now, visibleIn: timeouts[k], received: now}
	}
	c.make()
	return c.errs
}

// idsOf returns the ids of the entries that an answer confirms.
func idsOf[E any](confirmed []E, id func(E) *string) []*string {
	ids := make([]*string, len(confirmed))
	for i, e := range confirmed {
		ids[i] = id(e)
	}
	return ids
}

var (
	errNoClient          = errors.New("no SQS client")
	errNoARN             = errors.New("the records have no eventSourceARN")
	errPolicy            = errors.New("the queue's RedrivePolicy cannot be read")
	errNoDeadLetterQueue = errors.New("the queue has no RedrivePolicy")
	errOwnQueue          = errors.New("the dead-letter queue is the queue itself")
	// errTooLate is the error of an entry that has no time left for another try.
	errTooLate = errors.New("too late for another try")
	// errNoAnswer is the error of an entry that SQS did not mention.
	errNoAnswer = errors.New("SQS's answer does not mention the entry")
	errRefused  = errors.New("call skipped: SQS refused the previous one")
	// errUnknown is the error of a send while the queue does not say where to.
	errUnknown = errors.New("the dead-letter queue is not known")
)
