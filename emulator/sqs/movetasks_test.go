package sqs_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	awssqs "github.com/aws/aws-sdk-go-v2/service/sqs"
	"github.com/aws/aws-sdk-go-v2/service/sqs/types"
)

func TestMoveTasksThatFail(t *testing.T) {
	virtualRun(t, "sent to the dead-letter queue", func(b *bench) {
		_, dead := b.deadLetters("", "1")
		b.send(dead, "sent")
		b.mustMove("dead", "", 10)
		time.Sleep(time.Second)
		b.wantTask("dead", "FAILED", 1, "CouldNotDetermineMessageSource")
		b.counts(dead, "1", "0", "0")
		b.queue("other")
		b.mustMove("dead", "other", 10)
		time.Sleep(time.Second)
		b.wantTask("dead", "COMPLETED", 1, "")
	})
	virtualRun(t, "source deleted", func(b *bench) {
		queue, dead := b.deadLetters("", "1", "2")
		b.queue("another", "RedrivePolicy", redrivePolicy(b.server.QueueARN("dead"), 1))
		b.mustMove("dead", "", 1)
		time.Sleep(time.Second)
		b.deleteQueue(queue)
		time.Sleep(time.Second)
		b.wantTask("dead", "FAILED", 1, "AWS.SimpleQueueService.NonExistentQueue")
		b.counts(dead, "1", "0", "0")
	})
	virtualRun(t, "destination deleted", func(b *bench) {
		b.deadLetters("", "1", "2")
		other := b.queue("other")
		b.mustMove("dead", "other", 1)
		b.deleteQueue(other)
		b.wantTask("dead", "FAILED", 0, "AWS.SimpleQueueService.NonExistentQueue")
		if got := *b.tasks("dead", 0)[0].DestinationArn; got != b.server.QueueARN("other") {
			b.Errorf("DestinationArn %s", got)
		}
	})
	virtualRun(t, "36 hours", func(b *bench) {
		_, dead := b.deadLetters("", "1")
		b.mustMove("dead", "", 1)
		m := b.one(dead)
		for range 3 {
			b.ok(b.hide(dead, m.ReceiptHandle, 43_200-60))
			time.Sleep(11 * time.Hour)
			waiting := b.poll(dead) // a receiver that waits takes it before the task does
			b.ok(b.hide(dead, m.ReceiptHandle, 0))
			m = (<-waiting)[0]
		}
		b.ok(b.hide(dead, m.ReceiptHandle, 43_200-60))
		time.Sleep(3*time.Hour - time.Nanosecond)
		b.wantTask("dead", "RUNNING", 0, "")
		time.Sleep(time.Nanosecond)
		b.wantTask("dead", "FAILED", 0, "The task ran for 36 hours.")
	})
}

// What the conformance checks of moves leave out.
func TestStartMessageMoveTaskRefuses(t *testing.T) {
	virtual(t, func(b *bench) {
		b.deadLetters("", "1", "2")
		b.queue("other")
		for _, tc := range []struct {
			dead, destination string
			rate              int32
			code              string
		}{
			{"not a name", "", 0, "InvalidParameterValue"},
			{"dead", "dead", 0, "InvalidParameterValue"},
			{"dead", "not a name", 0, "InvalidParameterValue"},
			{"dead", "other", -1, "InvalidParameterValue"},
		} {
			_, err := b.move(tc.dead, tc.destination, tc.rate)
			b.wantCode(err, tc.code)
		}
		_, err := b.StartMessageMoveTask(b.ctx, &awssqs.StartMessageMoveTaskInput{SourceArn: aws.String("")})
		b.wantCode(err, "MissingParameter")
		_, err = b.ListMessageMoveTasks(b.ctx, &awssqs.ListMessageMoveTasksInput{
			SourceArn: aws.String(b.server.QueueARN("dead")), MaxResults: new(int32)})
		b.wantCode(err, "InvalidParameterValue")
	})
}

func TestTheLatestTenMoveTasksAreListed(t *testing.T) {
	virtual(t, func(b *bench) {
		_, dead := b.deadLetters("")
		b.queue("other")
		for i := range 12 {
			b.send(dead, "a")
			b.mustMove("dead", "other", int32(i)+1)
			time.Sleep(time.Second)
		}
		tasks := b.tasks("dead", 10)
		if len(tasks) != 10 || *tasks[0].MaxNumberOfMessagesPerSecond != 12 || *tasks[9].MaxNumberOfMessagesPerSecond != 3 {
			b.Errorf("tasks %+v", tasks)
		}
		if got := len(b.tasks("dead", 3)); got != 3 {
			b.Errorf("%d tasks, want 3", got)
		}
	})
}

func TestAnAccountHasAHundredActiveMoveTasks(t *testing.T) {
	virtual(t, func(b *bench) {
		start := func(i int) error {
			dead := fmt.Sprint("dead-", i)
			b.send(b.queue(dead), "a")
			b.queue(fmt.Sprint("orders-", i), "RedrivePolicy", redrivePolicy(b.server.QueueARN(dead), 1))
			_, err := b.move(dead, "orders-0", 1)
			return err
		}
		for i := range 100 {
			b.ok(start(i))
		}
		wantType[*types.RequestThrottled](b, start(100))
		time.Sleep(time.Second) // all are over
		b.ok(start(101))
	})
}
