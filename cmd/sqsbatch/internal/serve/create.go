package serve

import (
	"context"
	"errors"

	"github.com/aws/aws-sdk-go-v2/aws"
	awssqs "github.com/aws/aws-sdk-go-v2/service/sqs"
	"github.com/aws/smithy-go"

	"github.com/sqsbatch/sqsbatch/emulator/sqs"
)

// create makes the queues, and then their redrive policies.
func create(ctx context.Context, server *sqs.Server, queues []queue) error {
	client := server.Client(func(o *awssqs.Options) { o.RetryMaxAttempts = 1 })
	for _, q := range queues {
		if _, err := client.CreateQueue(ctx, &awssqs.CreateQueueInput{QueueName: &q.name, Attributes: q.attributes}); err != nil {
			return q.refused(err)
		}
	}
	for _, q := range queues {
		policy := q.policy(server.QueueARN)
		if policy == "" {
			continue
		}
		if _, err := client.SetQueueAttributes(ctx, &awssqs.SetQueueAttributesInput{
			QueueUrl: aws.String(server.QueueURL(q.name)), Attributes: map[string]string{"RedrivePolicy": policy},
		}); err != nil {
			return q.refused(err)
		}
	}
	return nil
}

// refused says why the server did not take a queue, in the service's words.
func (q *queue) refused(err error) error {
	var refusal smithy.APIError
	if !errors.As(err, &refusal) {
		return q.errorf("%v", err)
	}
	switch refusal.ErrorCode() {
	case "InvalidAttributeName":
		return q.errorf("%s Attributes have the names of CreateQueue, as in VisibilityTimeout=60", refusal.ErrorMessage())
	default:
		return q.errorf("%s: %s", refusal.ErrorCode(), refusal.ErrorMessage())
	}
}
