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
)

func bySender(ctx context.Context, w *world) (func(body, group string) error, func(), error) {
	s, err := sender.New(w.client, sender.Config{Queue: w.url, Linger: linger, Concurrency: concurrency})
	if err != nil {
		return nil, nil, err
	}
	send := func(body, group string) error { return s.Send(ctx, sender.Message{Body: body, Group: group}) }
	return send, func() { s.Close(ctx) }, nil
}

func bySDK(ctx context.Context, w *world) (func(body, group string) error, func(), error) {
	var number atomic.Int64
	send := func(body, group string) error {
		in := &awssqs.SendMessageInput{QueueUrl: &w.url, MessageBody: &body}
		if group != "" {
			in.MessageGroupId, in.MessageDeduplicationId = &group, aws.String(strconv.FormatInt(number.Add(1), 10))
		}
		_, err := w.client.SendMessage(ctx, in)
		return err
	}
	return send, func() {}, nil
}

// byHand is what one writes with the SDK: as many loops as calls may be in flight, each of
// which takes up to ten messages, waiting for at most linger after the first.
func byHand(ctx context.Context, w *world) (func(body, group string) error, func(), error) {
	type message struct {
		body string
		done chan error
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
					in.Entries = append(in.Entries, types.SendMessageBatchRequestEntry{Id: aws.String(strconv.Itoa(i)), MessageBody: &ten[i].body})
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
	send := func(body, _ string) error {
		m := message{body, make(chan error, 1)}
		messages <- m
		return <-m.done
	}
	return send, func() { close(messages); loops.Wait() }, nil
}

func byGocloud(ctx context.Context, w *world) (func(body, group string) error, func(), error) {
	topic := awssnssqs.OpenSQSTopic(ctx, w.client, w.url, nil)
	send := func(body, _ string) error { return topic.Send(ctx, &pubsub.Message{Body: []byte(body)}) }
	return send, func() { _ = topic.Shutdown(ctx) }, nil
}
