package sqs_test

import (
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	awssqs "github.com/aws/aws-sdk-go-v2/service/sqs"
	"github.com/aws/aws-sdk-go-v2/service/sqs/types"
)

func TestAMessageLivesFromSendToDelete(t *testing.T) {
	virtual(t, func(b *bench) {
		queue := b.queue("orders")
		b.send(queue, "hello")
		sent := time.Now()
		b.counts(queue, "1", "0", "0")
		m := b.one(queue)
		if *m.Body != "hello" || *m.MD5OfBody != "5d41402abc4b2a76b9719d911017c592" {
			b.Errorf("received %q with MD5 %q", *m.Body, *m.MD5OfBody)
		}
		if got, want := m.Attributes["SentTimestamp"], ms(sent); got != want {
			b.Errorf("SentTimestamp %s, want %s", got, want)
		}
		if m.Attributes["ApproximateReceiveCount"] != "1" {
			b.Errorf("attributes %v", m.Attributes)
		}
		b.counts(queue, "0", "1", "0")
		if err := b.delete(queue, m.ReceiptHandle); err != nil {
			b.Fatal(err)
		}
		b.counts(queue, "0", "0", "0")
		if err := b.delete(queue, m.ReceiptHandle); err != nil {
			b.Errorf("deleting what is deleted: %v", err)
		}
		if got := b.kinds(); got != "sent received deleted" {
			b.Errorf("events %s", got)
		}
	})
}

func TestVisibilityExpires(t *testing.T) {
	virtual(t, func(b *bench) {
		queue := b.queue("orders", "VisibilityTimeout", "43200")
		b.send(queue, "a")
		first := b.one(queue)
		time.Sleep(12*time.Hour - time.Nanosecond)
		if got := b.receive(queue); len(got) != 0 {
			b.Fatal("visible before its timeout ended")
		}
		time.Sleep(time.Nanosecond)
		second := b.one(queue)
		if *first.ReceiptHandle == *second.ReceiptHandle {
			b.Error("the second receive has the first one's receipt handle")
		}
		if *first.MessageId != *second.MessageId || second.Attributes["ApproximateReceiveCount"] != "2" {
			b.Errorf("received %v after %v", second, first)
		}
		if first.Attributes["ApproximateFirstReceiveTimestamp"] != second.Attributes["ApproximateFirstReceiveTimestamp"] {
			b.Error("the first receive's time changed")
		}
	})
}

func TestOldReceiptHandlesOnStandardQueues(t *testing.T) {
	virtual(t, func(b *bench) {
		queue := b.queue("orders", "VisibilityTimeout", "10")
		b.send(queue, "a")
		old := b.one(queue)
		time.Sleep(10 * time.Second)
		latest := b.one(queue)
		if err := b.delete(queue, old.ReceiptHandle); err != nil {
			b.Fatalf("delete with an old handle: %v, want success without effect", err)
		}
		b.counts(queue, "0", "1", "0")
		b.wantCode(b.hide(queue, old.ReceiptHandle, 60), "InvalidParameterValue")
		time.Sleep(10 * time.Second)
		if err := b.hide(queue, latest.ReceiptHandle, 60); err != nil {
			b.Errorf("change of a message that is visible again: %v, want success without effect", err)
		}
		b.counts(queue, "1", "0", "0")
		if err := b.delete(queue, latest.ReceiptHandle); err != nil {
			b.Fatal(err)
		}
		b.counts(queue, "0", "0", "0")
		b.wantCode(b.hide(queue, latest.ReceiptHandle, 60), "InvalidParameterValue")
	})
}

