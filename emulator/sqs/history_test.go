package sqs_test

import (
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

// remembering runs a test with a server that keeps a history of a length.
func remembering(t *testing.T, length int, test func(b *bench)) {
	synctest.Test(t, func(t *testing.T) { test(newBench(t, sqs.Options{History: length})) })
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
		if got := operations(b.server.Calls()); got != "CreateQueue SendMessage SendMessage ReceiveMessage DeleteMessage" {
			b.Errorf("calls %s", got)
		}
		if got := operations(b.server.Calls("DeleteMessage", "ReceiveMessage")); got != "ReceiveMessage DeleteMessage" {
			b.Errorf("calls %s", got)
		}
		if c := b.server.Calls("ReceiveMessage")[0]; c.Messages != 1 || c.Queue != "orders" || c.Error != "" || c.Fault != "" {
			b.Errorf("%+v", c)
		}
		// What time brought is there, though no request came; at its own time.
		b.one(queue, hiddenFor(5))
		time.Sleep(time.Minute)
		returned := b.server.Events(sqs.Returned)
		if len(returned) != 1 || returned[0].Body != "b" || time.Since(returned[0].Time) != 55*time.Second {
			b.Errorf("returned %+v", returned)
		}
	})
}

func TestHistoryKeepsNoLongNames(t *testing.T) {
	remembering(t, 0, func(b *bench) {
		queue := b.queue("orders")
		post(b.server, "AmazonSQS.PurgeQueue", `{"QueueUrl":"`+*queue+strings.Repeat("x", 1<<20)+`"}`)
		if name := last(b.server.Calls()).Queue; !strings.HasPrefix(name, "ordersx") || len(name) != 80 {
			b.Errorf("a name of %d bytes is kept", len(name))
		}
	})
}

func TestHistoryIsBounded(t *testing.T) {
	remembering(t, 3, func(b *bench) {
		queue := b.queue("orders")
		b.send(queue, strings.Fields("a b c d e")...)
		var sent []string
		for _, e := range b.server.Events() {
			sent = append(sent, e.Body)
		}
		if got := strings.Join(sent, " "); got != "c d e" {
			b.Errorf("events of %s, want the latest three in their order", got)
		}
		if got := operations(b.server.Calls()); got != "SendMessage SendMessage SendMessage" {
			b.Errorf("calls %s", got)
		}
	})
	remembering(t, -1, func(b *bench) {
		b.send(b.queue("orders"), "a")
		if calls, events := b.server.Calls(), b.server.Events(); len(calls)+len(events) != 0 {
			b.Errorf("kept %v and %v", calls, events)
		}
	})
}

// The bodies of the events take 64 MiB at most, however few events there are;
// the events of one message share theirs.
func TestHistoryIsBoundedInBytes(t *testing.T) {
	const size, fit = 1 << 20, 64
	bodyOf := func(i int) string { return strconv.Itoa(i) + strings.Repeat("x", size-len(strconv.Itoa(i))) }
	remembering(t, 0, func(b *bench) {
		queue := b.queue("orders")
		for i := range fit {
			b.send(queue, bodyOf(i))
			b.ok(b.delete(queue, b.one(queue).ReceiptHandle))
		}
		if n := len(b.server.Events()); n != 3*fit {
			b.Fatalf("%d events, want all of %d messages", n, fit)
		}
		for i := fit; i < fit+5; i++ { // each in place of the oldest, with what happened to it
			b.send(queue, bodyOf(i))
		}
		events := b.server.Events()
		if n := len(events); n != 3*(fit-5)+5 || !strings.HasPrefix(events[0].Body, "5x") || events[0].Kind != sqs.Sent {
			b.Errorf("%d events from %.2s %s", n, events[0].Body, events[0].Kind)
		}
		if n := len(b.server.Calls()); n != 1+3*fit+5 {
			b.Errorf("%d calls: they have no bodies", n)
		}
		b.send(queue, strings.Repeat("small ", 10))
		if events := b.server.Events(); !strings.HasPrefix(events[len(events)-1].Body, "small") {
			b.Error("the latest event is not there")
		}
	})
}

// What time brings to a queue that no one uses is reported at its own time.
func TestHistoryIsInOrderOfTime(t *testing.T) {
	remembering(t, 0, func(b *bench) {
		silent, other := b.queue("silent"), b.queue("other")
		b.send(silent, "a")
		b.one(silent, hiddenFor(30))
		time.Sleep(40 * time.Second)
		b.send(other, "b")
		time.Sleep(time.Second)
		var told []string
		for _, e := range b.server.Events() {
			told = append(told, string(e.Kind)+" "+e.Body)
		}
		if got := strings.Join(told, ", "); got != "sent a, received a, returned a, sent b" {
			b.Errorf("events %s", got)
		}
	})
}

// A message that expired in flight never returns.
func TestHistoryOfWhatExpiredInFlight(t *testing.T) {
	for _, hidden := range []int32{59, 60, 61} {
		remembering(t, 0, func(b *bench) {
			queue := b.queue("orders", "MessageRetentionPeriod", "60")
			sent := time.Now()
			b.send(queue, "a")
			b.one(queue, hiddenFor(hidden))
			time.Sleep(time.Hour)
			returned, expired := b.server.Events(sqs.Returned), b.server.Events(sqs.Expired)
			if len(expired) != 1 || expired[0].Time.Sub(sent) != time.Minute {
				b.Errorf("hidden for %d s: expired %+v", hidden, expired)
			}
			if len(returned) != btoi(hidden < 60) {
				b.Errorf("hidden for %d s: returned %+v", hidden, returned)
			}
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

// observed runs a test with a server whose calls are noted.
func observed(t *testing.T, o sqs.Options, test func(b *bench, calls *[]sqs.Call)) {
	synctest.Test(t, func(t *testing.T) {
		var calls []sqs.Call
		var b *bench
		o.ObserveCall = func(c sqs.Call) {
			calls = append(calls, c)
			_ = b.server.Calls() // it may call the server
		}
		b = newBench(t, o)
		test(b, &calls)
	})
}

func TestObserveCallTellsWhatTheHistoryHas(t *testing.T) {
	observed(t, sqs.Options{}, func(b *bench, calls *[]sqs.Call) {
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
	observed(t, sqs.Options{History: -1}, func(b *bench, calls *[]sqs.Call) {
		missing := *b.queue("orders") + "-missing"
		err := b.purge(&missing)
		b.wantCode(err, "AWS.SimpleQueueService.NonExistentQueue")
		if len(*calls) != 2 {
			b.Fatalf("observed %+v", *calls)
		}
		purge := (*calls)[1]
		if purge.Operation != "PurgeQueue" || purge.Queue != "orders-missing" || purge.Error != "AWS.SimpleQueueService.NonExistentQueue" ||
			purge.Message == "" || !strings.HasSuffix(err.Error(), purge.Message) {
			b.Errorf("%+v, the client received %v", purge, err)
		}
		if ok := (*calls)[0]; ok.Error != "" || ok.Message != "" {
			b.Errorf("%+v", ok)
		}
	})
}

// An error may quote what was sent.
func TestCallsKeepNoLongErrors(t *testing.T) {
	observed(t, sqs.Options{}, func(b *bench, calls *[]sqs.Call) {
		_, _, code := post(b.server, "AmazonSQS.CreateQueue", `{"QueueName":"orders","Attributes":{"`+strings.Repeat("ä", 100_000)+`":"1"}}`)
		if c := last(*calls); c.Error == "" || c.Error != code || len(c.Message) > 1000 {
			b.Errorf("%s (%d bytes), answered %s", c.Error, len(c.Message), code)
		}
	})
}
