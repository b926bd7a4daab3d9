package sqs_test

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/sqsbatch/sqsbatch/emulator/sqs"
)

func operations(calls []sqs.Call) string {
	var all []string
	for _, c := range calls {
		all = append(all, c.Operation)
	}
	return strings.Join(all, " ")
}

// remembering runs a test with a server that has a history of the given length.
func remembering(t *testing.T, length int, test func(b *bench)) {
	synctest.Test(t, func(t *testing.T) { test(newBench(t, sqs.Config{History: length})) })
}

func TestHistoryTellsWhatWasDeletedWhenByWhichReceipt(t *testing.T) {
	remembering(t, 0, func(b *bench) {
		queue := b.queue("orders")
		b.send(queue, "a", "b")
		first := b.one(queue, hiddenFor(5))
		time.Sleep(3 * time.Second)
		b.ok(b.delete(queue, first.ReceiptHandle))
		deleted := b.server.Events(sqs.Deleted)
		if len(deleted) != 1 || deleted[0].Body != "a" || deleted[0].ReceiptHandle != *first.ReceiptHandle || !deleted[0].Time.Equal(time.Now()) {
			b.Errorf("deleted %+v", deleted)
		}
		equal(b, "calls", operations(b.server.Calls()), "CreateQueue SendMessage SendMessage ReceiveMessage DeleteMessage")
		equal(b, "calls", operations(b.server.Calls("DeleteMessage", "ReceiveMessage")), "ReceiveMessage DeleteMessage")
		if c := b.server.Calls("ReceiveMessage")[0]; c.Messages != 1 || c.Queue != "orders" || c.Error != "" || c.Fault != "" {
			b.Errorf("%+v", c)
		}
	})
}

// A queue's name is a part of the request, and an error may quote it.
func TestHistoryKeepsNoLongTexts(t *testing.T) {
	remembering(t, 0, func(b *bench) {
		post(b.server, "AmazonSQS.PurgeQueue", `{"QueueUrl":"`+*b.queue("orders")+strings.Repeat("x", 1<<20)+`"}`)
		if name := last(b.server.Calls()).Queue; !strings.HasPrefix(name, "ordersx") || len(name) != 80 {
			b.Errorf("a name of %d bytes is kept", len(name))
		}
		_, _, code := post(b.server, "AmazonSQS.CreateQueue", `{"QueueName":"new","Attributes":{"`+strings.Repeat("ä", 100_000)+`":"1"}}`)
		if c := last(b.server.Calls()); c.Error == "" || c.Error != code || len(c.Message) > 1000 {
			b.Errorf("%s (%d bytes), answered %s", c.Error, len(c.Message), code)
		}
	})
}

func TestHistoryIsBounded(t *testing.T) {
	remembering(t, 3, func(b *bench) {
		b.send(b.queue("orders"), strings.Fields("a b c d e")...)
		var sent []string
		for _, e := range b.server.Events() {
			sent = append(sent, e.Body)
		}
		equal(b, "events of", strings.Join(sent, " "), "c d e")
		equal(b, "calls", operations(b.server.Calls()), "SendMessage SendMessage SendMessage")
	})
	remembering(t, -1, func(b *bench) {
		b.send(b.queue("orders"), "a")
		if calls, events := b.server.Calls(), b.server.Events(); len(calls)+len(events) != 0 {
			b.Errorf("kept %v and %v", calls, events)
		}
	})
}

// The bodies of the events take at most 64 MiB. The events of one message share a body.
func TestHistoryIsBoundedInBytes(t *testing.T) {
	const size, fit = 1 << 20, 64
	remembering(t, 0, func(b *bench) {
		queue := b.queue("orders")
		send := func(body string) { // the SDK would take its time
			if status, _, code := post(b.server, "AmazonSQS.SendMessage", `{"QueueUrl":"`+*queue+`","MessageBody":"`+body+`"}`); status != 200 {
				b.Fatal(code)
			}
		}
		sendLarge := func(i int) { send(strconv.Itoa(i) + strings.Repeat("x", size-len(strconv.Itoa(i)))) }
		for i := range fit {
			sendLarge(i)
		}
		b.ok(b.purge(queue))
		if n := len(b.server.Events()); n != fit+1 {
			b.Fatalf("%d events, want all of %d messages", n, fit)
		}
		for i := fit; i < fit+5; i++ { // each in place of the oldest
			sendLarge(i)
		}
		for range 5 { // their events take no more memory
			b.one(queue)
		}
		events := b.server.Events()
		if n := len(events); n != fit+1+5 || !strings.HasPrefix(events[0].Body, "5x") || events[0].Kind != sqs.Sent {
			b.Errorf("%d events from %.2s %s", n, events[0].Body, events[0].Kind)
		}
		equal(b, "calls, which have no bodies", len(b.server.Calls("SendMessage")), fit+5)
		send(strings.Repeat("small ", 10))
		if e := last(b.server.Events()); !strings.HasPrefix(e.Body, "small") {
			b.Error("the latest event is not there")
		}
		for i := fit; i < 2*fit; i++ { // also in place of all events of a message
			sendLarge(i)
		}
		if events := b.server.Events(); len(events) != fit {
			b.Errorf("%d events, want %d", len(events), fit)
		}
	})
}

