package main

import (
	"context"
	"encoding/base64"
	"slices"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/sqs"
	"github.com/aws/aws-sdk-go-v2/service/sqs/types"
)

var messageCalls = map[string]func(*session, context.Context, operation, answer) error{
	"SendMessage": func(n *session, ctx context.Context, o operation, a answer) error {
		m := o.Messages[0]
		in := &sqs.SendMessageInput{QueueUrl: n.queueURL(o), MessageBody: aws.String(m.text()),
			MessageAttributes: m.attributes(), MessageSystemAttributes: m.system(),
			MessageGroupId: optional(m.Group), MessageDeduplicationId: optional(m.Dedup), DelaySeconds: m.Delay}
		out, err := n.client.SendMessage(ctx, in)
		if err == nil {
			a.sent(n, "", o.Queue, m, out.MessageId, out.MD5OfMessageBody, out.MD5OfMessageAttributes, out.MD5OfMessageSystemAttributes, out.SequenceNumber)
		}
		return err
	},
	"SendMessageBatch": func(n *session, ctx context.Context, o operation, a answer) error {
		in := &sqs.SendMessageBatchInput{QueueUrl: n.queueURL(o), Entries: []types.SendMessageBatchRequestEntry{}}
		for _, m := range o.Messages {
			e := types.SendMessageBatchRequestEntry{Id: aws.String(m.ID), MessageBody: aws.String(m.text()),
				MessageAttributes: m.attributes(), MessageSystemAttributes: m.system(),
				MessageGroupId: optional(m.Group), MessageDeduplicationId: optional(m.Dedup), DelaySeconds: m.Delay}
			in.Entries = append(in.Entries, e)
		}
		out, err := n.client.SendMessageBatch(ctx, in)
		if err != nil {
			return err
		}
		for _, e := range out.Successful {
			var m message
			if i := slices.IndexFunc(o.Messages, func(m message) bool { return m.ID == value(e.Id) }); i >= 0 {
				m = o.Messages[i]
			}
			a.sent(n, " of entry "+value(e.Id), o.Queue, m, e.MessageId, e.MD5OfMessageBody, e.MD5OfMessageAttributes, e.MD5OfMessageSystemAttributes, e.SequenceNumber)
		}
		a.failed(out.Failed)
		return nil
	},
	"ReceiveMessage": func(n *session, ctx context.Context, o operation, a answer) error {
		in := &sqs.ReceiveMessageInput{QueueUrl: n.queueURL(o), MessageAttributeNames: o.Names,
			MessageSystemAttributeNames: []types.MessageSystemAttributeName{types.MessageSystemAttributeNameAll},
			ReceiveRequestAttemptId:     optional(o.Attempt),
			MaxNumberOfMessages:         o.Max, WaitTimeSeconds: o.Wait, VisibilityTimeout: o.Visibility}
		if o.Token != "" {
			in.MessageSystemAttributeNames = nil
			for name := range strings.SplitSeq(o.Token, ",") {
				in.MessageSystemAttributeNames = append(in.MessageSystemAttributeNames, types.MessageSystemAttributeName(name))
			}
		}
		out, err := n.client.ReceiveMessage(ctx, in)
		if err == nil {
			a.received(n, o.Queue, out.Messages)
		}
		return err
	},
	"DeleteMessage": func(n *session, ctx context.Context, o operation, _ answer) error {
		handle, _ := n.handle(o.Queue, o.Receipts[0])
		_, err := n.client.DeleteMessage(ctx, &sqs.DeleteMessageInput{QueueUrl: n.queueURL(o), ReceiptHandle: aws.String(handle)})
		return err
	},
	"DeleteMessageBatch": func(n *session, ctx context.Context, o operation, a answer) error {
		in := &sqs.DeleteMessageBatchInput{QueueUrl: n.queueURL(o), Entries: []types.DeleteMessageBatchRequestEntry{}}
		for _, r := range o.Receipts {
			handle, _ := n.handle(o.Queue, r)
			in.Entries = append(in.Entries, types.DeleteMessageBatchRequestEntry{Id: aws.String(r.ID), ReceiptHandle: aws.String(handle)})
		}
		out, err := n.client.DeleteMessageBatch(ctx, in)
		if err != nil {
			return err
		}
		for _, e := range out.Successful {
			a["success of entry "+value(e.Id)] = "yes"
		}
		a.failed(out.Failed)
		return nil
	},
	"ChangeMessageVisibility": func(n *session, ctx context.Context, o operation, _ answer) error {
		handle, _ := n.handle(o.Queue, o.Receipts[0])
		_, err := n.client.ChangeMessageVisibility(ctx, &sqs.ChangeMessageVisibilityInput{
			QueueUrl: n.queueURL(o), ReceiptHandle: aws.String(handle), VisibilityTimeout: o.Receipts[0].Visibility})
		return err
	},
	"ChangeMessageVisibilityBatch": func(n *session, ctx context.Context, o operation, a answer) error {
		in := &sqs.ChangeMessageVisibilityBatchInput{QueueUrl: n.queueURL(o), Entries: []types.ChangeMessageVisibilityBatchRequestEntry{}}
		for _, r := range o.Receipts {
			handle, _ := n.handle(o.Queue, r)
			in.Entries = append(in.Entries, types.ChangeMessageVisibilityBatchRequestEntry{
				Id: aws.String(r.ID), ReceiptHandle: aws.String(handle), VisibilityTimeout: r.Visibility})
		}
		out, err := n.client.ChangeMessageVisibilityBatch(ctx, in)
		if err != nil {
			return err
		}
		for _, e := range out.Successful {
			a["success of entry "+value(e.Id)] = "yes"
		}
		a.failed(out.Failed)
		return nil
	},
}

// attributes turns "type:value" into what the SDK sends; a binary value is the text's bytes.
func (m message) attributes() map[string]types.MessageAttributeValue {
	if len(m.Attributes) == 0 {
		return nil
	}
	out := map[string]types.MessageAttributeValue{}
	for name, typed := range m.Attributes {
		kind, text, _ := strings.Cut(typed, ":")
		v := types.MessageAttributeValue{DataType: aws.String(kind)}
		if strings.HasPrefix(kind, "Binary") {
			v.BinaryValue, _ = base64.StdEncoding.DecodeString(text)
		} else {
			v.StringValue = aws.String(text)
		}
		out[name] = v
	}
	return out
}

func (m message) system() map[string]types.MessageSystemAttributeValue {
	if m.Trace == "" {
		return nil
	}
	return map[string]types.MessageSystemAttributeValue{
		"AWSTraceHeader": {DataType: aws.String("String"), StringValue: aws.String(m.Trace)}}
}

func optional(text string) *string {
	if text == "" {
		return nil
	}
	return aws.String(text)
}
