package lambda

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"sync"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	awssqs "github.com/aws/aws-sdk-go-v2/service/sqs"
	"github.com/aws/aws-sdk-go-v2/service/sqs/types"
	"github.com/sqsbatch/sqsbatch/internal/sleep"
)

const (
	callEntries       = 10 // of one batch call
	deleteCalls       = 10 // at a time
	deleteTries       = 5
	deleteBackoffBase = 100 * time.Millisecond
	deleteTimeout     = 30 * time.Second
)

var errNoAnswer = errors.New("the queue did not answer for this entry")

// deleteSucceeded deletes the messages that do not stay, and returns every message's
// verdict.
func (p *poller) deleteSucceeded(ctx context.Context, b *batch, left []bool) []Verdict {
	verdicts := make([]Verdict, len(b.messages))
	done := make([]int, 0, len(b.messages))
	for i := range b.messages {
		if !left[i] {
			done = append(done, i)
		}
	}
	ctx, cancel := outliving(ctx, deleteTimeout)
	defer cancel()
	if len(done) > callEntries {
		p.deleteParts(ctx, b, done, verdicts)
	} else if len(done) > 0 {
		p.deletePart(ctx, b, done, verdicts)
	}
	p.tellUndeleted(verdicts)
	return verdicts
}

// deleteParts deletes any number of messages, ten to a call.
func (p *poller) deleteParts(ctx context.Context, b *batch, done []int, verdicts []Verdict) {
	var calls sync.WaitGroup
	limit := make(chan struct{}, deleteCalls)
	for part := range slices.Chunk(done, callEntries) {
		limit <- struct{}{}
		calls.Go(func() {
			defer func() { <-limit }()
			p.deletePart(ctx, b, part, verdicts)
		})
	}
	calls.Wait()
}

// deletePart deletes up to ten messages. It retries those that failed until they are gone
// or the queue's error says that a retry is useless.
func (p *poller) deletePart(ctx context.Context, b *batch, part []int, verdicts []Verdict) {
	for try := 0; ; try++ {
		part = p.deleteOnce(ctx, b, part, verdicts)
		if len(part) == 0 || try == deleteTries-1 {
			return
		}
		if !sleep.For(ctx, deleteBackoffBase<<try) {
			return
		}
	}
}

// deleteOnce makes one call and returns the entries to retry. Entries are named by
// position, because message ids may repeat within a batch.
func (p *poller) deleteOnce(ctx context.Context, b *batch, part []int, verdicts []Verdict) (again []int) {
	entries := make([]types.DeleteMessageBatchRequestEntry, len(part))
	for i, at := range part {
		entries[i] = types.DeleteMessageBatchRequestEntry{
			Id: aws.String(strconv.Itoa(at)), ReceiptHandle: &b.messages[at].ReceiptHandle,
		}
		verdicts[at] = Verdict{Err: errNoAnswer}
	}
	out, err := p.SQS.DeleteMessageBatch(ctx, &awssqs.DeleteMessageBatchInput{QueueUrl: &p.QueueURL, Entries: entries})
	if err != nil {
		for _, at := range part {
			verdicts[at].Err = err
		}
		return part
	}
	for _, entry := range out.Successful {
		if at, ok := position(entry.Id, part); ok {
			verdicts[at] = Verdict{Deleted: true}
		}
	}
	var final map[int]bool
	if len(out.Failed) > 0 {
		final = map[int]bool{}
	}
	for _, entry := range out.Failed {
		if at, ok := position(entry.Id, part); ok {
			verdicts[at].Err = fmt.Errorf("%s: %s", aws.ToString(entry.Code), aws.ToString(entry.Message))
			final[at] = entry.SenderFault
		}
	}
	for _, at := range part {
		if !verdicts[at].Deleted && !final[at] {
			again = append(again, at)
		}
	}
	return again
}

// position reads an entry's id. It ignores an id that was not in the request.
func position(id *string, part []int) (int, bool) {
	at, err := strconv.Atoi(aws.ToString(id))
	if err != nil {
		return 0, false
	}
	for _, asked := range part {
		if asked == at {
			return at, true
		}
	}
	return 0, false
}

func (p *poller) tellUndeleted(verdicts []Verdict) {
	var first error
	n := 0
	for _, v := range verdicts {
		if v.Err != nil {
			if n++; first == nil {
				first = v.Err
			}
		}
	}
	if n > 0 {
		p.tellErrored(&PollError{Operation: "DeleteMessageBatch", Messages: n, Err: first})
	}
}

// release makes messages visible again that were received and not invoked. A message that
// cannot be released comes back when its visibility timeout ends.
func (p *poller) release(ctx context.Context, messages []message) {
	if len(messages) == 0 {
		return
	}
	ctx, cancel := outliving(ctx, releaseTimeout)
	defer cancel()
	for len(messages) > 0 {
		n := min(callEntries, len(messages))
		entries := make([]types.ChangeMessageVisibilityBatchRequestEntry, n)
		for i, m := range messages[:n] {
			entries[i] = types.ChangeMessageVisibilityBatchRequestEntry{
				Id: aws.String(strconv.Itoa(i)), ReceiptHandle: aws.String(m.ReceiptHandle), VisibilityTimeout: 0,
			}
		}
		messages = messages[n:]
		out, err := p.SQS.ChangeMessageVisibilityBatch(ctx, &awssqs.ChangeMessageVisibilityBatchInput{QueueUrl: &p.QueueURL, Entries: entries})
		switch {
		case err != nil:
			p.tellErrored(&PollError{Operation: "ChangeMessageVisibilityBatch", Messages: n, Err: err})
		case len(out.Failed) > 0:
			first := out.Failed[0]
			p.tellErrored(&PollError{
				Operation: "ChangeMessageVisibilityBatch", Messages: len(out.Failed),
				Err: fmt.Errorf("%s: %s", aws.ToString(first.Code), aws.ToString(first.Message)),
			})
		}
	}
}

// outliving returns a context for calls that must reach the queue even after ctx's end.
func outliving(ctx context.Context, limit time.Duration) (context.Context, context.CancelFunc) {
	return context.WithTimeout(context.WithoutCancel(ctx), limit)
}
