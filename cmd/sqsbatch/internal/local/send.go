package local

import (
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
	fifo := s.deployment.Source.FIFO
	for _, note := range s.input.notes {
		r.view.Say(note)
	}
	if note := s.sourceNote(); note != "" {
		r.view.Say(note)
	}
	first, again := s.input.messages, []message.Message(nil)
	if slices.ContainsFunc(s.input.messages, redelivered) {
		if fifo {
			r.view.Say("the event's receive counts are left out: on a FIFO queue every message begins with its first attempt")
		} else {
			first, again = nil, nil
			for _, m := range s.input.messages {
				if redelivered(m) {
					again = append(again, m)
				} else {
					first = append(first, m)
				}
			}
		}
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
		QueueUrl: &s.deployment.Source.URL, MessageBody: &m.Body,
		MessageAttributes: attribute.SDK(m.Attributes), MessageSystemAttributes: attribute.Trace(m.TraceHeader),
	}
	if m.GroupID != "" {
		in.MessageGroupId = aws.String(m.GroupID)
	}
	if s.deployment.Source.FIFO {
		if in.MessageGroupId == nil {
			in.MessageGroupId = aws.String(localGroup)
		}
		s.dedup++
		in.MessageDeduplicationId = aws.String(fmt.Sprintf("%s-%d", localGroup, s.dedup))
		if m.DeduplicationID != "" {
			in.MessageDeduplicationId = aws.String(m.DeduplicationID)
		}
	}
	return in
}
