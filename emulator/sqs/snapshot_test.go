package sqs_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	awssqs "github.com/aws/aws-sdk-go-v2/service/sqs"
	"github.com/aws/aws-sdk-go-v2/service/sqs/types"

	"github.com/sqsbatch/sqsbatch/emulator/sqs"
)

// snapshots returns all queues as short text.
func (b *bench) snapshots() string {
	var all []string
	for _, q := range b.server.Snapshot() {
		text := fmt.Sprintf("%s %d/%d/%d:", q.Name, q.Visible, q.InFlight, q.Delayed)
		for _, m := range q.Messages {
			text += fmt.Sprintf(" %s %s %d", m.Body, m.State, m.ReceiveCount)
			if !m.VisibleAt.IsZero() {
				text += fmt.Sprint(" ", time.Until(m.VisibleAt))
			}
		}
		all = append(all, text)
	}
	return strings.Join(all, "; ")
}

func (b *bench) wantSnapshot(want string) {
	b.Helper()
	equal(b, "snapshot", b.snapshots(), want)
}

func TestSnapshot_ShowsMessagesInEachState(t *testing.T) {
	virtual(t, func(b *bench) {
		queue, dead := b.pair("", 1, "VisibilityTimeout", "30")
		b.send(queue, "a", "b")
		b.sent(queue, awssqs.SendMessageInput{MessageBody: aws.String("c"), DelaySeconds: 60})
		b.one(queue)
		events := len(b.events())
		for range 2 { // a snapshot changes nothing
			b.wantSnapshot("dead 0/0/0:; orders 1/1/1: a in flight 1 30s b visible 0 c delayed 0 1m0s")
		}
		equal(b, "events after snapshots", len(b.events()), events)
		b.counts(queue, "1", "1", "1")
		time.Sleep(time.Minute) // without a request
		b.wantSnapshot("dead 0/0/0:; orders 3/0/0: a visible 1 b visible 0 c visible 0")
		b.wantReceived(queue, "b c")
		b.wantSnapshot("dead 1/0/0: a visible 1; orders 0/2/0: b in flight 1 30s c in flight 1 30s")
		equal(b, "a dead letter of", b.server.Snapshot()[0].Messages[0].SourceARN, b.server.QueueARN("orders"))
		b.one(dead)
	})
}

func TestSnapshot_HasWhatTheSenderGave(t *testing.T) {
	virtual(t, func(b *bench) {
		queue := b.queue("orders.fifo", "VisibilityTimeout", "45")
		in := fifoSend("a", "g", "d")
		in.MessageAttributes = map[string]types.MessageAttributeValue{"text": text("v"), "raw": binary("\x00\xff")}
		in.MessageSystemAttributes = map[string]types.MessageSystemAttributeValue{
			"AWSTraceHeader": {DataType: aws.String("String"), StringValue: aws.String("Root=1")}}
		sent := b.sent(queue, in)
		q := b.server.Snapshot()[0]
		if q.URL != *queue || q.ARN != b.server.QueueARN("orders.fifo") || q.Attributes["VisibilityTimeout"] != "45" || len(q.Messages) != 1 {
			b.Fatalf("%+v", q)
		}
		m := q.Messages[0]
		if m.MessageID != *sent.MessageId || m.SequenceNumber != *sent.SequenceNumber || len(m.SequenceNumber) != 20 || m.MessageGroupID != "g" || m.DeduplicationID != "d" ||
			m.TraceHeader != "Root=1" || !m.SentAt.Equal(time.Now()) {
			b.Errorf("%+v", m)
		}
		if got := fmt.Sprint(m.Attributes); got != fmt.Sprint(map[string]sqs.MessageAttribute{
			"text": {DataType: "String", String: "v"}, "raw": {DataType: "Binary", Binary: []byte{0, 255}}}) {
			b.Errorf("attributes %s", got)
		}
	})
}

func TestMove_MakesNewMessagesOfThoseThatAreVisible(t *testing.T) {
	virtual(t, func(b *bench) {
		queue, dead := b.pair("", 5, "VisibilityTimeout", "30")
		b.send(dead, "a", "b", "c")
		b.sent(dead, awssqs.SendMessageInput{MessageBody: aws.String("d"), DelaySeconds: 60})
		b.one(dead) // a is in flight
		var ids []string
		for _, m := range b.server.Snapshot()[0].Messages {
			ids = append(ids, m.MessageID)
		}
		moved, err := b.server.Move("dead", "orders", ids[2], ids[1], ids[1], ids[0], ids[3], "no such id")
		if moved != 2 || err != nil {
			t.Errorf("%d messages were moved: %v", moved, err)
		}
		b.wantSnapshot("dead 0/1/1: a in flight 1 30s d delayed 0 1m0s; orders 2/0/0: c visible 0 b visible 0")
		b.wantReceived(queue, "c b")
		for from, to := range map[string]string{"dead": "none", "none": "dead", "orders": "orders"} {
			if _, err := b.server.Move(from, to, ids...); err == nil {
				t.Errorf("a move from %s to %s works", from, to)
			}
		}
		b.queue("orders.fifo")
		if _, err := b.server.Move("dead", "orders.fifo", ids...); err == nil {
			t.Error("a move to a FIFO queue works")
		}
		for _, q := range b.server.Queues() {
			if q.Messages != nil {
				t.Errorf("Queues has messages of %s", q.Name)
			}
		}
	})
}

func TestPause_KeepsMessagesFromReceivers(t *testing.T) {
	virtual(t, func(b *bench) {
		queue := b.queue("orders")
		if err := b.server.Pause("none", true); err == nil {
			t.Error("a queue that does not exist is paused")
		}
		if err := b.server.Pause("orders", true); err != nil {
			t.Fatal(err)
		}
		b.send(queue, "a")
		b.wantReceived(queue, "")
		if !b.server.Queues()[0].Paused {
			t.Error("the queue is not paused")
		}
		got := make(chan int)
		go func() {
			out, err := b.Client.ReceiveMessage(b.Context(), &awssqs.ReceiveMessageInput{QueueUrl: queue, WaitTimeSeconds: 20})
			if err != nil {
				t.Error(err)
			}
			got <- len(out.Messages)
		}()
		time.Sleep(5 * time.Second)
		if err := b.server.Pause("orders", false); err != nil {
			t.Fatal(err)
		}
		begun := time.Now()
		if n := <-got; n != 1 || time.Since(begun) > 0 {
			t.Errorf("a receiver that waits gets %d messages after %s", n, time.Since(begun))
		}
	})
}
