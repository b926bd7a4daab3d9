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

func TestGroupsAreLockedWhileInFlight(t *testing.T) {
	virtual(t, func(b *bench) {
		queue := b.queue("orders.fifo")
		b.sendFIFO(queue, "a", "a1", "a2", "a3")
		b.sendFIFO(queue, "b", "b1", "b2")
		first := b.one(queue)
		if *first.Body != "a1" {
			b.Fatalf("received %q first", *first.Body)
		}
		if got := bodies(b.receive(queue, atMost(3))); got != "b1 b2" {
			b.Fatalf("with group a in flight: %q", got)
		}
		if got := b.receive(queue); len(got) != 0 {
			b.Fatalf("with both groups in flight: %q", bodies(got))
		}
		b.counts(queue, "2", "3", "0")
		if err := b.delete(queue, first.ReceiptHandle); err != nil {
			b.Fatal(err)
		}
		if got := bodies(b.receive(queue)); got != "a2 a3" {
			b.Errorf("after a1 was deleted: %q", got)
		}
	})
}

func TestOneReceiveFillsUpFromTheNextGroup(t *testing.T) {
	virtual(t, func(b *bench) {
		queue := b.queue("orders.fifo")
		b.sendFIFO(queue, "a", "a1")
		b.sendFIFO(queue, "b", "b1")
		b.sendFIFO(queue, "a", "a2")
		if got := bodies(b.receive(queue)); got != "a1 a2 b1" {
			b.Errorf("received %q", got)
		}
	})
}

func TestOrderIsKeptOverFailures(t *testing.T) {
	virtual(t, func(b *bench) {
		queue := b.queue("orders.fifo", "VisibilityTimeout", "30")
		b.sendFIFO(queue, "a", "1", "2", "3")
		got := b.receive(queue, atMost(2))
		// 2 is released first, 1 stays: the group is locked by 1.
		if err := b.hide(queue, got[1].ReceiptHandle, 0); err != nil {
			b.Fatal(err)
		}
		if more := b.receive(queue); len(more) != 0 {
			b.Fatalf("received %q while 1 was in flight", bodies(more))
		}
		time.Sleep(30 * time.Second)
		got = b.receive(queue)
		if bodies(got) != "1 2 3" {
			b.Fatalf("after the timeout: %q", bodies(got))
		}
		if err := b.delete(queue, got[1].ReceiptHandle); err != nil {
			b.Fatal(err)
		}
		time.Sleep(30 * time.Second)
		if got := bodies(b.receive(queue)); got != "1 3" {
			b.Errorf("after 2 was deleted: %q", got)
		}
	})
}

// Only an earlier message of the group that is in flight blocks one.
func TestAMessageInFlightBlocksWhatIsBehindIt(t *testing.T) {
	for _, tc := range []struct {
		hidden int // which of foo, bar and baz is extended, while the others become visible
		want   string
	}{{0, ""}, {1, "foo"}, {2, "foo bar"}} {
		virtual(t, func(b *bench) {
			queue := b.queue("orders.fifo", "VisibilityTimeout", "1")
			b.sendFIFO(queue, "a", "foo", "bar", "baz")
			got := b.receive(queue)
			if err := b.hide(queue, got[tc.hidden].ReceiptHandle, 4); err != nil {
				b.Fatal(err)
			}
			time.Sleep(2500 * time.Millisecond)
			if got := bodies(b.receive(queue, hiddenFor(1))); got != tc.want {
				b.Errorf("with %d extended: %q, want %q", tc.hidden, got, tc.want)
			}
			time.Sleep(1500 * time.Millisecond)
			if got := bodies(b.receive(queue)); got != "foo bar baz" {
				b.Errorf("when all are visible: %q", got)
			}
		})
	}
}

