package sqs_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	awssqs "github.com/aws/aws-sdk-go-v2/service/sqs"
	"github.com/aws/aws-sdk-go-v2/service/sqs/types"

	"github.com/sqsbatch/sqsbatch/emulator/sqs"
)

// deadLetters creates a queue and its dead-letter queue, and dead-letters messages with
// these bodies.
func (b *bench) deadLetters(suffix string, letters ...string) (queue, dead *string) {
	b.Helper()
	queue, dead = b.pair(suffix, 1, "VisibilityTimeout", "1")
	if suffix == "" {
		b.send(queue, letters...)
	} else {
		b.sendFIFO(queue, "g", letters...)
	}
	for len(b.receive(queue)) > 0 {
	}
	time.Sleep(time.Second)
	b.receive(queue)
	b.counts(dead, fmt.Sprint(len(letters)), "0", "0")
	return queue, dead
}

// move starts a task from the queue named dead; destination may be "" and rate 0.
func (b *bench) move(dead, destination string, rate int32) (handle *string, err error) {
	in := &awssqs.StartMessageMoveTaskInput{SourceArn: aws.String(b.server.QueueARN(dead))}
	if destination != "" {
		in.DestinationArn = aws.String(b.server.QueueARN(destination))
	}
	if rate != 0 {
		in.MaxNumberOfMessagesPerSecond = &rate
	}
	out, err := b.StartMessageMoveTask(b.ctx, in)
	if err != nil {
		return nil, err
	}
	return out.TaskHandle, nil
}

func (b *bench) mustMove(dead, destination string, rate int32) {
	b.Helper()
	b.ok(errOf(b.move(dead, destination, rate)))
}

func (b *bench) tasks(dead string, limit int32) []types.ListMessageMoveTasksResultEntry {
	b.Helper()
	in := &awssqs.ListMessageMoveTasksInput{SourceArn: aws.String(b.server.QueueARN(dead))}
	if limit != 0 {
		in.MaxResults = &limit
	}
	out, err := b.ListMessageMoveTasks(b.ctx, in)
	b.ok(err)
	return out.Results
}

// wantTask fails unless the latest task from dead has these values.
func (b *bench) wantTask(dead, status string, moved int64, reason string) {
	b.Helper()
	tasks := b.tasks(dead, 0)
	if len(tasks) != 1 {
		b.Fatalf("listed %d tasks, want the latest", len(tasks))
	}
	task := tasks[0]
	equal(b, "status, moved, reason, whether there is a handle",
		fmt.Sprintln(*task.Status, task.ApproximateNumberOfMessagesMoved, aws.ToString(task.FailureReason), task.TaskHandle != nil),
		fmt.Sprintln(status, moved, reason, status == "RUNNING"))
}

func TestMoveTaskGoesBackToTheSource(t *testing.T) {
	virtual(t, func(b *bench) {
		queue, dead := b.deadLetters("", "1", "2", "3")
		old := b.one(dead, hiddenFor(1))
		time.Sleep(time.Second)
		started := time.Now()
		b.mustMove("dead", "", 1)
		b.wantTask("dead", "RUNNING", 0, "")
		time.Sleep(time.Second)
		b.wantTask("dead", "RUNNING", 1, "")
		b.counts(queue, "1", "0", "0")
		b.counts(dead, "2", "0", "0")
		time.Sleep(2 * time.Second)
		b.wantTask("dead", "COMPLETED", 3, "")
		task := b.tasks("dead", 1)[0]
		if *task.ApproximateNumberOfMessagesToMove != 3 || *task.MaxNumberOfMessagesPerSecond != 1 || task.DestinationArn != nil ||
			*task.SourceArn != b.server.QueueARN("dead") || task.StartedTimestamp != started.UnixMilli() {
			b.Errorf("task %+v", task)
		}
		got := b.receive(queue)
		equal(b, "received", bodies(got), "2 3 1") // 1 was received in between, and is the latest that became visible
		m := last(got)
		if m.Attributes["ApproximateReceiveCount"] != "1" || m.Attributes["DeadLetterQueueSourceArn"] != "" {
			b.Errorf("attributes %v: a moved message is a new one", m.Attributes)
		}
		moved := b.server.Events(sqs.Moved)
		if len(moved) != 3 || moved[2].MessageID != *old.MessageId || moved[2].NewMessageID != *m.MessageId ||
			moved[2].Queue != "dead" || moved[2].MovedTo != "orders" {
			b.Errorf("events %+v", moved)
		}
	})
}

