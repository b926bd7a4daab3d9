package sqs_test

import (
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	awssqs "github.com/aws/aws-sdk-go-v2/service/sqs"

	"github.com/sqsbatch/sqsbatch/emulator/sqs"
)

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
		_, err := b.DeleteMessage(b.ctx, &awssqs.DeleteMessageInput{QueueUrl: queue, ReceiptHandle: new(string)})
		if err == nil {
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
