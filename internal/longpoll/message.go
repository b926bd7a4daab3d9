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

// message is a delivery that this poller holds. The runner owns its Delivery until the
// delivery has finished. The loop owns the rest.
type message struct {
	runner.Delivery
	receipt *receipt

	entry settle.Entry // use its Latest, since SQS may deliver a message twice

	// Both count from when it was received last.
	hiddenFor time.Duration // for how long SQS hides it from others, without an extension
	extended  time.Duration // the longest that SQS may hide it, if the answer to an extension is missing

	state     state
	lost      bool // others may have it: SQS refused to extend it, or its visibility timeout is over
	extending bool // a call that extends it is open
	notified  bool // it is in the results that hooks got
}

// visibleAt is when SQS shows m to others, unless it is extended.
func (m *message) visibleAt() time.Time { return m.entry.Latest.ReceivedAt.Add(m.hiddenFor) }

// state is what a message waits for.
type state uint8

const (
	held     state = iota // for its handler
	toDelete              // handled; waits to be deleted
	toReturn              // failed, skipped or not started; its visibility has to be set
)

// receipt holds what was received together: one record of a standard queue, or the records
// of a FIFO group. For the hooks it is a batch. The loop owns it, except for its Batch.
type receipt struct {
	runner.Batch
	results []batch.Result
	open    int // records that are not settled
}

// newReceipt returns a receipt for n messages. The usual receipt takes one allocation.
func newReceipt(n int) (*receipt, []message) {
	if n == 1 {
		var single struct {
			receipt
			messages [1]message
			results  [1]batch.Result
			records  [1]batch.Record
		}
		one := &single
		one.receipt.results, one.Records = one.results[:], one.records[:]
		return &one.receipt, one.messages[:]
	}
	r := &receipt{results: make([]batch.Result, n)}
	r.Records = make([]batch.Record, n)
	return r, make([]message, n)
}

// receiptOf makes a receipt of messages that were received together.
func (p *Poller) receiptOf(received []types.Message, at time.Time, a apart) []message {
	r, messages := newReceipt(len(received))
	r.open, r.Info.Records = len(received), len(received)
	r.Info.QueueARN = p.queue.arn
	for i := range received {
		m := &messages[i]
		r.Records[i] = p.recordOf(&received[i], at)
		m.receipt, m.Owner, m.entry.Owner = r, m, m
		m.Record, m.Result, m.Batch = &r.Records[i], &r.results[i], &r.Batch
		m.Result.Record, m.entry.Result, m.entry.Latest = m.Record, m.Result, m.Record
		m.Lease, m.Within = p.queue.visibility, settle.MaxVisibility-settleMargin
		if m.extended = a.timeouts[m.Record.ReceiptHandle]; a.confirmed {
			m.Lease = max(m.Lease, m.extended)
		}
		m.hiddenFor = m.Lease
	}
	return messages
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