// The receipt handle of a message that is gone has another code in a batch.
func TestVisibilityOfDeletedMessages(t *testing.T) {
	for _, name := range []string{"orders", "orders.fifo"} {
		virtual(t, func(b *bench) {
			queue := b.queue(name)
			if name == "orders" {
				b.send(queue, "a")
			} else {
				b.sendFIFO(queue, "g", "a")
			}
			m := b.one(queue)
			if err := b.delete(queue, m.ReceiptHandle); err != nil {
				b.Fatal(err)
			}
			b.wantCode(b.hide(queue, m.ReceiptHandle, 60), "InvalidParameterValue")
			out, err := b.ChangeMessageVisibilityBatch(b.ctx, &awssqs.ChangeMessageVisibilityBatchInput{QueueUrl: queue,
				Entries: []types.ChangeMessageVisibilityBatchRequestEntry{{Id: aws.String("a"), ReceiptHandle: m.ReceiptHandle, VisibilityTimeout: 60}}})
			if err != nil || len(out.Failed) != 1 || *out.Failed[0].Code != "ReceiptHandleIsInvalid" || !out.Failed[0].SenderFault {
				b.Errorf("%s: batch %+v, %v", name, out, err)
			}
		})
	}
}

func TestChangeVisibility(t *testing.T) {
	virtual(t, func(b *bench) {
		queue := b.queue("orders")
		b.send(queue, "a")
		m := b.one(queue)
		time.Sleep(20 * time.Second)
		if err := b.hide(queue, m.ReceiptHandle, 20); err != nil { // counts from now
			b.Fatal(err)
		}
		time.Sleep(19 * time.Second)
		if got := b.receive(queue); len(got) != 0 {
			b.Fatal("visible before the changed timeout ended")
		}
		if err := b.hide(queue, m.ReceiptHandle, 0); err != nil {
			b.Fatal(err)
		}
		b.one(queue)
	})
}

func TestEachMessageHasItsOwnTimeout(t *testing.T) {
	virtual(t, func(b *bench) {
		queue := b.queue("orders", "VisibilityTimeout", "100")
		b.send(queue, "a", "b", "c", "d")
		got := b.receive(queue)
		for i, seconds := range []int32{400, 50, 300, 20} {
			if err := b.hide(queue, got[i].ReceiptHandle, seconds); err != nil {
				b.Fatal(err)
			}
		}
		start := time.Now()
		for _, want := range []struct {
			body  string
			after time.Duration
		}{{"d", 20 * time.Second}, {"b", 50 * time.Second}, {"c", 300 * time.Second}, {"a", 400 * time.Second}} {
			var m []types.Message
			for len(m) == 0 {
				m = b.receive(queue, waiting(20), hiddenFor(1000))
			}
			if bodies(m) != want.body || time.Since(start) != want.after {
				b.Errorf("received %q after %v, want %q after %v", bodies(m), time.Since(start), want.body, want.after)
			}
		}
	})
}

func TestVisibilityIsTwelveHoursInAllAtMost(t *testing.T) {
	virtual(t, func(b *bench) {
		queue := b.queue("orders")
		b.send(queue, "a")
		m := b.one(queue)
		time.Sleep(10 * time.Second)
		b.wantCode(b.hide(queue, m.ReceiptHandle, 43_200), "InvalidParameterValue")
		b.wantCode(b.hide(queue, m.ReceiptHandle, 43_191), "InvalidParameterValue")
		if err := b.hide(queue, m.ReceiptHandle, 43_190); err != nil {
			b.Error(err)
		}
		b.wantCode(b.hide(queue, m.ReceiptHandle, 43_201), "InvalidParameterValue")
		b.wantCode(b.hide(queue, m.ReceiptHandle, -1), "InvalidParameterValue")
	})
}

func TestDelays(t *testing.T) {
	virtual(t, func(b *bench) {
		queue := b.queue("orders", "DelaySeconds", "60")
		b.send(queue, "queue's delay")
		if _, err := b.SendMessage(b.ctx, &awssqs.SendMessageInput{
			QueueUrl: queue, MessageBody: aws.String("own delay"), DelaySeconds: 900}); err != nil {
			b.Fatal(err)
		}
		b.counts(queue, "0", "0", "2")
		time.Sleep(time.Minute)
		if got := bodies(b.receive(queue)); got != "queue's delay" {
			b.Errorf("received %q", got)
		}
		time.Sleep(14 * time.Minute)
		if got := bodies(b.receive(queue, func(in *awssqs.ReceiveMessageInput) { in.MaxNumberOfMessages = 1 })); got == "" {
			b.Error("nothing after the message's own delay")
		}
	})
}