// A head that is released comes back while its follower is in flight, also to
// a receiver that waits, and what is behind the follower stays.
func TestAReleasedHeadComesBackBeforeItsFollower(t *testing.T) {
	virtual(t, func(b *bench) {
		queue := b.queue("orders.fifo")
		b.sendFIFO(queue, "a", "1", "2", "3")
		got := b.receive(queue, atMost(2))
		waiting := b.poll(queue)
		if err := b.hide(queue, got[0].ReceiptHandle, 0); err != nil {
			b.Fatal(err)
		}
		if again := bodies(<-waiting); again != "1" {
			b.Errorf("received %q, want the head alone", again)
		}
		if err := b.delete(queue, got[1].ReceiptHandle); err != nil {
			b.Fatal(err)
		}
		if more := bodies(b.receive(queue)); more != "" {
			b.Errorf("received %q while 1 was in flight", more)
		}
	})
}

// A group's turn comes by when its first message became visible: one that is
// released or whose timeout ends goes behind the groups that waited meanwhile.
func TestAReleasedHeadWaitsForGroupsThatWereVisibleBefore(t *testing.T) {
	for name, release := range map[string]func(*bench, *string, types.Message) error{
		"released": func(b *bench, queue *string, m types.Message) error { return b.hide(queue, m.ReceiptHandle, 0) },
		"expired": func(*bench, *string, types.Message) error {
			time.Sleep(31 * time.Second)
			return nil
		},
	} {
		t.Run(name, func(t *testing.T) {
			virtual(t, func(b *bench) {
				queue := b.queue("orders.fifo", "VisibilityTimeout", "30")
				b.sendFIFO(queue, "1", "g1-m1", "g1-m2")
				b.sendFIFO(queue, "2", "g2-m1")
				if err := release(b, queue, b.one(queue)); err != nil {
					b.Fatal(err)
				}
				if got := bodies(b.receive(queue)); got != "g2-m1 g1-m1 g1-m2" {
					b.Errorf("received %q", got)
				}
			})
		})
	}
}

// A group whose first message was deleted keeps its place among the groups: that of its next message.
func TestADeletedHeadLeavesItsGroupInPlace(t *testing.T) {
	virtual(t, func(b *bench) {
		queue := b.queue("orders.fifo")
		b.sendFIFO(queue, "1", "g1-m1")
		b.sendFIFO(queue, "2", "g2-m1")
		b.sendFIFO(queue, "1", "g1-m2")
		b.sendFIFO(queue, "3", "g3-m1")
		if err := b.delete(queue, b.one(queue).ReceiptHandle); err != nil {
			b.Fatal(err)
		}
		if got := bodies(b.receive(queue)); got != "g2-m1 g1-m2 g3-m1" {
			b.Errorf("received %q", got)
		}
	})
}

func TestFIFORefusesExpiredReceiptHandles(t *testing.T) {
	virtual(t, func(b *bench) {
		queue := b.queue("orders.fifo", "VisibilityTimeout", "10")
		b.sendFIFO(queue, "a", "1")
		old := b.one(queue)
		time.Sleep(10 * time.Second)
		b.wantCode(b.delete(queue, old.ReceiptHandle), "InvalidParameterValue")
		latest := b.one(queue)
		b.wantCode(b.delete(queue, old.ReceiptHandle), "InvalidParameterValue")
		for range 2 { // the second time it is gone already
			if err := b.delete(queue, latest.ReceiptHandle); err != nil {
				b.Error(err)
			}
		}
		b.counts(queue, "0", "0", "0")
	})
}

