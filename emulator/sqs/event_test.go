package sqs_test

import (
	"testing"
	"time"
)

func TestEventsTellAllOfAMessage(t *testing.T) {
	virtual(t, func(b *bench) {
		queue := b.queue("orders.fifo", "DelaySeconds", "3")
		b.sendFIFO(queue, "g", "a")
		time.Sleep(3 * time.Second)
		m := b.one(queue, hiddenFor(60))
		b.ok(b.hide(queue, m.ReceiptHandle, 90))
		start := time.Now()
		time.Sleep(2 * time.Minute)
		events := b.events()
		if got := b.kinds(); got != "sent received visibility returned" {
			b.Fatalf("events %s", got)
		}
		for i, want := range []time.Duration{3 * time.Second, time.Minute, 90 * time.Second, 0} {
			e := events[i]
			if e.Visibility != want {
				b.Errorf("%s: visibility %v, want %v", e.Kind, e.Visibility, want)
			}
			if e.Queue != "orders.fifo" || e.QueueURL != *queue || e.MessageID != *m.MessageId || e.Body != "a" ||
				e.MessageGroupID != "g" || e.DeduplicationID != "a" || e.SequenceNumber != m.Attributes["SequenceNumber"] {
				b.Errorf("%+v", e)
			}
			if received := e.Kind != "sent"; received != (e.ReceiptHandle == *m.ReceiptHandle) || received != (e.ReceiveCount == 1) {
				b.Errorf("%+v", e)
			}
		}
		// Observed when it happened, though no request came.
		if got := events[3].Time.Sub(start); got != 90*time.Second {
			b.Errorf("returned after %v", got)
		}
	})
}

func TestEventsOfExpiryAndPurge(t *testing.T) {
	virtual(t, func(b *bench) {
		queue := b.queue("orders", "MessageRetentionPeriod", "60")
		b.send(queue, "a")
		time.Sleep(time.Hour)
		b.send(queue, "b")
		b.ok(b.purge(queue))
		if got := b.kinds(); got != "sent expired sent purged" {
			b.Errorf("events %s", got)
		}
		if e := b.events()[1]; e.Body != "a" || e.Time.Sub(b.events()[0].Time) != time.Minute {
			b.Errorf("%+v", e)
		}
	})
}
