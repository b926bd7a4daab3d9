package main

import (
	"context"
	"strconv"
	"sync"
	"time"

	awssqs "github.com/aws/aws-sdk-go-v2/service/sqs"
	"github.com/aws/aws-sdk-go-v2/service/sqs/types"
	"github.com/sqsbatch/sqsbatch/batch"
	"github.com/sqsbatch/sqsbatch/internal/longpoll"
	"github.com/sqsbatch/sqsbatch/internal/runner"
	"gocloud.dev/pubsub"
	"gocloud.dev/pubsub/awssnssqs"
	"gocloud.dev/pubsub/batcher"
)

func longPoll(ctx context.Context, w *world) error {
	h := batch.HandlerFunc(func(_ context.Context, r batch.Record) error {
		w.handle(r.MessageID, r.Body)
		return nil
	})
	return longpoll.New(h, longpoll.Config{Queue: w.url, SQS: w.client, Engine: runner.Config{Concurrency: slots}}).Run(ctx)
}

// byHand is what one writes with the SDK: as many loops as the slots take tens,
// each of which receives ten (the last one four), handles them side by side, and deletes them.
func byHand(ctx context.Context, w *world) error {
	var loops sync.WaitGroup
	for free := slots; free > 0; free -= 10 {
		most := int32(min(free, 10))
		loops.Go(func() {
			for ctx.Err() == nil {
				out, err := w.client.ReceiveMessage(ctx, &awssqs.ReceiveMessageInput{
					QueueUrl: &w.url, MaxNumberOfMessages: most, WaitTimeSeconds: 20,
				})
				if err != nil || len(out.Messages) == 0 {
					continue
				}
				entries := make([]types.DeleteMessageBatchRequestEntry, len(out.Messages))
				var ten sync.WaitGroup
				for i, m := range out.Messages {
					ten.Go(func() {
						w.handle(*m.MessageId, *m.Body)
						id := strconv.Itoa(i)
						entries[i] = types.DeleteMessageBatchRequestEntry{Id: &id, ReceiptHandle: m.ReceiptHandle}
					})
				}
				ten.Wait()
				_, _ = w.client.DeleteMessageBatch(context.WithoutCancel(ctx), &awssqs.DeleteMessageBatchInput{QueueUrl: &w.url, Entries: entries})
			}
		})
	}
	loops.Wait()
	return nil
}

func gocloudDefaults(ctx context.Context, w *world) error {
	return gocloud(ctx, w, &awssnssqs.SubscriptionOptions{Raw: true})
}

// gocloudTuned deletes full tens only, its best case: the last messages of a quiet
// queue would wait for a shutdown.
func gocloudTuned(ctx context.Context, w *world) error {
	return gocloud(ctx, w, &awssnssqs.SubscriptionOptions{
		Raw: true, WaitTime: 20 * time.Second,
		ReceiveBatcherOptions: batcher.Options{MaxBatchSize: 10, MaxHandlers: 32},
		AckBatcherOptions:     batcher.Options{MaxBatchSize: 10, MinBatchSize: 10, MaxHandlers: 32},
	})
}

func gocloud(ctx context.Context, w *world, o *awssnssqs.SubscriptionOptions) error {
	s := awssnssqs.OpenSubscription(ctx, w.client, w.url, o)
	var all sync.WaitGroup
	for range slots {
		all.Go(func() {
			for {
				m, err := s.Receive(ctx)
				if err != nil {
					return
				}
				w.handle(idOf(m), string(m.Body))
				m.Ack()
			}
		})
	}
	all.Wait()
	end, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	return s.Shutdown(end)
}

// idOf is the message's id, which tells one delivery's message from another's.
func idOf(m *pubsub.Message) string {
	var message types.Message
	if m.As(&message) {
		return *message.MessageId
	}
	return m.LoggableID
}
