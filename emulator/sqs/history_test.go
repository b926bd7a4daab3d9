package sqs_test

import (
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	awssqs "github.com/aws/aws-sdk-go-v2/service/sqs"

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
	synctest.Test(t, func(t *testing.T) {
		server := sqs.New(sqs.Options{History: length})
		defer server.Close()
		test(&bench{T: t, Client: newClient(server), ctx: t.Context(), server: server})
	})
}

func TestHistoryTellsWhatWasDeletedWhenByWhichReceipt(t *testing.T) {
	remembering(t, 0, func(b *bench) {
		queue := b.queue("orders")
		b.send(queue, "a", "b")
		first := b.one(queue, hiddenFor(5))
		time.Sleep(3 * time.Second)
		if err := b.delete(queue, first.ReceiptHandle); err != nil {
			b.Fatal(err)
		}
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

func TestHistoryKeepsErrorsAndLongPolls(t *testing.T) {
	remembering(t, 0, func(b *bench) {
		queue := b.queue("orders")
		b.receive(queue, waiting(20))
		missing := *queue + "-missing"
		_, err := b.PurgeQueue(b.ctx, &awssqs.PurgeQueueInput{QueueUrl: &missing})
		b.wantCode(err, "AWS.SimpleQueueService.NonExistentQueue")
		calls := b.server.Calls()
		if poll := calls[1]; poll.Ended.Sub(poll.Began) != 20*time.Second || poll.Messages != 0 {
			b.Errorf("%+v", poll)
		}
		if purge := calls[2]; purge.Error != "AWS.SimpleQueueService.NonExistentQueue" || purge.Queue != "orders-missing" {
			b.Errorf("%+v", purge)
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

func TestHistoryOfManyKeepsTheLatestInOrder(t *testing.T) {
	const sent = 1700
	for _, length := range []int{0, sent, sent - 1, 1025, 1024, 1023, 513, 512, 511, 1} {
		server := sqs.New(sqs.Options{History: length})
		defer server.Close()
		post(server, "AmazonSQS.CreateQueue", `{"QueueName":"orders"}`)
		for i := range sent {
			post(server, "AmazonSQS.SendMessage", `{"QueueUrl":"`+server.QueueURL("orders")+`","MessageBody":"`+strconv.Itoa(i)+`"}`)
		}
		want := length
		if want == 0 {
			want = sent
		}
		events := server.Events()
		if len(events) != want {
			t.Fatalf("History %d: %d events, want %d", length, len(events), want)
		}
		for i, e := range events {
			if body := strconv.Itoa(sent - want + i); e.Body != body {
				t.Fatalf("History %d: event %d is about %s, want %s", length, i, e.Body, body)
			}
		}
	}
}
