package main

import (
	"context"
	"errors"
	"net"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/sqs"
	"github.com/aws/aws-sdk-go-v2/service/sqs/types"
)

// do makes one call and returns what is comparable of its answer.
func (n *session) do(ctx context.Context, o operation) answer {
	run, known := calls[o.Name]
	if !known {
		run, known = messageCalls[o.Name]
	}
	if !known {
		return answer{pathError: "the check has no operation " + o.Name}
	}
	for _, r := range o.Receipts {
		if _, ok := n.handle(o.Queue, r); !ok {
			return answer{pathSkipped: "no receipt handle of " + r.Of}
		}
	}
	a := answer{}
	if err := run(n, ctx, o, a); err != nil {
		n.ownSide = n.ownSide || errors.Is(err, net.ErrClosed)
		return failure(err)
	}
	return a
}

// calls are the operations, each of which adds to the answer; those on messages
// are in messagecalls.go.
var calls = map[string]func(*session, context.Context, operation, answer) error{
	"CreateQueue": func(n *session, ctx context.Context, o operation, a answer) error {
		out, err := n.client.CreateQueue(ctx, &sqs.CreateQueueInput{
			QueueName: n.chosenName(o), Attributes: n.expand(o.Attributes), Tags: o.Tags})
		if err != nil {
			return err
		}
		a["QueueUrl"] = n.generic(value(out.QueueUrl))
		if o.QueueName == "" {
			n.urls[o.Queue] = value(out.QueueUrl)
		} else {
			n.others = append(n.others, value(out.QueueUrl))
		}
		return nil
	},
	"DeleteQueue": func(n *session, ctx context.Context, o operation, _ answer) error {
		_, err := n.client.DeleteQueue(ctx, &sqs.DeleteQueueInput{QueueUrl: n.queueURL(o)})
		return err
	},
	"GetQueueUrl": func(n *session, ctx context.Context, o operation, a answer) error {
		out, err := n.client.GetQueueUrl(ctx, &sqs.GetQueueUrlInput{QueueName: n.chosenName(o)})
		if err == nil {
			a["QueueUrl"] = n.generic(value(out.QueueUrl))
		}
		return err
	},
	"ListQueues": func(n *session, ctx context.Context, o operation, a answer) error {
		in := &sqs.ListQueuesInput{QueueNamePrefix: aws.String(n.prefix), MaxResults: atMost(o.Max)}
		if o.Token != "" {
			in.NextToken = aws.String(o.Token)
		}
		out, err := n.client.ListQueues(ctx, in)
		if err == nil {
			a.listed(n, out.QueueUrls, out.NextToken)
		}
		return err
	},
	"ListDeadLetterSourceQueues": func(n *session, ctx context.Context, o operation, a answer) error {
		out, err := n.client.ListDeadLetterSourceQueues(ctx, &sqs.ListDeadLetterSourceQueuesInput{
			QueueUrl: n.queueURL(o), MaxResults: atMost(o.Max)})
		if err == nil {
			a.listed(n, out.QueueUrls, out.NextToken)
		}
		return err
	},
	"GetQueueAttributes": func(n *session, ctx context.Context, o operation, a answer) error {
		in := &sqs.GetQueueAttributesInput{QueueUrl: n.queueURL(o)}
		for _, name := range o.Names {
			in.AttributeNames = append(in.AttributeNames, types.QueueAttributeName(name))
		}
		out, err := n.client.GetQueueAttributes(ctx, in)
		if err != nil {
			return err
		}
		for name, text := range out.Attributes {
			a["attribute "+name] = n.queueAttribute(name, text)
		}
		return nil
	},
	"SetQueueAttributes": func(n *session, ctx context.Context, o operation, _ answer) error {
		_, err := n.client.SetQueueAttributes(ctx, &sqs.SetQueueAttributesInput{
			QueueUrl: n.queueURL(o), Attributes: n.expand(o.Attributes)})
		return err
	},
	"TagQueue": func(n *session, ctx context.Context, o operation, _ answer) error {
		_, err := n.client.TagQueue(ctx, &sqs.TagQueueInput{QueueUrl: n.queueURL(o), Tags: o.Tags})
		return err
	},
	"UntagQueue": func(n *session, ctx context.Context, o operation, _ answer) error {
		_, err := n.client.UntagQueue(ctx, &sqs.UntagQueueInput{QueueUrl: n.queueURL(o), TagKeys: o.Names})
		return err
	},
	"ListQueueTags": func(n *session, ctx context.Context, o operation, a answer) error {
		out, err := n.client.ListQueueTags(ctx, &sqs.ListQueueTagsInput{QueueUrl: n.queueURL(o)})
		if err != nil {
			return err
		}
		for key, text := range out.Tags {
			a["tag "+key] = text
		}
		return nil
	},
	"PurgeQueue": func(n *session, ctx context.Context, o operation, _ answer) error {
		_, err := n.client.PurgeQueue(ctx, &sqs.PurgeQueueInput{QueueUrl: n.queueURL(o)})
		return err
	},
}

func (a answer) listed(n *session, urls []string, token *string) {
	for _, url := range urls {
		a["listing of "+n.generic(url)] = "yes"
	}
	if token != nil {
		a["NextToken"] = "given"
	}
}

// atMost is a MaxResults: the only number that the SDK would send as 0.
func atMost(n int32) *int32 {
	if n == 0 {
		return nil
	}
	return aws.Int32(n)
}
