package local

import (
	"context"

	awssqs "github.com/aws/aws-sdk-go-v2/service/sqs"

	"github.com/sqsbatch/sqsbatch/cmd/sqsbatch/internal/message"
)

// hidden is the longest visibility timeout that SQS takes, in seconds.
const hidden = 43200

func redelivered(m message.Message) bool { return m.Attempt > 1 }

// sendRedelivered sends messages of receive counts above 1: each is received as
// often as it takes, alone in the queue, and then hidden. The caller calls show in
// the end.
func (r *run) sendRedelivered(ctx context.Context, s *stack, messages []message.Message) (show func() error, err error) {
	var handles []*string
	for _, m := range messages {
		sent, err := r.send(ctx, s, m)
		if err != nil {
			return nil, err
		}
		for n := 1; sent && n < m.Attempt; n++ {
			h, err := s.hideOne(ctx)
			if err != nil {
				return nil, err
			}
			if h == nil {
				break // maxReceiveCount was reached: it is in the dead-letter queue
			}
			if n == m.Attempt-1 {
				handles = append(handles, h)
			} else if err := s.show(ctx, h); err != nil {
				return nil, err
			}
		}
	}
	return func() error {
		for _, h := range handles {
			if err := s.show(ctx, h); err != nil {
				return err
			}
		}
		return nil
	}, nil
}

// hideOne receives the message that is visible; nil when there is none. (The SDK
// leaves a visibility of 0 out.)
func (s *stack) hideOne(ctx context.Context) (handle *string, err error) {
	out, err := s.client.ReceiveMessage(ctx, &awssqs.ReceiveMessageInput{
		QueueUrl: &s.deployment.Source.URL, VisibilityTimeout: hidden, MaxNumberOfMessages: 1,
	})
	if err != nil || len(out.Messages) == 0 {
		return nil, err
	}
	return out.Messages[0].ReceiptHandle, nil
}

func (s *stack) show(ctx context.Context, handle *string) error {
	_, err := s.client.ChangeMessageVisibility(ctx, &awssqs.ChangeMessageVisibilityInput{
		QueueUrl: &s.deployment.Source.URL, ReceiptHandle: handle, VisibilityTimeout: 0,
	})
	return err
}
