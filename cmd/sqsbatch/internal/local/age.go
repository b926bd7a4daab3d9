package local

import (
	"context"

	awssqs "github.com/aws/aws-sdk-go-v2/service/sqs"

	"github.com/sqsbatch/sqsbatch/cmd/sqsbatch/internal/message"
)

// hidden is the longest visibility timeout that SQS takes, in seconds.
const hidden = 43200

func isOld(m message.Message) bool { return m.Attempt > 1 }

// sendOld sends messages that have been received before, as an event with
// receive counts above 1 has them: each is received as often as it takes, while
// it is alone in the queue, and then hidden. The caller calls show once every
// other message is sent.
func (r *run) sendOld(ctx context.Context, s *stack, old []message.Message) (show func() error, err error) {
	var handles []*string
	for _, m := range old {
		sent, err := r.send(ctx, s, m)
		if err != nil {
			return nil, err
		}
		for n := 1; sent && n < m.Attempt; n++ {
			visibility := int32(0)
			if n == m.Attempt-1 {
				visibility = hidden
			}
			out, err := s.client.ReceiveMessage(ctx, &awssqs.ReceiveMessageInput{
				QueueUrl: &s.deployment.Source.URL, VisibilityTimeout: visibility, MaxNumberOfMessages: 1,
			})
			if err != nil {
				return nil, err
			}
			if len(out.Messages) == 0 {
				break // maxReceiveCount was reached: it is in the dead-letter queue
			}
			if visibility == hidden {
				handles = append(handles, out.Messages[0].ReceiptHandle)
			}
		}
	}
	return func() error {
		for _, h := range handles {
			if _, err := s.client.ChangeMessageVisibility(ctx, &awssqs.ChangeMessageVisibilityInput{
				QueueUrl: &s.deployment.Source.URL, ReceiptHandle: h, VisibilityTimeout: 0,
			}); err != nil {
				return err
			}
		}
		return nil
	}, nil
}
