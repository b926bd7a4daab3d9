package sqs_test

import (
	"errors"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	awssqs "github.com/aws/aws-sdk-go-v2/service/sqs"
	"github.com/aws/aws-sdk-go-v2/service/sqs/types"
	"github.com/aws/smithy-go"
)

func fifoSend(body, group, id string) awssqs.SendMessageInput {
	in := awssqs.SendMessageInput{MessageBody: &body, MessageGroupId: &group}
	if id != "" {
		in.MessageDeduplicationId = &id
	}
	return in
}

func TestFIFOParameters(t *testing.T) {
	virtual(t, func(b *bench) {
		fifo, standard := b.queue("orders.fifo"), b.queue("orders")
		withDelay := fifoSend("a", "g", "1")
		withDelay.DelaySeconds = 1
		for name, tc := range map[string]struct {
			queue *string
			in    awssqs.SendMessageInput
			code  string
		}{
			"no group":                  {fifo, awssqs.SendMessageInput{MessageBody: aws.String("a"), MessageDeduplicationId: aws.String("1")}, "MissingParameter"},
			"no deduplication id":       {fifo, fifoSend("a", "g", ""), "InvalidParameterValue"},
			"delay":                     {fifo, withDelay, "InvalidParameterValue"},
			"group with a space":        {fifo, fifoSend("a", "g h", "1"), "InvalidParameterValue"},
			"deduplication on standard": {standard, fifoSend("a", "g", "1"), "InvalidParameterValue"},
		} {
			tc.in.QueueUrl = tc.queue
			_, err := b.SendMessage(b.ctx, &tc.in)
			var failure smithy.APIError
			if !errors.As(err, &failure) || failure.ErrorCode() != tc.code {
				b.Errorf("%s: %v, want %s", name, err, tc.code)
			}
		}
		attempt := func(queue *string) error {
			_, err := b.ReceiveMessage(b.ctx, &awssqs.ReceiveMessageInput{QueueUrl: queue, ReceiveRequestAttemptId: aws.String("1")})
			return err
		}
		b.wantCode(attempt(standard), "InvalidParameterValue")
		if err := attempt(fifo); err != nil {
			b.Error(err)
		}
	})
}

// The service refuses such a batch as a whole, not its entry.
func TestBatchesForFIFOQueuesNeedTheirIDs(t *testing.T) {
	virtual(t, func(b *bench) {
		queue, byContent := b.queue("orders.fifo"), b.queue("content.fifo", "ContentBasedDeduplication", "true")
		send := func(queue *string, group, id *string) error {
			_, err := b.SendMessageBatch(b.ctx, &awssqs.SendMessageBatchInput{QueueUrl: queue, Entries: []types.SendMessageBatchRequestEntry{
				{Id: aws.String("good"), MessageBody: aws.String("a"), MessageGroupId: aws.String("g"), MessageDeduplicationId: aws.String("d")},
				{Id: aws.String("bad"), MessageBody: aws.String("b"), MessageGroupId: group, MessageDeduplicationId: id},
			}})
			return err
		}
		b.wantCode(send(queue, nil, aws.String("e")), "InvalidParameterValue")
		b.wantCode(send(queue, aws.String("g"), nil), "InvalidParameterValue")
		b.counts(queue, "0", "0", "0")
		if err := send(byContent, aws.String("g"), nil); err != nil {
			b.Error(err)
		}
		b.counts(byContent, "2", "0", "0")
	})
}

func TestADuplicateIsAnsweredAsTheFirstSend(t *testing.T) {
	virtual(t, func(b *bench) {
		queue := b.queue("orders.fifo")
		send := func(body string) *awssqs.SendMessageOutput {
			in := fifoSend(body, "g", "same")
			in.QueueUrl = queue
			out, err := b.SendMessage(b.ctx, &in)
			if err != nil {
				b.Fatal(err)
			}
			return out
		}
		first, second := send("a"), send("b")
		if *first.MessageId != *second.MessageId || *first.SequenceNumber != *second.SequenceNumber {
			b.Errorf("first %s %s, second %s %s", *first.MessageId, *first.SequenceNumber, *second.MessageId, *second.SequenceNumber)
		}
		if got := b.kinds(); got != "sent duplicate" {
			b.Errorf("events %s", got)
		}
	})
}

// Messages become visible in the order of their new times.
func TestANewDelayOfAFIFOQueueReordersWhatIsHidden(t *testing.T) {
	virtual(t, func(b *bench) {
		queue := b.queue("orders.fifo", "DelaySeconds", "60")
		b.sendFIFO(queue, "h", "other")
		time.Sleep(time.Minute)
		b.one(queue, hiddenFor(35))
		b.sendFIFO(queue, "g", "1", "2")
		time.Sleep(30 * time.Second)
		if _, err := b.SetQueueAttributes(b.ctx, &awssqs.SetQueueAttributesInput{
			QueueUrl: queue, Attributes: map[string]string{"DelaySeconds": "32"}}); err != nil {
			b.Fatal(err)
		}
		time.Sleep(2 * time.Second)
		if got := bodies(b.receive(queue)); got != "1 2" {
			b.Errorf("received %q", got)
		}
	})
}
