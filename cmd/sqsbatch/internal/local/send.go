package local

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"
	"unicode/utf8"

	"github.com/aws/aws-sdk-go-v2/aws"
	awssqs "github.com/aws/aws-sdk-go-v2/service/sqs"
	"github.com/aws/smithy-go"

	"github.com/sqsbatch/sqsbatch/cmd/sqsbatch/internal/message"
	"github.com/sqsbatch/sqsbatch/cmd/sqsbatch/internal/track"
	"github.com/sqsbatch/sqsbatch/internal/attribute"
)

// localGroup is the message group, on a FIFO queue, of messages without one.
const localGroup = "sqsbatch-local"

// sendAtHand sends the samples or what --event names. Nothing polls yet.
func (r *run) sendAtHand(ctx context.Context, s *stack) error {
	for _, note := range s.input.notes {
		r.view.Say(note)
	}
	if note := s.sourceNote(); note != "" {
		r.view.Say(note)
	}
	first, again := s.input.messages, slices.DeleteFunc(slices.Clone(s.input.messages), firstAttempt)
	switch {
	case len(again) == 0:
	case s.deployment.Queue.FIFO:
		r.view.Say("the event's receive counts are left out: on a FIFO queue every message begins with its first attempt")
		again = nil
	default:
		first = slices.DeleteFunc(slices.Clone(first), func(m message.Message) bool { return !firstAttempt(m) })
	}
	show, err := r.sendRedelivered(ctx, s, again)
	if err != nil {
		return err
	}
	for _, m := range first {
		if _, err := r.send(ctx, s, m); err != nil {
			return err
		}
	}
	return show()
}

// hidden is the longest visibility timeout that SQS takes, in seconds.
const hidden = 43200

func firstAttempt(m message.Message) bool { return m.Attempt <= 1 }

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
		QueueUrl: &s.deployment.Queue.URL, VisibilityTimeout: hidden, MaxNumberOfMessages: 1,
	})
	if err != nil || len(out.Messages) == 0 {
		return nil, err
	}
	return out.Messages[0].ReceiptHandle, nil
}

func (s *stack) show(ctx context.Context, handle *string) error {
	_, err := s.client.ChangeMessageVisibility(ctx, &awssqs.ChangeMessageVisibilityInput{
		QueueUrl: &s.deployment.Queue.URL, ReceiptHandle: handle, VisibilityTimeout: 0,
	})
	return err
}

func (r *run) sendLines(ctx context.Context, s *stack, tracker *track.Tracker) {
	err := message.Lines(r.stdin, func(m message.Message) error {
		_, err := r.send(ctx, s, m)
		return err
	})
	switch {
	case ctx.Err() != nil:
	case err != nil:
		r.cancel(err)
	default:
		tracker.AllSent()
	}
}

// send sends one message. If SQS refuses it, send shows that and counts it.
func (r *run) send(ctx context.Context, s *stack, m message.Message) (sent bool, err error) {
	id, refusal, err := s.send(ctx, m)
	if refusal != "" {
		r.refused.Add(1)
		r.view.Say(fmt.Sprintf("not sent: %s: %.60q", refusal, m.Body))
	}
	return id != "", err
}

// send sends one message. refusal says why SQS does not take it.
func (s *stack) send(ctx context.Context, m message.Message) (id, refusal string, err error) {
	if !utf8.ValidString(m.Body) { // the client would alter it, and then doubt the answer
		return "", "it is not UTF-8", nil
	}
	began := time.Now()
	out, err := s.client.SendMessage(ctx, s.sendInput(m))
	s.stats.Own("SendMessage", began)
	var refused smithy.APIError
	switch {
	case errors.As(err, &refused):
		return "", refused.ErrorCode() + ": " + refused.ErrorMessage(), nil
	case err != nil:
		return "", "", err
	}
	return *out.MessageId, "", nil
}

// sendInput is the call that sends a message to the source queue. On a FIFO queue, a
// message that has no group or no deduplication id gets one.
func (s *stack) sendInput(m message.Message) *awssqs.SendMessageInput {
	in := &awssqs.SendMessageInput{
		QueueUrl: &s.deployment.Queue.URL, MessageBody: &m.Body,
		MessageAttributes: attribute.SDK(m.Attributes), MessageSystemAttributes: attribute.Trace(m.TraceHeader),
	}
	if m.GroupID != "" {
		in.MessageGroupId = aws.String(m.GroupID)
	}
	if s.deployment.Queue.FIFO {
		s.dedup++
		in.MessageGroupId = aws.String(cmp.Or(m.GroupID, localGroup))
		in.MessageDeduplicationId = aws.String(cmp.Or(m.DeduplicationID, fmt.Sprintf("%s-%d", localGroup, s.dedup)))
	}
	return in
}
