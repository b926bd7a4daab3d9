package sqs_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	awssqs "github.com/aws/aws-sdk-go-v2/service/sqs"
	"github.com/aws/aws-sdk-go-v2/service/sqs/types"

	"github.com/sqsbatch/sqsbatch/emulator/sqs"
)

// A message that becomes visible in the last instant of a long poll is received.
func TestLongPollEndsWithADelay(t *testing.T) {
	virtual(t, func(b *bench) {
		queue := b.queue("orders", "DelaySeconds", "15")
		got, start := b.poll(queue), time.Now()
		time.Sleep(5 * time.Second)
		b.send(queue, "a")
		if m := bodies(<-got); m != "a" || time.Since(start) != 20*time.Second {
			b.Errorf("received %q after %v", m, time.Since(start))
		}
	})
}

func TestReceiversAreServedInTheirOrder(t *testing.T) {
	withOrders(t, func(b *bench, queue *string) {
		first, second, third := b.poll(queue), b.poll(queue), b.poll(queue)
		b.send(queue, "a")
		equal(b, "the first receiver got", bodies(<-first), "a")
		fourth := b.poll(queue)
		b.send(queue, "b", "c", "d")
		for i, receiver := range []<-chan []types.Message{second, third, fourth} {
			if got, want := bodies(<-receiver), string(rune('b'+i)); got != want {
				b.Errorf("receiver %d got %q, want %q", i+2, got, want)
			}
		}
	})
}

// waits starts a call and returns a channel for its error.
func waits(call func() error) <-chan error {
	failed := make(chan error, 1)
	go func() { failed <- call() }()
	synctest.Wait() // until it waits
	return failed
}

// waitingPoll starts a long poll that must end with an error.
func (b *bench) waitingPoll(ctx context.Context, queue *string) <-chan error {
	return waits(func() error {
		return errOf(b.ReceiveMessage(ctx, &awssqs.ReceiveMessageInput{QueueUrl: queue, WaitTimeSeconds: 20}))
	})
}

func TestAReceiverWhoseClientIsGoneTakesNothing(t *testing.T) {
	withOrders(t, func(b *bench, queue *string) {
		ctx, cancel := context.WithCancel(b.ctx)
		failed := b.waitingPoll(ctx, queue)
		cancel()
		b.send(queue, "a") // before the receiver's goroutine can run
		b.wantCause(<-failed, context.Canceled)
		b.counts(queue, "1", "0", "0")
		equal(b, "ApproximateReceiveCount", b.one(queue).Attributes["ApproximateReceiveCount"], "1")
	})
}

// roundTrip sends a request through the server's transport, without a client.
func (b *bench) roundTrip(ctx context.Context, operation, body string) error {
	b.Helper()
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, b.server.URL(), strings.NewReader(body))
	b.ok(err)
	request.Header.Set("X-Amz-Target", "AmazonSQS."+operation)
	return errOf(b.server.HTTPClient().Transport.RoundTrip(request))
}

func TestACancelledRequestIsNotSent(t *testing.T) {
	withOrders(t, func(b *bench, queue *string) {
		ctx, cancel := context.WithCancel(b.ctx)
		cancel()
		err := b.roundTrip(ctx, "SendMessage", `{"QueueUrl":"`+*queue+`","MessageBody":"a"}`)
		b.wantCause(err, context.Canceled)
		b.counts(queue, "0", "0", "0")
	})
}

func TestACancelledReceiverBehindAnother(t *testing.T) {
	withOrders(t, func(b *bench, queue *string) {
		first := b.poll(queue)
		ctx, cancel := context.WithTimeout(b.ctx, 3*time.Second)
		defer cancel()
		start := time.Now()
		err := b.roundTrip(ctx, "ReceiveMessage", `{"QueueUrl":"`+*queue+`","WaitTimeSeconds":20}`)
		if !errors.Is(err, context.DeadlineExceeded) || time.Since(start) != 3*time.Second {
			b.Errorf("error %v after %v", err, time.Since(start))
		}
		b.send(queue, "a")
		equal(b, "the first receiver got", bodies(<-first), "a")
	})
}

func TestDeletingTheQueueWakesReceivers(t *testing.T) {
	withOrders(t, func(b *bench, queue *string) {
		failed := b.waitingPoll(b.ctx, queue)
		b.deleteQueue(queue)
		wantType[*types.QueueDoesNotExist](b, <-failed)
	})
}

func TestCloseEndsWhatWaits(t *testing.T) {
	virtual(t, func(b *bench) {
		queue, start := b.queue("orders"), time.Now()
		b.inject(sqs.Fault{Kind: sqs.Hang, Operation: "SendMessage"})
		received := b.waitingPoll(b.ctx, queue)
		sent := waits(func() error { return b.try(b.ctx, queue, "a") })
		for range 2 {
			b.ok(b.server.Close())
		}
		b.wantCode(<-received, "ServiceUnavailable")
		b.wantCode(<-sent, "ServiceUnavailable")
		equal(b, "after", time.Since(start), 0)
		b.wantCode(errOf(b.ListQueues(b.ctx, nil)), "ServiceUnavailable")
	})
}

// TestInFlightQuota has 120,000 messages in flight. A standard queue then
// refuses a short poll; a long poll, and a FIFO queue, return nothing.
func TestInFlightQuota(t *testing.T) {
	for _, tc := range []struct{ name, attributes, overLimit string }{
		{"orders", "", "OverLimit"},
		{"orders.fifo", `,"FifoQueue":"true","ContentBasedDeduplication":"true","DeduplicationScope":"messageGroup"`, ""},
	} {
		t.Run(tc.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				server := newServer(t, sqs.Config{History: -1})
				queue := `"QueueUrl":"` + server.QueueURL(tc.name) + `"`
				post(server, "AmazonSQS.CreateQueue", `{"QueueName":"`+tc.name+`","Attributes":{"VisibilityTimeout":"43200"`+tc.attributes+`}}`)
				if err := sqs.FillInFlight(server, tc.name, 119_990); err != nil {
					t.Fatal(err)
				}
				for group := range 2 {
					var entries []string
					for i := range 10 {
						entries = append(entries, fmt.Sprintf(`{"Id":"%d","MessageBody":"%[1]d","MessageGroupId":"last-%d"}`, i, group))
					}
					w := postRaw(server, "AmazonSQS.SendMessageBatch", `{`+queue+`,"Entries":[`+strings.Join(entries, ",")+`]}`)
					if strings.Count(w.Body.String(), `"MessageId"`) != 10 {
						t.Fatal(w.Body)
					}
				}
				receive := func(parameters string, want int) {
					t.Helper()
					w := postRaw(server, "AmazonSQS.ReceiveMessage", `{`+queue+parameters+`}`)
					if w.Code != 200 || strings.Count(w.Body.String(), `"MessageId"`) != want {
						t.Fatalf("%d %s, want %d messages", w.Code, w.Body, want)
					}
				}
				receive(`,"MaxNumberOfMessages":5`, 5)
				receive(`,"MaxNumberOfMessages":10`, 5)
				if _, _, code := post(server, "AmazonSQS.ReceiveMessage", `{`+queue+`}`); code != tc.overLimit {
					t.Errorf("a short poll with 120,000 in flight: %q, want %q", code, tc.overLimit)
				}
				receive(`,"WaitTimeSeconds":1`, 0)
			})
		})
	}
}
