package lambda

import (
	"bytes"
	"context"
	"encoding/json"
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

// mapped is an invocation of the mapping.
type mapped struct {
	*batch
	env      *environment
	inv      *invocation
	reported Invocation
	run      *groupRun
}

// prepare returns b's invocation in env, locks b's groups, and calls Started in the order of the
// receives.
func (p *poller) prepare(env *environment, b *batch) mapped {
	i := mapped{batch: b, env: env, inv: newInvocation(b.payload()), run: p.lockGroups(b)}
	i.reported = Invocation{
		RequestID:   i.inv.id,
		Environment: env.number,
		ColdStart:   env.cold(),
		Started:     time.Now(),
		Records:     b.records(),
	}
	notify(p.work, p.Started, i.reported)
	return i
}

// invoke runs the function, deletes the messages that succeeded, and calls Ended.
func (p *poller) invoke(ctx context.Context, i mapped) {
	result := p.Function.run(i.env, i.inv)
	left, why := p.judge(result, i.batch)
	verdicts := p.deleteSucceeded(ctx, i.batch, left)
	notify(p.work, p.Ended, Ended{Invocation: i.reported, Result: result, AllFailed: why, Verdicts: verdicts})
	i.run.end(i.batch, left)
}

// judge returns for each of b's messages whether it stays in the queue, and the reason if the
// whole batch failed.
func (p *poller) judge(result Result, b *batch) (left []bool, why string) {
	left = make([]bool, len(b.messages))
	var failed map[string]bool
	switch {
	case result.Error != nil:
		why = "function error " + result.Error.Error()
	case p.ReportBatchItemFailures:
		failed, why = itemFailures(result.Payload, b)
	}
	for i, m := range b.messages {
		left[i] = why != "" || failed[m.MessageID]
	}
	return left, why
}

// itemFailures applies the rules of "Handling errors for an SQS event source in Lambda", Success
// and failure conditions, to a response. It returns the ids of the failed messages, or the
// reason for which the whole batch counts as failed. Names are case-sensitive.
func itemFailures(response []byte, b *batch) (failed map[string]bool, all string) {
	response = bytes.TrimSpace(response)
	switch string(response) {
	case "", "null", `{"batchItemFailures":[]}`: // the usual answer of Go functions needs no decoding
		return nil, ""
	}
	if !json.Valid(response) {
		return nil, "the response is not valid JSON"
	}
	var doc map[string]json.RawMessage
	if err := json.Unmarshal(response, &doc); err != nil {
		return nil, "the response is not a JSON object"
	}
	var items []json.RawMessage
	if list, ok := doc["batchItemFailures"]; ok && json.Unmarshal(list, &items) != nil {
		return nil, "batchItemFailures is not a list"
	}
	known := make(map[string]bool, len(b.messages))
	for _, m := range b.messages {
		known[m.MessageID] = true
	}
	failed = make(map[string]bool, len(items))
	for i, item := range items {
		var fields map[string]json.RawMessage
		if json.Unmarshal(item, &fields) != nil || fields == nil {
			return nil, fmt.Sprintf("batchItemFailures[%d] is not an object", i)
		}
		raw, ok := fields["itemIdentifier"]
		if !ok {
			return nil, fmt.Sprintf("batchItemFailures[%d] has no itemIdentifier", i)
		}
		var id *string
		switch {
		case json.Unmarshal(raw, &id) != nil:
			return nil, fmt.Sprintf("batchItemFailures[%d].itemIdentifier is not a string", i)
		case id == nil:
			return nil, fmt.Sprintf("batchItemFailures[%d].itemIdentifier is null", i)
		case *id == "":
			return nil, fmt.Sprintf("batchItemFailures[%d].itemIdentifier is empty", i)
		case !known[*id]:
			return nil, fmt.Sprintf("batchItemFailures[%d].itemIdentifier %q is not a message of the batch", i, *id)
		}
		failed[*id] = true
	}
	return failed, ""
}

const (
	callEntries       = 10 // entries of a batch call
	deleteCalls       = 10 // concurrent calls
	deleteTries       = 5
	deleteBackoffBase = 100 * time.Millisecond
	deleteTimeout     = 30 * time.Second
)

var errNoAnswer = errors.New("the queue did not answer for this entry")

// deleteSucceeded deletes the messages that are not left in the queue, and returns a verdict for
// each of b's messages.
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
	p.reportUndeleted(verdicts)
	return verdicts
}

// deletePart deletes up to ten messages. It retries failed entries up to deleteTries times,
// except after a sender's fault.
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
	final := map[int]bool{} // entries that a retry cannot delete
	for _, entry := range out.Failed {
		if at, ok := position(entry.Id, part); ok {
			verdicts[at].Err = entryError(entry)
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

func entryError(e types.BatchResultErrorEntry) error {
	return fmt.Errorf("%s: %s", aws.ToString(e.Code), aws.ToString(e.Message))
}

// position returns the position in an entry's id, false for an id that was not in the request.
func position(id *string, part []int) (int, bool) {
	at, err := strconv.Atoi(aws.ToString(id))
	return at, err == nil && slices.Contains(part, at)
}

// reportUndeleted reports the first error of messages that could not be deleted.
func (p *poller) reportUndeleted(verdicts []Verdict) {
	undeleted := slices.DeleteFunc(slices.Clone(verdicts), func(v Verdict) bool { return v.Err == nil })
	if n := len(undeleted); n > 0 {
		p.report(&PollError{Operation: "DeleteMessageBatch", Messages: n, Err: undeleted[0].Err})
	}
}

// release makes messages visible again that were not invoked. A message whose release fails
// comes back when its visibility timeout ends.
func (p *poller) release(ctx context.Context, messages []message) {
	ctx, cancel := outliving(ctx, releaseTimeout)
	defer cancel()
	for part := range slices.Chunk(messages, callEntries) {
		entries := make([]types.ChangeMessageVisibilityBatchRequestEntry, len(part))
		for i, m := range part {
			entries[i] = types.ChangeMessageVisibilityBatchRequestEntry{
				Id: aws.String(strconv.Itoa(i)), ReceiptHandle: aws.String(m.ReceiptHandle), VisibilityTimeout: 0,
			}
		}
		failed := len(part)
		out, err := p.SQS.ChangeMessageVisibilityBatch(ctx, &awssqs.ChangeMessageVisibilityBatchInput{QueueUrl: &p.QueueURL, Entries: entries})
		if err == nil && len(out.Failed) > 0 {
			failed, err = len(out.Failed), entryError(out.Failed[0])
		}
		if err != nil {
			p.report(&PollError{Operation: "ChangeMessageVisibilityBatch", Messages: failed, Err: err})
		}
	}
}

// outliving returns a context that ends after limit, whether ctx has ended or not.
func outliving(ctx context.Context, limit time.Duration) (context.Context, context.CancelFunc) {
	return context.WithTimeout(context.WithoutCancel(ctx), limit)
}
