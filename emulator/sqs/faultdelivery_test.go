package sqs_test

import (
	"strings"
	"testing"

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
		if err := b.delete(queue, first[1].ReceiptHandle); err != nil {
			b.Error(err) // an old handle: succeeds, and deletes nothing
		}
		b.counts(queue, "0", "3", "0")
		// Order and exactly-once processing are what FIFO queues promise.
		b.server.ClearFaults()
		b.inject(sqs.Fault{Kind: sqs.DuplicateDelivery}, sqs.Fault{Kind: sqs.OutOfOrder}, sqs.Fault{Kind: sqs.EmptyReceive})
		fifo := b.queue("orders.fifo")
		b.sendFIFO(fifo, "g", "a", "b", "c")
		if got := bodies(b.receive(fifo)); got != "a b c" {
			b.Errorf("FIFO: %q", got)
		}
		b.counts(fifo, "0", "3", "0")
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
		if got := b.receive(queue); len(got) != 0 {
			b.Errorf("a short poll received %q", bodies(got))
		}
		if got := bodies(b.receive(queue, waiting(1))); got != "a" {
			b.Errorf("a long poll received %q", got)
		}
	})
}
