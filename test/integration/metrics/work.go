package metrics

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"strconv"
	"sync/atomic"
	"time"

	awssqs "github.com/aws/aws-sdk-go-v2/service/sqs"
	"github.com/aws/aws-sdk-go-v2/service/sqs/types"
	"github.com/sqsbatch/sqsbatch/batch"
	"github.com/sqsbatch/sqsbatch/emulator/sqs"
	"github.com/sqsbatch/sqsbatch/handler"
	"github.com/sqsbatch/sqsbatch/telemetry/cloudwatch"
	"github.com/sqsbatch/sqsbatch/telemetry/metric"
)

const (
	messages = 1000 // a tenth of which fails at first
	slots    = 20
)

// begin is before anything that is measured.
var begin = time.Now()

// seen is what the hooks were told, by queue and metric: the truth that is to be
// read back.
type seen map[string]*metric.Values

// work handles messages of two queues as a container would, and returns what a
// hook beside telemetry/cloudwatch was told.
func work(ctx context.Context) (seen, error) {
	server := sqs.New(sqs.Options{})
	defer server.Close()
	client := server.Client()
	var urls []string
	for _, name := range []string{"orders", "returns"} {
		if _, err := client.CreateQueue(ctx, &awssqs.CreateQueueInput{QueueName: &name}); err != nil {
			return nil, err
		}
		urls = append(urls, server.QueueURL(name))
		if err := send(ctx, client, server.QueueURL(name)); err != nil {
			return nil, err
		}
	}

	truth := &metric.Aggregate{}
	var done atomic.Int64
	ctx, stop := context.WithTimeout(ctx, time.Minute)
	defer stop()
	h := batch.HandlerFunc(func(ctx context.Context, r batch.Record) error {
		time.Sleep(rand.N(20 * time.Millisecond))
		if n, _ := strconv.Atoi(r.Body); n%10 == 0 && r.Attempt == 1 {
			return batch.RetryAfter(time.Second, errors.New("not yet"))
		}
		if done.Add(1) == 2*messages {
			time.AfterFunc(3*time.Second, stop) // the last is settled, and an interval is over
		}
		return nil
	})
	hook := cloudwatch.New(cloudwatch.Options{Service: "shop", Interval: time.Second, HighResolution: true})
	err := handler.Poll(ctx, h, handler.Config{
		SQS: client, Concurrency: slots, Logger: slog.New(slog.DiscardHandler),
		Hooks: []any{hook, metric.NewRecorder(truth)}, Poll: handler.PollConfig{Queues: urls, Wait: time.Second},
	})
	if err != nil {
		return nil, err
	}
	if n := done.Load(); n != 2*messages || hook.Dropped() != 0 {
		return nil, fmt.Errorf("%d of %d messages were handled, %d data dropped", n, 2*messages, hook.Dropped())
	}
	return whatWasSeen(truth), nil
}

func send(ctx context.Context, client *awssqs.Client, url string) error {
	for n := 0; n < messages; n += 10 {
		in := &awssqs.SendMessageBatchInput{QueueUrl: &url}
		for i := range 10 {
			body := strconv.Itoa(n + i)
			in.Entries = append(in.Entries, types.SendMessageBatchRequestEntry{Id: &body, MessageBody: &body})
		}
		if _, err := client.SendMessageBatch(ctx, in); err != nil {
			return err
		}
	}
	return nil
}

func whatWasSeen(truth *metric.Aggregate) seen {
	all := seen{}
	truth.Take(func(queue string, s *metric.Summary) {
		s.Counts(func(m *metric.Metric, value float64) {
			v := &metric.Values{}
			v.Observe(value)
			all[queue+" "+m.Name] = v
		})
		s.Distributions(func(m *metric.Metric, v *metric.Values) {
			kept := *v
			all[queue+" "+m.Name] = &kept
		})
	})
	return all
}