func TestRetention(t *testing.T) {
	virtual(t, func(b *bench) {
		queue := b.queue("orders", "MessageRetentionPeriod", "60")
		b.send(queue, "visible", "in flight")
		b.one(queue, hiddenFor(600))
		time.Sleep(30 * time.Second)
		b.send(queue, "later")
		time.Sleep(30 * time.Second)
		b.counts(queue, "1", "0", "0")
		if got := bodies(b.receive(queue)); got != "later" {
			b.Errorf("received %q", got)
		}
	})
}

func TestVisibilityZeroReceivesAtOnceAgain(t *testing.T) {
	virtual(t, func(b *bench) {
		queue := b.queue("orders", "VisibilityTimeout", "0")
		b.send(queue, "a", "b")
		for range 3 {
			if got := b.receive(queue); len(got) != 2 {
				b.Fatalf("received %q, want each message once", bodies(got))
			}
		}
		b.counts(queue, "2", "0", "0")
	})
}

func TestSystemAttributesOnlyWhenAsked(t *testing.T) {
	virtual(t, func(b *bench) {
		queue := b.queue("orders", "VisibilityTimeout", "0")
		_, err := b.SendMessage(b.ctx, &awssqs.SendMessageInput{
			QueueUrl: queue, MessageBody: aws.String("a"), MessageGroupId: aws.String("tenant"),
			MessageSystemAttributes: map[string]types.MessageSystemAttributeValue{
				"AWSTraceHeader": {DataType: aws.String("String"), StringValue: aws.String("Root=1-5759e988-bd862e3fe1be46a994272793")}},
		})
		if err != nil {
			b.Fatal(err)
		}
		ask := func(names ...types.MessageSystemAttributeName) map[string]string {
			return b.one(queue, func(in *awssqs.ReceiveMessageInput) { in.MessageSystemAttributeNames = names }).Attributes
		}
		if got := ask(); len(got) != 0 {
			b.Errorf("unasked: %v", got)
		}
		if got := ask("ApproximateReceiveCount", "SequenceNumber"); len(got) != 1 || got["ApproximateReceiveCount"] != "2" {
			b.Errorf("asked for the count: %v", got)
		}
		all := ask("All")
		for _, name := range []string{"SenderId", "SentTimestamp", "ApproximateReceiveCount", "ApproximateFirstReceiveTimestamp", "MessageGroupId", "AWSTraceHeader"} {
			if all[name] == "" {
				b.Errorf("no %s in %v", name, all)
			}
		}
		if len(all) != 6 {
			b.Errorf("all: %v", all)
		}
		older := b.one(queue, func(in *awssqs.ReceiveMessageInput) {
			//lint:ignore SA1019 older clients still send it
			in.MessageSystemAttributeNames, in.AttributeNames = nil, []types.QueueAttributeName{"All"}
		})
		if len(older.Attributes) != 6 {
			b.Errorf("by AttributeNames: %v", older.Attributes)
		}
	})
}

func TestPurge(t *testing.T) {
	virtual(t, func(b *bench) {
		queue := b.queue("orders")
		b.send(queue, "a", "b")
		b.one(queue)
		purge := func() error {
			_, err := b.PurgeQueue(b.ctx, &awssqs.PurgeQueueInput{QueueUrl: queue})
			return err
		}
		if err := purge(); err != nil {
			b.Fatal(err)
		}
		b.counts(queue, "0", "0", "0")
		wantType[*types.PurgeQueueInProgress](b, purge())
		time.Sleep(time.Minute)
		if err := purge(); err != nil {
			b.Error(err)
		}
		b.send(queue, "c")
		if got := bodies(b.receive(queue)); got != "c" {
			b.Errorf("received %q", got)
		}
	})
}
