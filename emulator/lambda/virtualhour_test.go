package lambda_test

import (
	"context"
	"io"
	"log/slog"
	"strconv"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	awssqs "github.com/aws/aws-sdk-go-v2/service/sqs"
	"github.com/aws/aws-sdk-go-v2/service/sqs/types"

	"github.com/sqsbatch/sqsbatch/batch"
	"github.com/sqsbatch/sqsbatch/emulator/lambda"
	"github.com/sqsbatch/sqsbatch/emulator/sqs"
	"github.com/sqsbatch/sqsbatch/handler"
)

// producer sends one virtual hour's messages: 36,000, ten a second.
type producer struct {
	name string
	each int           // number of messages in a call
	gap  time.Duration // time between calls
}

const perHour = 36_000

var producers = []producer{
	{"TenEverySecond", 10, time.Second},
	{"OneEvery100ms", 1, 100 * time.Millisecond},
}

// BenchmarkVirtualHour runs an hour of a queue, its mapping and the toolkit's handler, at
// ten messages a second, in a synctest bubble. h/s is the number of such hours in a second
// of real time.
func BenchmarkVirtualHour(b *testing.B) {
	for _, p := range producers {
		b.Run(p.name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				inBubble(b, func(t *testing.T) { p.hour(t, perHour) })
			}
			b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "h/s")
		})
	}
}

// inBubble runs f in a bubble for a benchmark, since synctest accepts only tests.
func inBubble(b *testing.B, f func(t *testing.T)) {
	b.Helper()
	ran := false
	test := testing.InternalTest{Name: b.Name(), F: func(t *testing.T) {
		if !ran { // -count and -cpu would run it again
			ran = true
			synctest.Test(t, f)
		}
	}}
	all := func(string, string) (bool, error) { return true, nil }
	if !testing.RunTests(all, []testing.InternalTest{test}) || !ran {
		b.Fatal("the hour failed")
	}
}

// A minute of the benchmark has the expected results.
func TestVirtualMinute(t *testing.T) {
	for _, p := range producers {
		t.Run(p.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) { p.hour(t, perHour/60) })
		})
	}
}

// hour sends messages and fails unless each was handled and deleted exactly once, in the
// time of the sends.
func (p producer) hour(t *testing.T, messages int) {
	var handled, deleted atomic.Int64
	server := sqs.New(sqs.Config{Observe: func(e sqs.Event) {
		if e.Kind == sqs.Deleted {
			deleted.Add(1)
		}
	}})
	defer server.Close()
	client := server.Client(func(o *awssqs.Options) {
		o.Credentials = aws.AnonymousCredentials{} // a signature is a quarter of a call
		o.Retryer = aws.NopRetryer{}
	})
	queue, err := client.CreateQueue(t.Context(), &awssqs.CreateQueueInput{QueueName: aws.String("orders")})
	ok(t, err)
	h, err := handler.New(batch.HandlerFunc(func(context.Context, batch.Record) error {
		handled.Add(1)
		return nil
	}), handler.Config{SQS: client, Logger: slog.New(slog.NewJSONHandler(io.Discard, nil))})
	ok(t, err)
	fn, err := lambda.Start(lambda.Function{Handler: h.Invoke})
	ok(t, err)
	defer fn.Close()
	ctx, stop := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() {
		done <- lambda.Mapping{Function: fn, SQS: client, QueueURL: *queue.QueueUrl, ReportBatchItemFailures: true}.Run(ctx)
	}()
	for sent := 0; sent < messages; sent += p.each {
		time.Sleep(p.gap)
		p.send(t, client, queue.QueueUrl, sent)
	}
	synctest.Wait()
	stop()
	if err := <-done; err != nil {
		t.Error(err)
	}
	if n := int64(messages); handled.Load() != n || deleted.Load() != n {
		t.Errorf("handled %d and deleted %d, want %d", handled.Load(), deleted.Load(), n)
	}
}

func (p producer) send(t *testing.T, client *awssqs.Client, url *string, first int) {
	var err error
	if p.each == 1 {
		_, err = client.SendMessage(t.Context(), &awssqs.SendMessageInput{QueueUrl: url, MessageBody: aws.String(`{"order":` + strconv.Itoa(first) + `}`)})
	} else {
		entries := make([]types.SendMessageBatchRequestEntry, p.each)
		for i := range entries {
			entries[i] = types.SendMessageBatchRequestEntry{
				Id: aws.String(strconv.Itoa(i)), MessageBody: aws.String(`{"order":` + strconv.Itoa(first+i) + `}`),
			}
		}
		_, err = client.SendMessageBatch(t.Context(), &awssqs.SendMessageBatchInput{QueueUrl: url, Entries: entries})
	}
	ok(t, err)
}
