package sqs_test

import (
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	awssqs "github.com/aws/aws-sdk-go-v2/service/sqs"
	"github.com/aws/aws-sdk-go-v2/service/sqs/types"
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
		withID, withoutGroup := fifoSend("a", "g", "1"), fifoSend("a", "", "1")
		withID.QueueUrl, withoutGroup.QueueUrl, withoutGroup.MessageGroupId = standard, fifo, nil
		_, err := b.SendMessage(b.ctx, &withID)
		b.wantCode(err, "InvalidParameterValue")
		_, err = b.SendMessage(b.ctx, &withoutGroup)
		b.wantCode(err, "MissingParameter")
		attempt := func(queue *string) error {
			_, err := b.ReceiveMessage(b.ctx, &awssqs.ReceiveMessageInput{QueueUrl: queue, ReceiveRequestAttemptId: aws.String("1")})
			return err
		}
		b.wantCode(attempt(standard), "InvalidParameterValue")
		b.ok(attempt(fifo))
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
		b.ok(send(byContent, aws.String("g"), nil))
		b.counts(byContent, "2", "0", "0")
	})
}

func TestADuplicateIsAnsweredAsTheFirstSend(t *testing.T) {
	virtual(t, func(b *bench) {
		queue := b.queue("orders.fifo")
		first, second := b.sent(queue, fifoSend("a", "g", "same")), b.sent(queue, fifoSend("b", "g", "same"))
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
		b.ok(b.set(queue, "DelaySeconds", "32"))
		time.Sleep(2 * time.Second)
		b.wantReceived(queue, "1 2")
	})
}
