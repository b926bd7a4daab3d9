package s3payload

import (
	"context"
	"errors"
	"slices"
	"sync"

	"github.com/aws/aws-sdk-go-v2/service/sqs"
)

// SendMessageBatch is the client's method, with bodies in S3 as in [Sender.SendMessage]. If
// entries are too large together, the largest ones are stored in S3, too. An error that is
// not the client's means that nothing was sent. As always, the client's result has the
// entries that failed.
func (s *Sender) SendMessageBatch(ctx context.Context, in *sqs.SendMessageBatchInput, opts ...func(*sqs.Options)) (*sqs.SendMessageBatchOutput, error) {
	client, err := s.sqs(ctx)
	if err != nil {
		return nil, err
	}
	if in == nil {
		return client.SendMessageBatch(ctx, in, opts...)
	}
	messages, chosen := s.choose(in)
	if len(chosen) == 0 {
		return client.SendMessageBatch(ctx, in, opts...)
	}
	for _, i := range chosen {
		if err := messages[i].check(); err != nil {
			return nil, err
		}
	}
	errs := make([]error, len(chosen))
	var uploads sync.WaitGroup
	for n, i := range chosen {
		uploads.Go(func() { errs[n] = s.put(ctx, &messages[i]) })
	}
	uploads.Wait()
	if err := errors.Join(errs...); err != nil {
		return nil, err
	}
	offloaded := *in
	offloaded.Entries = append(offloaded.Entries[:0:0], in.Entries...)
	for _, i := range chosen {
		e := &offloaded.Entries[i]
		e.MessageBody, e.MessageAttributes = &messages[i].pointer, messages[i].attributes
		e.MessageDeduplicationId = deduplication(in.QueueUrl, e.MessageDeduplicationId, messages[i].body)
	}
	return client.SendMessageBatch(ctx, &offloaded, opts...)
}

// choose returns the entries as messages, and the indexes of those to store in S3.
func (s *Sender) choose(in *sqs.SendMessageBatchInput) (messages []message, chosen []int) {
	messages = make([]message, len(in.Entries))
	var stay []int // entries that could be stored in S3 as well
	total := 0
	for i, e := range in.Entries {
		if e.MessageBody == nil {
			continue // the client refuses it
		}
		m := message{body: *e.MessageBody, attributes: e.MessageAttributes}
		messages[i] = m
		total += m.size()
		switch {
		case s.cfg.Always || m.size() > s.cfg.Threshold:
			chosen = append(chosen, i)
			total -= len(m.body) - s.cfg.pointerSize()
		case len(m.body) > s.cfg.pointerSize() && m.check() == nil:
			stay = append(stay, i)
		}
	}
	slices.SortStableFunc(stay, func(a, b int) int { return len(messages[b].body) - len(messages[a].body) })
	for ; total > maxMessage && len(stay) > 0; stay = stay[1:] {
		chosen = append(chosen, stay[0])
		total -= len(messages[stay[0]].body) - s.cfg.pointerSize()
	}
	return messages, chosen
}

// pointerSize returns the largest size of a pointer with its attribute. Usual names have no
// characters that JSON escapes.
func (c *SenderConfig) pointerSize() int { return 256 + len(c.Bucket) + len(c.Prefix) }
