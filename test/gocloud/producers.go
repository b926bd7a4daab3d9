package main

import (
	"context"
	"fmt"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	awssqs "github.com/aws/aws-sdk-go-v2/service/sqs"
	"github.com/aws/aws-sdk-go-v2/service/sqs/types"
	"github.com/sqsbatch/sqsbatch/sender"
	"gocloud.dev/pubsub"
	"gocloud.dev/pubsub/awssnssqs"
	"golang.org/x/sync/errgroup"
)

func bySender(ctx context.Context, w *outbox) (func(body, group string) error, func(), error) {
	s, err := sender.New(w.client, sender.Config{Queue: w.url, Linger: linger, Concurrency: concurrency})
	if err != nil {
		return nil, nil, err
	}
	return func(body, group string) error { return s.Send(ctx, sender.Message{Body: body, Group: group}) }, func() { s.Close(ctx) }, nil
}

var numbers atomic.Int64

// nextID returns a new deduplication id.
func nextID() string { return strconv.FormatInt(numbers.Add(1), 10) }

func bySDK(ctx context.Context, w *outbox) (func(body, group string) error, func(), error) {
	send := func(body, group string) error {
		in := &awssqs.SendMessageInput{QueueUrl: &w.url, MessageBody: &body}
		if w.fifo {
			in.MessageGroupId, in.MessageDeduplicationId = &group, aws.String(nextID())
		}
		_, err := w.client.SendMessage(ctx, in)
		return err
	}
	return send, func() {}, nil
}

// sendByHand is what one writes with the SDK: as many loops as calls may be in flight, each of
// which takes up to ten messages, waiting for at most linger after the first.
func sendByHand(ctx context.Context, w *outbox) (func(body, group string) error, func(), error) {
	type message struct {
		body, group string
		done        chan error
	}
	messages := make(chan message)
	var loops sync.WaitGroup
	for range concurrency {
		loops.Go(func() {
			for first := range messages {
				ten := []message{first}
				limit := time.After(linger)
			gather:
				for len(ten) < 10 {
					select {
					case m, ok := <-messages:
						if !ok {
							break gather
						}
						ten = append(ten, m)
					case <-limit:
						break gather
					}
				}
				in := &awssqs.SendMessageBatchInput{QueueUrl: &w.url}
				for i := range ten {
					e := types.SendMessageBatchRequestEntry{Id: aws.String(strconv.Itoa(i)), MessageBody: &ten[i].body}
					if w.fifo {
						e.MessageGroupId, e.MessageDeduplicationId = &ten[i].group, aws.String(nextID())
					}
					in.Entries = append(in.Entries, e)
				}
				out, err := w.client.SendMessageBatch(ctx, in)
				if err == nil && len(out.Failed) > 0 {
					err = fmt.Errorf("%d messages failed", len(out.Failed))
				}
				for _, m := range ten {
					m.done <- err
				}
			}
		})
	}
	send := func(body, group string) error {
		m := message{body, group, make(chan error, 1)}
		messages <- m
		return <-m.done
	}
	return send, func() { close(messages); loops.Wait() }, nil
}

func byGocloud(ctx context.Context, w *outbox) (func(body, group string) error, func(), error) {
	topic := awssnssqs.OpenSQSTopic(ctx, w.client, w.url, nil)
	send := func(body, group string) error {
		m := &pubsub.Message{Body: []byte(body)}
		if w.fifo {
			m.Metadata = map[string]string{awssnssqs.MetadataKeyMessageGroupID: group, awssnssqs.MetadataKeyDeduplicationID: nextID()}
		}
		return topic.Send(ctx, m)
	}
	return send, func() { _ = topic.Shutdown(ctx) }, nil
}

// enqueue is a loop of Enqueue.
func enqueue(ctx context.Context, w *outbox, end time.Time) (confirmed int, err error) {
	s, err := sender.New(w.client, sender.Config{Queue: w.url, Linger: linger, Concurrency: concurrency})
	if err != nil {
		return 0, err
	}
	var n atomic.Int64
	for time.Now().Before(end) {
		if err := s.Enqueue(ctx, sender.Text(body), func(r sender.Result) {
			if r.Err == nil {
				n.Add(1)
			}
		}); err != nil {
			return 0, err
		}
	}
	left := s.Close(ctx)
	if len(left) > 0 {
		return 0, left[0].Err
	}
	return int(n.Load()), nil
}

// bareLoops send batches of ten, as many at a time as the sender.
func bareLoops(ctx context.Context, w *outbox, end time.Time) (int, error) {
	var n atomic.Int64
	var loops errgroup.Group
	for range concurrency {
		loops.Go(func() error {
			for time.Now().Before(end) {
				in := &awssqs.SendMessageBatchInput{QueueUrl: &w.url}
				for i := range 10 {
					in.Entries = append(in.Entries, types.SendMessageBatchRequestEntry{Id: aws.String(strconv.Itoa(i)), MessageBody: aws.String(body)})
				}
				out, err := w.client.SendMessageBatch(ctx, in)
				if err != nil {
					return err
				}
				n.Add(int64(len(out.Successful)))
			}
			return nil
		})
	}
	err := loops.Wait()
	return int(n.Load()), err
}
