package sqs_test

import (
	"strings"
	"testing"
	"time"

	"github.com/sqsbatch/sqsbatch/emulator/sqs"
)

func TestDuplicateDelivery(t *testing.T) {
	virtual(t, func(b *bench) {
		queue := b.queue("orders")
		b.send(queue, "a", "b", "c")
		b.inject(sqs.Fault{Kind: sqs.DuplicateDelivery, Skip: 1, Times: 1})
		first := b.receive(queue)
		if bodies(first) != "a b c" {
			b.Fatalf("received %q: a receive never returns a message twice", bodies(first))
		}
		second := b.receive(queue)
		if bodies(second) != "b" || second[0].Attributes["ApproximateReceiveCount"] != "2" {
			b.Fatalf("then %q", bodies(second))
		}
		b.ok(b.delete(queue, first[1].ReceiptHandle)) // an old handle: succeeds, and deletes nothing
		b.counts(queue, "0", "3", "0")
		// Order and exactly-once processing are what FIFO queues promise.
		b.server.ClearFaults()
		b.inject(sqs.Fault{Kind: sqs.DuplicateDelivery}, sqs.Fault{Kind: sqs.OutOfOrder}, sqs.Fault{Kind: sqs.EmptyReceive})
		fifo := b.queue("orders.fifo")
		b.sendFIFO(fifo, "g", "a", "b", "c")
		b.wantReceived(fifo, "a b c")
		b.counts(fifo, "0", "3", "0")
	})
}

// A consumer that deletes what it has received before it receives again gets
// every message twice, and deletes it the second time.
func TestDuplicateDeliveryAfterTheDelete(t *testing.T) {
	virtual(t, func(b *bench) {
		queue := b.queue("orders")
		b.inject(sqs.Fault{Kind: sqs.DuplicateDelivery})
		b.send(queue, "a", "b")
		for range 2 {
			messages := b.receive(queue)
			if bodies(messages) != "a b" {
				b.Fatalf("received %q", bodies(messages))
			}
			for _, m := range messages {
				b.ok(b.delete(queue, m.ReceiptHandle))
			}
		}
		b.counts(queue, "0", "0", "0")
		if got := b.kinds(); got != "sent sent received received returned returned received received deleted deleted" {
			b.Errorf("events %s", got)
		}
		// What is not deleted the second time is an ordinary message again.
		b.send(queue, "c")
		b.one(queue)
		b.one(queue, hiddenFor(5))
		b.wantReceived(queue, "") // there is no copy of the copy
		time.Sleep(5 * time.Second)
		if m := b.one(queue); m.Attributes["ApproximateReceiveCount"] != "3" {
			b.Errorf("%+v", m)
		}
	})
}

func TestOutOfOrder(t *testing.T) {
	virtual(t, func(b *bench) {
		queue := b.queue("orders")
		all := strings.Fields("a b c d e f g h")
		b.send(queue, all...)
		b.inject(sqs.Fault{Kind: sqs.OutOfOrder})
		got := strings.Fields(bodies(b.receive(queue)))
		inOrder := true
		for i, body := range got {
			inOrder = inOrder && body == all[i]
		}
		if len(got) != len(all) || inOrder {
			b.Errorf("received %v", got)
		}
	})
}

func TestEmptyReceive(t *testing.T) {
	virtual(t, func(b *bench) {
		queue := b.queue("orders")
		b.send(queue, "a")
		b.inject(sqs.Fault{Kind: sqs.EmptyReceive})
		b.wantReceived(queue, "")              // a short poll
		b.wantReceived(queue, "a", waiting(1)) // a long poll finds it
	})
}