func TestMoveTaskToADestinationKeepsWhatTheSenderGave(t *testing.T) {
	virtual(t, func(b *bench) {
		queue, _ := b.pair(".fifo", 1, "VisibilityTimeout", "1")
		other := b.queue("other.fifo", "DelaySeconds", "5")
		in := fifoSend("a", "g", "d")
		in.MessageAttributes = map[string]types.MessageAttributeValue{"k": text("v")}
		in.MessageSystemAttributes = map[string]types.MessageSystemAttributeValue{
			"AWSTraceHeader": {DataType: aws.String("String"), StringValue: aws.String("Root=1-5759e988-bd862e3fe1be46a994272793")}}
		sent := b.sent(queue, in)
		b.one(queue)
		time.Sleep(time.Second)
		b.receive(queue)
		b.mustMove("dead.fifo", "other.fifo", 0)
		time.Sleep(time.Second)
		b.wantTask("dead.fifo", "COMPLETED", 1, "")
		b.counts(other, "0", "0", "1") // the queue's delay applies to every new message
		time.Sleep(5 * time.Second)
		m := b.one(other)
		if *m.Body != "a" || *m.MessageAttributes["k"].StringValue != "v" || m.Attributes["MessageGroupId"] != "g" ||
			m.Attributes["AWSTraceHeader"] == "" || m.Attributes["SequenceNumber"] == "" {
			b.Errorf("moved message %+v", m)
		}
		// Dead-lettering sets the deduplication id to the message's id.
		if got := m.Attributes["MessageDeduplicationId"]; got != *sent.MessageId || *m.MessageId == *sent.MessageId {
			b.Errorf("deduplication id %s, message id %s; sent as %s", got, *m.MessageId, *sent.MessageId)
		}
	})
}

func TestMoveTaskWaitsForWhatIsInFlight(t *testing.T) {
	virtual(t, func(b *bench) {
		queue, dead := b.deadLetters(".fifo", "1", "2")
		b.one(dead, hiddenFor(60)) // locks the group
		b.mustMove("dead.fifo", "", 0)
		got := b.poll(queue)
		start := time.Now()
		time.Sleep(time.Second)
		b.wantTask("dead.fifo", "RUNNING", 0, "")
		if m := <-got; len(m) != 0 || time.Since(start) != 20*time.Second {
			b.Errorf("received %q after %v", bodies(m), time.Since(start))
		}
		got = b.poll(queue)
		time.Sleep(20*time.Second - time.Nanosecond)
		equal(b, "received", bodies(<-got), "")
		if m := <-b.poll(queue); bodies(m) != "1" || time.Since(start) != time.Minute {
			b.Errorf("received %q after %v", bodies(m), time.Since(start))
		}
		time.Sleep(time.Second)
		b.wantTask("dead.fifo", "COMPLETED", 2, "")
	})
}

func TestMoveTaskGoesOnWhenAGroupIsUnlocked(t *testing.T) {
	virtual(t, func(b *bench) {
		queue, dead := b.deadLetters(".fifo", "1", "2")
		m := b.one(dead, hiddenFor(600))
		b.mustMove("dead.fifo", "", 0)
		time.Sleep(time.Minute)
		b.ok(b.delete(dead, m.ReceiptHandle))
		m = b.one(queue)
		if *m.Body != "2" || m.Attributes["SentTimestamp"] != ms(time.Now()) {
			b.Errorf("received %+v", m)
		}
		b.wantTask("dead.fifo", "COMPLETED", 1, "") // there is nothing left
	})
}

