package sqs_test

import (
	"context"
	"errors"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	awssqs "github.com/aws/aws-sdk-go-v2/service/sqs"
	"github.com/aws/aws-sdk-go-v2/service/sqs/types"
)

func TestLongPollEnds(t *testing.T) {
	const never = -1
	for name, tc := range map[string]struct {
		attributes []string
		wait       int32
		sent, took time.Duration
		got        string
	}{
		"nothing comes":                     {nil, 20, never, 20 * time.Second, ""},
		"no wait":                           {nil, 0, never, 0, ""},
		"the queue's wait":                  {[]string{"ReceiveMessageWaitTimeSeconds", "7"}, 0, never, 7 * time.Second, ""},
		"the request's before the queue's":  {[]string{"ReceiveMessageWaitTimeSeconds", "7"}, 3, never, 3 * time.Second, ""},
		"a send":                            {nil, 20, 5 * time.Second, 5 * time.Second, "a"},
		"a delay's end":                     {[]string{"DelaySeconds", "9"}, 20, time.Second, 10 * time.Second, "a"},
		"a delay's end in the last instant": {[]string{"DelaySeconds", "15"}, 20, 5 * time.Second, 20 * time.Second, "a"},
	} {
		virtualRun(t, name, func(b *bench) {
			queue := b.queue("orders", tc.attributes...)
			if tc.sent >= 0 {
				time.AfterFunc(tc.sent, func() {
					if _, err := b.SendMessage(b.ctx, &awssqs.SendMessageInput{QueueUrl: queue, MessageBody: aws.String("a")}); err != nil {
						b.Error(err)
					}
				})
			}
			start := time.Now()
			got := bodies(b.receive(queue, waiting(tc.wait)))
			if took := time.Since(start); got != tc.got || took != tc.took {
				b.Errorf("received %q after %v, want %q after %v", got, took, tc.got, tc.took)
			}
		})
	}
}

func TestReceiversAreServedInTheirOrder(t *testing.T) {
	virtual(t, func(b *bench) {
		queue := b.queue("orders")
		first, second, third := b.poll(queue), b.poll(queue), b.poll(queue)
		b.send(queue, "a")
		if got := bodies(<-first); got != "a" {
			b.Errorf("the first receiver got %q", got)
		}
		fourth := b.poll(queue)
		b.send(queue, "b", "c", "d")
		for i, receiver := range []<-chan []types.Message{second, third, fourth} {
			if got, want := bodies(<-receiver), string(rune('b'+i)); got != want {
				b.Errorf("receiver %d got %q, want %q", i+2, got, want)
			}
		}
	})
}

func TestAReceiverWhoseClientIsGoneTakesNothing(t *testing.T) {
	virtual(t, func(b *bench) {
		queue := b.queue("orders")
		ctx, cancel := context.WithCancel(b.ctx)
		failed := make(chan error)
		go func() {
			_, err := b.ReceiveMessage(ctx, &awssqs.ReceiveMessageInput{QueueUrl: queue, WaitTimeSeconds: 20})
			failed <- err
		}()
		synctest.Wait()
		cancel()
		b.send(queue, "a") // before the receiver's goroutine can leave the line
		if err := <-failed; !errors.Is(err, context.Canceled) {
			b.Errorf("error %v, want context.Canceled", err)
		}
		b.counts(queue, "1", "0", "0")
		if m := b.one(queue); m.Attributes["ApproximateReceiveCount"] != "1" {
			b.Errorf("received %s times", m.Attributes["ApproximateReceiveCount"])
		}
	})
}

func TestACancelledRequestIsNotSent(t *testing.T) {
	virtual(t, func(b *bench) {
		queue := b.queue("orders")
		ctx, cancel := context.WithCancel(b.ctx)
		cancel()
		request, err := http.NewRequestWithContext(ctx, http.MethodPost, b.server.URL(),
			strings.NewReader(`{"QueueUrl":"`+*queue+`","MessageBody":"a"}`))
		b.ok(err)
		request.Header.Set("X-Amz-Target", "AmazonSQS.SendMessage")
		if _, err := b.server.HTTPClient().Transport.RoundTrip(request); !errors.Is(err, context.Canceled) {
			b.Errorf("error %v, want context.Canceled", err)
		}
		b.counts(queue, "0", "0", "0")
	})
}

func TestACancelledReceiverBehindAnother(t *testing.T) {
	virtual(t, func(b *bench) {
		queue := b.queue("orders")
		first := b.poll(queue)
		ctx, cancel := context.WithTimeout(b.ctx, 3*time.Second)
		defer cancel()
		request, err := http.NewRequestWithContext(ctx, http.MethodPost, b.server.URL(),
			strings.NewReader(`{"QueueUrl":"`+*queue+`","WaitTimeSeconds":20}`))
		b.ok(err)
		request.Header.Set("X-Amz-Target", "AmazonSQS.ReceiveMessage")
		start := time.Now()
		_, err = b.server.HTTPClient().Transport.RoundTrip(request)
		if !errors.Is(err, context.DeadlineExceeded) || time.Since(start) != 3*time.Second {
			b.Errorf("error %v after %v", err, time.Since(start))
		}
		b.send(queue, "a")
		if got := bodies(<-first); got != "a" {
			b.Errorf("the first receiver got %q", got)
		}
	})
}

func TestDeletingTheQueueWakesReceivers(t *testing.T) {
	virtual(t, func(b *bench) {
		queue := b.queue("orders")
		failed := make(chan error)
		go func() {
			_, err := b.ReceiveMessage(b.ctx, &awssqs.ReceiveMessageInput{QueueUrl: queue, WaitTimeSeconds: 20})
			failed <- err
		}()
		synctest.Wait()
		b.deleteQueue(queue)
		wantType[*types.QueueDoesNotExist](b, <-failed)
	})
}

func TestCloseWakesReceivers(t *testing.T) {
	virtual(t, func(b *bench) {
		queue, start, failed := b.queue("orders"), time.Now(), make(chan error)
		go func() {
			_, err := b.ReceiveMessage(b.ctx, &awssqs.ReceiveMessageInput{QueueUrl: queue, WaitTimeSeconds: 20})
			failed <- err
		}()
		synctest.Wait()
		for range 2 {
			b.ok(b.server.Close())
		}
		b.wantCode(<-failed, "ServiceUnavailable")
		if time.Since(start) != 0 {
			b.Errorf("after %v", time.Since(start))
		}
		_, err := b.ListQueues(b.ctx, nil)
		b.wantCode(err, "ServiceUnavailable")
	})
}