func TestDeduplication(t *testing.T) {
	sha := "ca978112ca1bbdcafac231b39a23dc4da786eff8147c4e72b9807785afee48bb" // of "a"
	for name, tc := range map[string]struct {
		attributes    []string
		first, second awssqs.SendMessageInput
		duplicate     bool
	}{
		"same id":                      {nil, fifoSend("a", "g", "1"), fifoSend("b", "g", "1"), true},
		"other id":                     {nil, fifoSend("a", "g", "1"), fifoSend("a", "g", "2"), false},
		"same id, other group":         {nil, fifoSend("a", "g", "1"), fifoSend("a", "h", "1"), true},
		"scope group":                  {[]string{"DeduplicationScope", "messageGroup"}, fifoSend("a", "g", "1"), fifoSend("a", "h", "1"), false},
		"scope group, same group":      {[]string{"DeduplicationScope", "messageGroup"}, fifoSend("a", "g", "1"), fifoSend("a", "g", "1"), true},
		"content":                      {[]string{"ContentBasedDeduplication", "true"}, fifoSend("a", "g", ""), fifoSend("a", "g", ""), true},
		"other content":                {[]string{"ContentBasedDeduplication", "true"}, fifoSend("a", "g", ""), fifoSend("b", "g", ""), false},
		"id overrides content":         {[]string{"ContentBasedDeduplication", "true"}, fifoSend("a", "g", "1"), fifoSend("a", "g", "2"), false},
		"content, then its hash as id": {[]string{"ContentBasedDeduplication", "true"}, fifoSend("a", "g", ""), fifoSend("b", "g", sha), true},
	} {
		t.Run(name, func(t *testing.T) {
			virtual(t, func(b *bench) {
				queue := b.queue("orders.fifo", tc.attributes...)
				tc.first.QueueUrl, tc.second.QueueUrl = queue, queue
				first, err := b.SendMessage(b.ctx, &tc.first)
				if err != nil {
					b.Fatal(err)
				}
				second, err := b.SendMessage(b.ctx, &tc.second)
				if err != nil {
					b.Fatal(err)
				}
				same := *first.MessageId == *second.MessageId && *first.SequenceNumber == *second.SequenceNumber
				if same != tc.duplicate {
					b.Errorf("duplicate: %v, want %v", same, tc.duplicate)
				}
				if !tc.duplicate && *second.SequenceNumber <= *first.SequenceNumber {
					b.Errorf("sequence numbers %s, %s", *first.SequenceNumber, *second.SequenceNumber)
				}
			})
		})
	}
}

func fifoSend(body, group, id string) awssqs.SendMessageInput {
	in := awssqs.SendMessageInput{MessageBody: &body, MessageGroupId: &group}
	if id != "" {
		in.MessageDeduplicationId = &id
	}
	return in
}

func TestDeduplicationLastsFiveMinutesAndSurvivesDeletes(t *testing.T) {
	virtual(t, func(b *bench) {
		queue := b.queue("orders.fifo")
		b.sendFIFO(queue, "g", "1")
		if err := b.delete(queue, b.one(queue).ReceiptHandle); err != nil {
			b.Fatal(err)
		}
		time.Sleep(5*time.Minute - time.Nanosecond)
		b.sendFIFO(queue, "g", "1") // does not begin a new window
		b.counts(queue, "0", "0", "0")
		time.Sleep(time.Nanosecond)
		b.sendFIFO(queue, "g", "1")
		m := b.one(queue)
		if m.Attributes["MessageDeduplicationId"] != "1" || m.Attributes["MessageGroupId"] != "g" || len(m.Attributes["SequenceNumber"]) != 20 {
			b.Errorf("attributes %v", m.Attributes)
		}
		if got := b.kinds(); got != "sent received deleted duplicate sent received" {
			b.Errorf("events %s", got)
		}
	})
}

func TestFIFODelayIsTheQueuesAndRetroactive(t *testing.T) {
	virtual(t, func(b *bench) {
		queue := b.queue("orders.fifo", "DelaySeconds", "60")
		b.sendFIFO(queue, "h", "other")
		time.Sleep(time.Minute)
		b.one(queue, hiddenFor(35))
		b.sendFIFO(queue, "g", "1", "2")
		time.Sleep(30 * time.Second)
		b.counts(queue, "0", "1", "2")
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

func TestDeletedMessageOfALockedGroupUnlocksIt(t *testing.T) {
	virtual(t, func(b *bench) {
		queue := b.queue("orders.fifo")
		b.sendFIFO(queue, "g", "1", "2")
		m := b.one(queue)
		got := b.poll(queue)
		if err := b.delete(queue, m.ReceiptHandle); err != nil {
			b.Fatal(err)
		}
		start := time.Now()
		if messages := <-got; bodies(messages) != "2" || time.Since(start) != 0 {
			b.Errorf("received %q after %v", bodies(messages), time.Since(start))
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