// Cases without a conformance check (moves/cancel...).
func TestCancelMessageMoveTaskRefuses(t *testing.T) {
	virtual(t, func(b *bench) {
		_, dead := b.deadLetters("", "1")
		handle, err := b.move("dead", "", 1)
		b.ok(err)
		cancel := func(handle *string) error {
			return errOf(b.CancelMessageMoveTask(b.ctx, &awssqs.CancelMessageMoveTaskInput{TaskHandle: handle}))
		}
		b.ok(cancel(handle))
		second, err := b.move("dead", "", 1)
		b.ok(err)
		b.ok(cancel(second))
		wantType[*types.UnsupportedOperation](b, cancel(handle))
		b.wantCode(cancel(aws.String("")), "MissingParameter")
		b.deleteQueue(dead)
		wantType[*types.ResourceNotFoundException](b, cancel(handle))
	})
}

func TestMoveTaskEndsWithWhatWasThereAtItsStart(t *testing.T) {
	virtual(t, func(b *bench) {
		_, dead := b.deadLetters("", "1", "2")
		b.queue("other")
		b.mustMove("dead", "other", 1)
		b.send(dead, "later")
		time.Sleep(time.Minute)
		b.wantTask("dead", "COMPLETED", 2, "")
		b.counts(dead, "1", "0", "0")
		// A purge also removes messages that a task would have moved.
		b.mustMove("dead", "other", 1)
		b.ok(b.purge(dead))
		b.wantTask("dead", "COMPLETED", 0, "")
	})
}

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
		equal(b, "DestinationArn", *b.tasks("dead", 0)[0].DestinationArn, b.server.QueueARN("other"))
	})
	virtualRun(t, "36 hours", func(b *bench) {
		_, dead := b.deadLetters("", "1")
		b.mustMove("dead", "", 1)
		m := b.one(dead)
		for range 3 {
			b.ok(b.hide(dead, m.ReceiptHandle, 43_200-60))
			time.Sleep(11 * time.Hour)
			waiting := b.poll(dead) // a waiting receiver gets it before the task
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

// Cases without a conformance check (moves/...).
func TestStartMessageMoveTaskRefuses(t *testing.T) {
	virtual(t, func(b *bench) {
		b.deadLetters("", "1", "2")
		b.queue("other")
		for _, tc := range []struct {
			dead, destination string
			rate              int32
		}{{"not a name", "", 0}, {"dead", "dead", 0}, {"dead", "not a name", 0}, {"dead", "other", -1}} {
			b.wantCode(errOf(b.move(tc.dead, tc.destination, tc.rate)), "InvalidParameterValue")
		}
		b.wantCode(errOf(b.StartMessageMoveTask(b.ctx, &awssqs.StartMessageMoveTaskInput{SourceArn: aws.String("")})), "MissingParameter")
		b.wantCode(errOf(b.ListMessageMoveTasks(b.ctx, &awssqs.ListMessageMoveTasksInput{
			SourceArn: aws.String(b.server.QueueARN("dead")), MaxResults: new(int32)})), "InvalidParameterValue")
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
		equal(b, "tasks", len(b.tasks("dead", 3)), 3)
	})
}

func TestAnAccountHasAHundredActiveMoveTasks(t *testing.T) {
	virtual(t, func(b *bench) {
		start := func(i int) error {
			dead := fmt.Sprint("dead-", i)
			b.send(b.queue(dead), "a")
			b.queue(fmt.Sprint("orders-", i), "RedrivePolicy", redrivePolicy(b.server.QueueARN(dead), 1))
			return errOf(b.move(dead, "orders-0", 1))
		}
		for i := range 100 {
			b.ok(start(i))
		}
		wantType[*types.RequestThrottled](b, start(100))
		time.Sleep(time.Second) // all are over
		b.ok(start(101))
	})
}

// The call comes at the instant at which the message expires, sometimes before the queue's timer.
func TestMoveTaskEndsWhenItsLastMessageExpires(t *testing.T) {
	for range 20 {
		virtual(t, func(b *bench) {
			b.withoutEvents()
			_, dead := b.deadLetters("", "a")
			b.ok(b.set(dead, "MessageRetentionPeriod", "60"))
			b.one(dead, hiddenFor(100))
			b.mustMove("dead", "", 0)
			time.Sleep(59 * time.Second) // a was sent a second before
			b.mustMove("dead", "", 0)    // only one task may run at a time
		})
	}
}
