package sqs_test

import (
	"testing"
	"time"

	awssqs "github.com/aws/aws-sdk-go-v2/service/sqs"
)

func TestFairQueuesHoldANoisyTenantBack(t *testing.T) {
	withOrders(t, func(b *bench, queue *string) {
		b.sendAs(queue, "noisy", 50)
		b.sendAs(queue, "quiet", 3)
		b.send(queue, "none")
		for range 3 {
			b.wantReceived(queue, "noisy noisy noisy noisy noisy noisy noisy noisy noisy noisy") // before 30 are in flight
		}
		b.wantReceived(queue, "quiet quiet quiet none noisy noisy noisy noisy noisy noisy") // with 30 in flight
		time.Sleep(30 * time.Second)
		b.counts(queue, "54", "0", "0")
		if got := b.receive(queue); len(got) != 10 {
			b.Errorf("received %d, want 10", len(got))
		}
	})
}

func TestMessagesWithoutAGroupAreNoTenant(t *testing.T) {
	withOrders(t, func(b *bench, queue *string) {
		for range 41 {
			b.send(queue, "none")
		}
		b.sendAs(queue, "quiet", 1)
		for range 4 {
			b.receive(queue)
		}
		b.wantReceived(queue, "none quiet") // the older first
	})
}

func TestANoisyTenantIsServedWhenNoOtherIsThere(t *testing.T) {
	virtual(t, func(b *bench) {
		queue := b.queue("orders", "VisibilityTimeout", "600", "MessageRetentionPeriod", "300")
		b.sendAs(queue, "a", 40)
		b.sendAs(queue, "b", 40)
		for range 6 { // thirty of each: both are noisy then, the one with fewer goes first
			b.receive(queue)
		}
		b.wantReceived(queue, "a b a", atMost(3))
		for range 2 {
			b.receive(queue)
		}
		b.wantReceived(queue, "")
		b.sendAs(queue, "a", 3) // held back, and expired before a receive
		b.sendAs(queue, "c", 1)
		b.wantReceived(queue, "c", atMost(1))
		time.Sleep(5 * time.Minute)
		b.sendAs(queue, "a", 1)
		b.wantReceived(queue, "a") // the others expired
	})
}

// sendAs sends messages of a tenant, with its name as the body.
func (b *bench) sendAs(queue *string, tenant string, n int) {
	b.Helper()
	for range n {
		b.sent(queue, awssqs.SendMessageInput{MessageBody: &tenant, MessageGroupId: &tenant})
	}
}

// A tenant is not slow before its processing time is a minute (leastWorked).
func TestAQuickTenantIsNotHeldBack(t *testing.T) {
	withOrders(t, func(b *bench, queue *string) {
		b.sendAs(queue, "first", 1)
		m := b.one(queue)
		b.sendAs(queue, "first", 1)
		time.Sleep(5 * time.Second)
		b.ok(b.delete(queue, m.ReceiptHandle))
		b.sendAs(queue, "second", 1)
		b.wantReceived(queue, "first second")
	})
}
