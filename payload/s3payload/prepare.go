package s3payload

import (
	"context"
	"maps"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/sqs/types"

	"github.com/sqsbatch/sqsbatch/batch"
	"github.com/sqsbatch/sqsbatch/sender"
)

// Prepare is for sender.Config.Prepare. It stores the body in S3 if the message is larger
// than SenderConfig.Threshold, as [Sender.SendMessage] does. SenderConfig.SQS is not used.
//
// A group of a FIFO queue waits until the body of its next message is stored. Other groups
// do not. Deduplication by content is that of the body, see
// sender.Config.ContentBasedDeduplication.
func (s *Sender) Prepare(ctx context.Context, m *sender.Message) error {
	stored := message{body: m.Body, attributes: make(map[string]types.MessageAttributeValue, len(m.Attributes))}
	for name, a := range m.Attributes {
		stored.attributes[name] = types.MessageAttributeValue{DataType: &a.DataType, StringValue: &a.StringValue, BinaryValue: a.BinaryValue}
	}
	if !s.cfg.Always && stored.size() <= s.cfg.Threshold {
		return nil
	}
	if err := stored.check(); err != nil {
		return err
	}
	if err := s.put(ctx, &stored); err != nil {
		return err
	}
	attributes := maps.Clone(m.Attributes)
	if attributes == nil {
		attributes = map[string]batch.MessageAttribute{}
	}
	for name, a := range stored.attributes {
		if _, there := attributes[name]; !there { // the size
			attributes[name] = batch.MessageAttribute{DataType: aws.ToString(a.DataType), StringValue: aws.ToString(a.StringValue)}
		}
	}
	m.Body, m.Attributes = stored.pointer, attributes
	return nil
}
