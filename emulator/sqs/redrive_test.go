package sqs_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	awssqs "github.com/aws/aws-sdk-go-v2/service/sqs"
	"github.com/aws/aws-sdk-go-v2/service/sqs/types"
)

func redrivePolicy(arn string, count int) string {
	return fmt.Sprintf(`{"deadLetterTargetArn":%q,"maxReceiveCount":%d}`, arn, count)
}

func TestRedrive(t *testing.T) {
	virtual(t, func(b *bench) {
		queue, dead := b.pair("", 2, "VisibilityTimeout", "10")
		b.send(queue, "a")
		first := b.one(queue)
		time.Sleep(10 * time.Second)
		b.one(queue)
		time.Sleep(10 * time.Second)
		b.counts(queue, "1", "0", "0") // the third receive would move it
		b.wantReceived(queue, "")      // beyond maxReceiveCount
		b.counts(queue, "0", "0", "0")
		m := b.one(dead)
		equal(b, "events", b.kinds(), "sent received returned received returned redriven received")
		if e := b.events()[5]; e.Queue != "orders" || e.DeadLetterQueue != "dead" || e.ReceiveCount != 2 {
			b.Errorf("event %+v", e)
		}
		// The handle of the source queue is not a handle of the dead-letter queue.
		wantType[*types.ReceiptHandleIsInvalid](b, b.delete(dead, first.ReceiptHandle))
		b.ok(b.delete(dead, m.ReceiptHandle))
	})
}

func TestRedriveWakesReceiversOfTheDeadLetterQueue(t *testing.T) {
	virtual(t, func(b *bench) {
		queue, dead := b.pair("", 1)
		b.send(queue, "a")
		b.one(queue, hiddenFor(5))
		letters := b.poll(dead)
		source := b.poll(queue) // finds the message when its timeout ends
		start := time.Now()
		if got := bodies(<-letters); got != "a" || time.Since(start) != 5*time.Second {
			b.Errorf("received %q after %v", got, time.Since(start))
		}
		equal(b, "received", bodies(<-source), "")
	})
}

func TestRedriveWithoutATargetGoesOnDelivering(t *testing.T) {
	virtual(t, func(b *bench) {
		queue, dead := b.pair("", 1, "VisibilityTimeout", "0")
		b.send(queue, "a")
		b.one(queue)
		b.deleteQueue(dead)
		b.one(queue)
	})
}

func TestRedriveInACircleEnds(t *testing.T) {
	virtual(t, func(b *bench) {
		first, second := b.queue("first"), b.queue("second")
		itself := b.queue("itself", "VisibilityTimeout", "0", "RedrivePolicy", redrivePolicy(b.server.QueueARN("itself"), 1))
		for queue, target := range map[*string]string{first: "second", second: "first"} {
			b.ok(b.set(queue, "RedrivePolicy", redrivePolicy(b.server.QueueARN(target), 1), "VisibilityTimeout", "0"))
		}
		b.send(first, "a")
		b.send(itself, "b")
		for range 3 {
			b.one(first)
			b.receive(first) // moves it to second
			b.one(second)
			b.receive(second) // and back
			b.one(itself)
		}
	})
}

// Cases without a conformance check (redrive policies).
func TestRedrivePolicies(t *testing.T) {
	virtual(t, func(b *bench) {
		dead := b.queue("dead")
		for _, policy := range []string{
			redrivePolicy("arn:aws:sqs:eu-west-1:000000000000:dead", 3), redrivePolicy("dead", 3),
			`{"deadLetterTargetArn":"` + b.server.QueueARN("dead") + `"}`,
		} {
			b.wantCode(errOf(b.CreateQueue(b.ctx, &awssqs.CreateQueueInput{
				QueueName: aws.String("orders"), Attributes: map[string]string{"RedrivePolicy": policy}})), "InvalidParameterValue")
		}
		text := b.queue("text", "RedrivePolicy", `{"deadLetterTargetArn":"`+b.server.QueueARN("dead")+`","maxReceiveCount":"5"}`)
		equal(b, "RedrivePolicy", b.attributes(text)["RedrivePolicy"], redrivePolicy(b.server.QueueARN("dead"), 5))
		in := &awssqs.ListDeadLetterSourceQueuesInput{QueueUrl: dead, MaxResults: aws.Int32(1001)}
		b.wantCode(errOf(b.ListDeadLetterSourceQueues(b.ctx, in)), "InvalidParameterValue")
		b.ok(b.set(text, "RedrivePolicy", ""))
		out, err := b.ListDeadLetterSourceQueues(b.ctx, &awssqs.ListDeadLetterSourceQueuesInput{QueueUrl: dead})
		if err != nil || len(out.QueueUrls) != 0 {
			b.Errorf("sources after the policy was removed: %v, %v", out, err)
		}
	})
}

// Nothing but the receive of the source queue looks at the dead-letter queue in between.
func TestDeadLetterComesAfterMessagesThatWereVisibleBefore(t *testing.T) {
	virtual(t, func(b *bench) {
		b.withoutEvents()
		queue, dead := b.pair("", 1, "VisibilityTimeout", "10")
		b.send(dead, "first")
		b.one(dead, hiddenFor(5))
		b.send(queue, "second")
		b.one(queue)
		time.Sleep(10 * time.Second)
		b.wantReceived(queue, "")
		b.wantReceived(dead, "first second")
	})
}
