package longpoll

import (
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/sqs/types"
	"github.com/sqsbatch/sqsbatch/batch"
	"github.com/sqsbatch/sqsbatch/internal/attribute"
	"github.com/sqsbatch/sqsbatch/internal/runner"
	"github.com/sqsbatch/sqsbatch/internal/settle"
)

// deliveriesOf returns deliveries of messages that were received together: one of a standard queue,
// or several of a FIFO group.
func (p *Poller) deliveriesOf(received []types.Message, at time.Time, a apart) []*runner.Delivery {
	type message struct { // one allocation for all
		runner.Delivery
		record batch.Record
		result batch.Result
	}
	messages, list := make([]message, len(received)), make([]*runner.Delivery, len(received))
	for i := range received {
		m := &messages[i]
		m.record, m.result.Record = p.recordOf(&received[i], at), &m.record
		m.Record, m.Latest, m.First, m.Result = &m.record, &m.record, &messages[0].record, &m.result
		m.HiddenUntil, m.Within = at.Add(p.queue.visibility), settle.MaxVisibility-settleMargin
		m.ShownBy = at.Add(max(p.queue.visibility, a.timeouts[m.Record.ReceiptHandle]))
		if a.confirmed {
			m.HiddenUntil = m.ShownBy
		}
		list[i] = &m.Delivery
	}
	return list
}

// settleMargin is the part of the 12 hours that is kept for settling.
const settleMargin = 5 * time.Second

// recordOf makes a record of a message.
func (p *Poller) recordOf(m *types.Message, at time.Time) batch.Record {
	r := batch.Record{
		MessageID:              aws.ToString(m.MessageId),
		ReceiptHandle:          aws.ToString(m.ReceiptHandle),
		Body:                   aws.ToString(m.Body),
		MD5OfBody:              aws.ToString(m.MD5OfBody),
		MD5OfMessageAttributes: aws.ToString(m.MD5OfMessageAttributes),
		QueueARN:               p.queue.arn,
		Region:                 p.queue.region,
		ReceivedAt:             at,
	}
	for name, value := range m.Attributes {
		attribute.Set(&r, name, value)
	}
	if len(m.MessageAttributes) > 0 {
		r.MessageAttributes = make(map[string]batch.MessageAttribute, len(m.MessageAttributes))
		for name, a := range m.MessageAttributes {
			r.MessageAttributes[name] = batch.MessageAttribute{
				DataType: aws.ToString(a.DataType), StringValue: aws.ToString(a.StringValue), BinaryValue: a.BinaryValue,
			}
		}
	}
	return r
}

// recent remembers messages that were handled and deleted: at least the latest maxRecent of
// them.
type recent struct{ latest, earlier map[string]struct{} }

const maxRecent = 5000

func (r *recent) has(id string) bool {
	_, latest := r.latest[id]
	_, earlier := r.earlier[id]
	return latest || earlier
}

func (r *recent) add(id string) {
	if r.latest == nil || len(r.latest) == maxRecent {
		r.earlier, r.latest = r.latest, make(map[string]struct{})
	}
	r.latest[id] = struct{}{}
}