// Events of an unused queue have the time at which they took effect.
func TestHistoryIsInOrderOfTime(t *testing.T) {
	remembering(t, 0, func(b *bench) {
		silent, other, start := b.queue("silent"), b.queue("other"), time.Now()
		b.send(silent, "a")
		b.one(silent, hiddenFor(30))
		time.Sleep(40 * time.Second)
		b.send(other, "b")
		time.Sleep(time.Second)
		var told []string
		for _, e := range b.server.Events() {
			told = append(told, fmt.Sprint(e.Kind, " ", e.Body, " ", e.Time.Sub(start)))
		}
		equal(b, "events", strings.Join(told, ", "), "sent a 0s, received a 0s, returned a 30s, sent b 40s")
	})
}

// A message that expired in flight never returns.
func TestHistoryOfWhatExpiredInFlight(t *testing.T) {
	for _, hidden := range []int32{59, 60, 61} {
		remembering(t, 0, func(b *bench) {
			queue, sent := b.queue("orders", "MessageRetentionPeriod", "60"), time.Now()
			b.send(queue, "a")
			b.one(queue, hiddenFor(hidden))
			time.Sleep(time.Hour)
			returned, expired := b.server.Events(sqs.Returned), b.server.Events(sqs.Expired)
			if len(expired) != 1 || expired[0].Body != "a" || expired[0].Time.Sub(sent) != time.Minute {
				b.Errorf("hidden for %d s: expired %+v", hidden, expired)
			}
			equal(b, fmt.Sprintf("returns, hidden for %d s", hidden), len(returned), btoi(hidden < 60))
		})
	}
}

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
			if received := e.Kind != "sent"; e.Visibility != want || e.Queue != "orders.fifo" || e.QueueURL != *queue || e.MessageID != *m.MessageId || e.Body != "a" ||
				e.MessageGroupID != "g" || e.DeduplicationID != "a" || e.SequenceNumber != m.Attributes["SequenceNumber"] ||
				received != (e.ReceiptHandle == *m.ReceiptHandle) || received != (e.ReceiveCount == 1) {
				b.Errorf("%+v, want the visibility %v", e, want)
			}
		}
		// Observed at the time, without a request.
		equal(b, "returned after", events[3].Time.Sub(start), 90*time.Second)
	})
}

func TestEventsOfExpiryAndPurge(t *testing.T) {
	virtual(t, func(b *bench) {
		queue := b.queue("orders", "MessageRetentionPeriod", "60")
		b.send(queue, "a")
		time.Sleep(time.Hour)
		b.send(queue, "b")
		b.ok(b.purge(queue))
		equal(b, "events", b.kinds(), "sent expired sent purged")
	})
}

// observed runs a test with a server whose calls are recorded.
func observed(t *testing.T, o sqs.Config, test func(b *bench, calls *[]sqs.Call)) {
	synctest.Test(t, func(t *testing.T) {
		var calls []sqs.Call
		var b *bench
		o.ObserveCall = func(c sqs.Call) {
			calls = append(calls, c)
			_ = b.server.Calls() // ObserveCall may call the server
		}
		b = newBench(t, o)
		test(b, &calls)
	})
}

func TestObserveCallTellsWhatTheHistoryHas(t *testing.T) {
	observed(t, sqs.Config{}, func(b *bench, calls *[]sqs.Call) {
		queue := b.queue("orders")
		b.send(queue, "a")
		b.one(queue, hiddenFor(5))
		b.receive(queue, waiting(2))
		if err := b.delete(queue, new(string)); err == nil {
			b.Error("an empty receipt handle is accepted")
		}
		if want := b.server.Calls(); len(want) != 5 || !slices.Equal(*calls, want) {
			b.Errorf("observed %+v\nthe history has %+v", *calls, want)
		}
		if poll := (*calls)[3]; poll.Ended.Sub(poll.Began) != 2*time.Second {
			b.Errorf("a long poll of 2 s is %+v", poll)
		}
	})
}

func TestObserveCallNeedsNoHistory(t *testing.T) {
	observed(t, sqs.Config{History: -1}, func(b *bench, calls *[]sqs.Call) {
		missing := *b.queue("orders") + "-missing"
		err := b.purge(&missing)
		b.wantCode(err, "AWS.SimpleQueueService.NonExistentQueue")
		if len(*calls) != 2 {
			b.Fatalf("observed %+v", *calls)
		}
		created, purge := (*calls)[0], (*calls)[1]
		if purge.Operation != "PurgeQueue" || purge.Queue != "orders-missing" || purge.Error != "AWS.SimpleQueueService.NonExistentQueue" ||
			purge.Message == "" || !strings.HasSuffix(err.Error(), purge.Message) || created.Error != "" || created.Message != "" {
			b.Errorf("%+v, the client received %v", *calls, err)
		}
	})
}
